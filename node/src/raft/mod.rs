//! The groups of a node as Raft groups: catalog and shards, over one [`Engine`](crate::engine::Engine).
//!
//! Everything of openraft stays in this folder. [`RaftGroups`] is what the rest of the node sees: it proposes, reads
//! behind a barrier, tells whether it is ready, and stops. [`Transport`] is what it needs from others: one request
//! to a peer of a group, one response.

mod append;
mod aside;
mod check;
mod departed;
mod far;
mod group;
mod groups;
mod lead;
mod log;
mod members;
mod message;
mod open;
mod peer;
mod recent;
mod recover;
mod rounds;
mod rows;
mod sending;
mod serve;
#[cfg(madsim)]
mod simulated;
#[cfg(madsim)]
mod simulated_watch;
mod snapshot;
mod state;
mod status;
#[cfg(all(test, not(madsim)))]
mod tests;
mod types;

pub use aside::Matter;
pub use far::FarFigures;
pub use groups::{GroupStats, RaftGroups};
pub use members::Wanted;
pub use open::{OpenError, Options, Store};
pub use peer::{NoPeers, Transport, Unreached};
pub use recover::{Holding, alone, holdings, known_nodes};
pub use status::NodeStats;
