//! What nodes say to each other about one group. The bytes of [`Transport`](super::Transport).

use agentprocess::time::Timestamp;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
    VoteRequest, VoteResponse,
};
use quorate_proto::{Command, Outcome};
use serde::{Deserialize, Serialize};

use super::check::Told;
use super::departed::Confirmed;
use super::far::{Look, Opened, Seen};
use super::status::NodeStats;
use super::types::{LogId, SnapshotMeta, Types, Vote};

/// A request to a peer.
#[derive(Serialize, Deserialize)]
pub(super) enum Request {
    /// Append to the log; a heartbeat when there are no entries.
    Append(AppendEntriesRequest<Types>),
    /// Vote for a candidate.
    Vote(VoteRequest<Types>),
    /// Say whether you would.
    PreVote(VoteRequest<Types>),
    /// A chunk of a snapshot.
    Chunk {
        /// What the snapshot covers, with its first chunk: that one begins anew.
        first: Option<SnapshotMeta>,
        /// As [`quorate_statemachine::transfer`] made it.
        bytes: Vec<u8>,
    },
    /// Say what you have of a snapshot that was being sent to you: the checksum of the last chunk you took.
    Arriving(SnapshotMeta),
    /// All chunks are there: install them. What they cover came with the first, so that a request that was long on its
    /// way cannot give them another place in the log.
    Install {
        /// The leader's vote.
        vote: Vote,
    },
    /// Take over the leadership.
    Transfer(TransferLeaderRequest<Types>),
    /// Propose for a client of another node.
    Propose(Command),
    /// Confirm that you lead, for a read on another node.
    Barrier,
    /// Say whether you would take the leadership now: a node that is about to stop would not.
    WouldLead,
    /// Tell about all groups of your node.
    Status,
    /// A replica tells the digest of its state.
    Digest(Told),
    /// Open a view of the present state, for a read on a node without a replica.
    View,
    /// Look at a view that was opened.
    Look {
        /// Which.
        view: u64,
        /// At what.
        look: Look,
    },
    /// Say who the members are, if you lead, for a node whose replica left.
    Members,
}

/// A peer's response.
#[derive(Serialize, Deserialize)]
pub(super) enum Response {
    /// To `Append`.
    Append(AppendEntriesResponse<Types>),
    /// To `Vote` and `PreVote`.
    Vote(VoteResponse<Types>),
    /// To `Chunk` and `Digest`.
    Taken,
    /// To `Arriving`.
    Arriving(Option<[u8; 32]>),
    /// To `Install`.
    Installed(SnapshotResponse<Types>),
    /// To `Transfer`.
    Transfer(TransferLeaderResponse<Types>),
    /// To `Propose`: the outcome, and the entry's place in the log.
    Proposed(Attempt<(Outcome, LogId)>),
    /// To `Barrier`.
    Barrier(Attempt<Barrier>),
    /// To `WouldLead`.
    WouldLead(bool),
    /// To `Status`.
    Status(NodeStats),
    /// To `View`.
    Opened(Opened),
    /// To `Look`.
    Seen(Seen),
    /// The replica cannot answer.
    Failed(String),
    /// To `Members`.
    Members(Attempt<Confirmed>),
}

/// What a leader confirmed for a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Barrier {
    /// The read must see at least this.
    pub(super) log: LogId,
    /// The leader's time (CLOCK-ONE).
    pub(super) at: Timestamp,
}

/// What came of asking one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Attempt<T> {
    /// It did it.
    Done(T),
    /// It did nothing: ask again, that node if it is known.
    Again(Option<u64>),
    /// Nobody knows whether it did it.
    Unknown(String),
    /// It does not do it now, and no other should be asked.
    Refused(String),
}
