//! Applies one log entry to one group's state and says what the caller is told; leads a write through the shards that its
//! request id needs. Pure and synchronous.

pub mod catalog;
pub mod coordinate;
pub mod digest;
pub mod machine;
pub mod shard;
pub mod store;
pub mod transfer;

pub use coordinate::Coordinator;
pub use digest::digest;
pub use machine::Machine;
