//! Applies one log entry to one group's state and says what the caller is told. Pure and synchronous.

pub mod catalog;
pub mod digest;
pub mod machine;
pub mod shard;
pub mod store;
pub mod transfer;

pub use digest::digest;
pub use machine::Machine;
