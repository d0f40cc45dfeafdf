//! How the node reaches its groups: propose a command, or read a consistent state behind a barrier.

use std::future::Future;

use agentprocess::time::Timestamp;
use quorate_proto::{Command, GroupId, Outcome};
use quorate_statemachine::store::Read;

/// The group could not answer in time. The outcome is unknown, never failed: the same request id settles it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(pub String);

/// The groups of a cluster, as the API uses them. Raft stands behind it in a node, a map of stores in scenario tests.
pub trait Groups: Send + Sync + 'static {
    /// How many shards the cluster has.
    fn shards(&self) -> u16;

    /// Commits a command on a majority, applies it, and returns what the state machine said.
    fn propose(&self, group: GroupId, command: Command) -> impl Future<Output = Result<Outcome, Unavailable>> + Send;

    /// Runs `read` on a consistent state that holds every write answered before this call (READ-FRESH), with the
    /// leader's agreed time of the read barrier (CLOCK-ONE). It may run more than once, when a replica elsewhere goes away while
    /// it is read.
    fn read<T, F>(&self, group: GroupId, read: F) -> impl Future<Output = Result<T, Unavailable>> + Send
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static;

    /// Runs `read` on a consistent state that holds every write of the group that was proposed here and answered: cheaper than
    /// `read`, for what a write's own answer shows. The time is that of the state.
    fn read_answered<T, F>(&self, group: GroupId, read: F) -> impl Future<Output = Result<T, Unavailable>> + Send
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        self.read(group, read)
    }

    /// The same as `read`, for one that takes long, such as hashing a file: it runs where no other call waits for it.
    fn read_long<T, F>(&self, group: GroupId, read: F) -> impl Future<Output = Result<T, Unavailable>> + Send
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        self.read(group, read)
    }
}
