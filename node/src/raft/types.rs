//! The types Raft is built with.

use std::fmt;
use std::io;
use std::sync::Arc;

use quorate_proto::{Entry, GroupId, Outcome};
use serde::{Deserialize, Serialize};

/// What drives Raft's tasks and clocks.
#[cfg(not(madsim))]
pub(super) use openraft_rt_tokio::TokioRuntime as Runtime;

#[cfg(madsim)]
pub(super) use super::simulated::Simulated as Runtime;

openraft::declare_raft_types!(
    /// Raft as this project uses it. A node's address is no part of it: identity is not the address.
    pub(crate) Types:
        D = Proposal,
        R = Option<Outcome>,
        NodeId = u64,
        Node = openraft::impls::EmptyNode,
        AsyncRuntime = Runtime,
);

/// A log entry's content. Copies are cheap: an entry is in the log, on the way to peers, and applied at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proposal(pub(super) Arc<Entry>);

impl fmt::Display for Proposal {
    /// Nothing of the command: it holds what callers sent, and this goes into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry of node {} at {}", self.0.origin, self.0.at.0)
    }
}

pub(super) type LogId = openraft::alias::LogIdOf<Types>;
pub(super) type LogEntry = openraft::alias::EntryOf<Types>;
pub(super) type Vote = openraft::alias::VoteOf<Types>;
pub(super) type Membership = openraft::alias::StoredMembershipOf<Types>;
pub(super) type SnapshotMeta = openraft::alias::SnapshotMetaOf<Types>;
pub(super) type Snapshot = openraft::alias::SnapshotOf<Types, super::snapshot::Content>;
pub(super) type Raft = openraft::Raft<Types, super::state::State>;

/// How a group is named in messages.
pub(super) fn name(group: GroupId) -> String {
    match group {
        GroupId::Catalog => "the catalog group".to_owned(),
        GroupId::Shard(number) => format!("shard {number}"),
    }
}

/// Bytes of the store that do not say what they should.
pub(super) fn damaged(what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}
