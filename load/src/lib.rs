//! Drives real servers from outside: a plain MCP client, a `quorate dev` or a cluster of `quorate serve` whose nodes are
//! killed, stopped and cut off, agents that retry as real ones do, readers, and a checker of what they were promised.
//!
//! Nothing here depends on the server's crates: a shared type would be wrong on both sides at once.

pub mod actor;
pub mod agent;
pub mod check;
pub mod client;
pub mod clocks;
pub mod cluster;
pub mod disks;
pub mod ending;
pub mod etcd;
pub mod failover;
pub mod faults;
pub mod floor;
pub mod ground;
pub mod history;
pub mod network;
pub mod person;
pub mod process;
pub mod put;
pub mod reader;
pub mod server;
pub mod stats;
pub mod tools;

/// What went wrong in the harness itself (not in the server under test).
pub type Error = Box<dyn std::error::Error + Send + Sync>;
