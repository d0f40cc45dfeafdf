//! The Quorate node.

pub mod api;
#[cfg(feature = "http")]
pub mod auth;
pub mod clock;
pub mod engine;
pub mod groups;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
pub mod raft;
pub mod timers;
