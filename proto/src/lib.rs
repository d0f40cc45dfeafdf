//! Every byte that leaves a process: callers, log entries, replies, refusals, ids.

pub mod caller;
pub mod catalog;
pub mod codec;
pub mod entry;
pub mod id;
#[cfg(feature = "peers")]
pub mod peers;
pub mod refusal;
pub mod reply;
pub mod request;
pub mod shard;

pub use caller::*;
pub use entry::*;
pub use id::*;
pub use refusal::*;
pub use reply::*;
pub use request::*;
