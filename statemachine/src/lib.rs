//! Applies one log entry to one group's state and says what the caller is told. Pure and synchronous.

pub mod store;
