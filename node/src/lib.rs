//! The Quorate node.

#[cfg(feature = "http")]
pub mod admin;
pub mod api;
#[cfg(feature = "http")]
pub mod auth;
#[cfg(all(feature = "http", feature = "rocks"))]
pub mod cli;
pub mod clock;
pub mod cluster;
#[cfg(feature = "http")]
pub mod config;
pub mod engine;
pub mod groups;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
#[cfg(feature = "http")]
pub mod outbox;
#[cfg(feature = "peers")]
pub mod peers;
pub mod raft;
#[cfg(all(feature = "http", feature = "rocks"))]
pub mod server;
pub mod timers;
