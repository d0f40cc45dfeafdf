//! Drives a real `quorate dev` from outside: a plain MCP client, a server that can be killed and started again, agents
//! that retry as real ones do, and a checker of what they were promised.
//!
//! Nothing here depends on the server's crates: a shared type would be wrong on both sides at once.

pub mod agent;
pub mod check;
pub mod client;
pub mod history;
pub mod server;
pub mod stats;

/// What went wrong in the harness itself (not in the server under test).
pub type Error = Box<dyn std::error::Error + Send + Sync>;
