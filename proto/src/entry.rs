//! What a Raft log holds.

use agentprocess::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::catalog::CatalogCommand;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::shard::ShardCommand;

/// One log entry. Only it may influence a group's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The leader's clock when it proposed; `apply` takes the later of this and the group's clock (CLOCK-ONE).
    pub at: Timestamp,
    /// The node that proposed it.
    pub origin: u64,
    /// What is to be done.
    pub command: Command,
}

/// A command for one kind of group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// For the catalog group.
    Catalog(CatalogCommand),
    /// For a shard group.
    Shard(ShardCommand),
    /// For any group. It changes nothing: each replica makes a digest of its state as of this entry, and they compare.
    Check,
}

/// Which Raft group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GroupId {
    /// The catalog group.
    Catalog,
    /// A shard group.
    Shard(u16),
}

/// What a command came to: replicated, and told to the caller.
pub type Outcome = Result<Reply, Refusal>;
