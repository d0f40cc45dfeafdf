//! One replica of one group, asked as the leader it may or may not be.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use agentprocess::time::Timestamp;
use futures_util::FutureExt as _;
use openraft::ReadPolicy;
use openraft::async_runtime::watch::WatchReceiver as _;
use openraft::errors::{ClientWriteError, Fatal, LinearizableReadError, RaftError};
use quorate_proto::{Entry, GroupId, Outcome, codec};
use quorate_statemachine::catalog::keys::Key as CatalogKey;
use quorate_statemachine::shard::read as shard;
use quorate_statemachine::store::Read;

use super::check::Checks;
use super::message::{Attempt, Barrier};
use super::rounds::Rounds;
use super::rows::Rows;
use super::snapshot::Staging;
use super::state::{State, Watch};
use super::types::{LogId, Proposal, Raft, SnapshotMeta, Types, name};
use crate::clock::Clock;
use crate::engine::Engine;

/// Raft of a replica, and the state that it writes. Both are made anew when the replica's rows are deleted ([`super::departed`]).
pub(super) struct Replica {
    pub(super) raft: Raft,
    pub(super) state: State,
}

/// One replica.
pub(super) struct Group {
    pub(super) id: GroupId,
    pub(super) replica: RwLock<Replica>,
    pub(super) watch: Arc<Watch>,
    /// Whether it is being made anew: then no snapshot arrives.
    pub(super) closed: AtomicBool,
    /// The end of the log it had when its rows were deleted last.
    pub(super) departed: Mutex<Option<LogId>>,
    /// The snapshot that is arriving, if one is, and what it covers.
    pub(super) staging: Mutex<Option<(SnapshotMeta, Staging)>>,
    /// How much may be written before the log is made shorter, in bytes.
    pub(super) log_bytes_max: u64,
    /// Where the state was when the log was last made shorter for its size.
    pub(super) trimmed: AtomicU64,
    /// The last place in the log of what was proposed on this node and answered.
    pub(super) answered: Mutex<Option<LogId>>,
    /// The barriers of reads on this node.
    pub(super) rounds: Rounds<Barrier>,
    /// What the replicas told of their states.
    pub(super) checks: Checks,
    /// Where its replicas are wanted, as far as this node knows; none: on all nodes.
    pub(super) hosts: RwLock<BTreeSet<u64>>,
    /// Whether nobody else leads it: then a drained node would ([`super::aside`]).
    pub(super) needed: AtomicBool,
}

impl Group {
    pub(super) fn raft(&self) -> Raft {
        self.replica.read().unwrap_or_else(PoisonError::into_inner).raft.clone()
    }

    pub(super) fn state(&self) -> State {
        self.replica.read().unwrap_or_else(PoisonError::into_inner).state.clone()
    }

    /// Lets no snapshot arrive any more, until it is opened again.
    pub(super) fn close(&self) {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Ordering::Relaxed);
        *staging = None;
    }

    pub(super) fn reopen(&self, replica: Replica) {
        *self.replica.write().unwrap_or_else(PoisonError::into_inner) = replica;
        let _staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(false, Ordering::Relaxed);
    }

    /// Proposes here: the outcome, and the entry's place in the log.
    pub(super) async fn propose(&self, entry: Entry) -> Attempt<(Outcome, LogId)> {
        match self.raft().client_write(Proposal(Arc::new(entry))).await {
            Ok(written) => {
                self.trim().await;
                let nothing = || Attempt::Unknown(format!("{} answered nothing", name(self.id)));
                written.data.map_or_else(nothing, |outcome| Attempt::Done((outcome, written.log_id)))
            }
            // Refused before it was appended.
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(to))) => Attempt::Again(to.leader_id),
            Err(RaftError::APIError(
                e @ (ClientWriteError::LogEntryDiscarded(_)
                | ClientWriteError::ChangeMembershipError(_)
                | ClientWriteError::PreconditionFailed(_)),
            )) => Attempt::Unknown(e.to_string()),
            Err(RaftError::Fatal(e)) => Attempt::Unknown(self.stopped(&e)),
        }
    }

    /// Makes the log shorter when its entries are large (uploads): the count of entries alone would let it grow. A
    /// snapshot of now, and away with what lies behind the one before.
    pub(super) async fn trim(&self) {
        if self.watch.written.load(Ordering::Relaxed) < self.log_bytes_max {
            return;
        }
        self.watch.written.store(0, Ordering::Relaxed);
        let now = self.raft().metrics().borrow_watched().last_applied.map_or(0, |last| last.index());
        let before = self.trimmed.swap(now, Ordering::Relaxed);
        // Failing means that the group does not run, which is told elsewhere.
        drop(self.raft().trigger().snapshot().await);
        drop(self.raft().trigger().purge_log(before).await);
    }

    /// Confirms that this replica leads. Openraft confirms all reads that wait with one round.
    pub(super) async fn barrier(&self, clock: &Clock) -> Attempt<Barrier> {
        match self.raft().get_read_linearizer(ReadPolicy::ReadIndex).await {
            Ok(confirmed) => Attempt::Done(Barrier { log: *confirmed.read_log_id().log_id(), at: clock.now() }),
            Err(RaftError::APIError(LinearizableReadError::ForwardToLeader(to))) => Attempt::Again(to.leader_id),
            Err(RaftError::APIError(LinearizableReadError::QuorumNotEnough(_))) => Attempt::Again(None),
            Err(RaftError::Fatal(e)) => Attempt::Unknown(self.stopped(&e)),
        }
    }

    /// A view of the state that holds at least everything up to `log`.
    pub(super) async fn view_from(&self, engine: &dyn Engine, log: LogId) -> Result<Rows, String> {
        let mut progress = self.raft().watch_apply_progress();
        loop {
            let (rows, last) = self.view(engine)?;
            if last.is_some_and(|last| last >= log) {
                return Ok(rows);
            }
            if progress.changed().await.is_err() {
                return Err(self.stopped(&Fatal::Stopped));
            }
        }
    }

    /// Notes that what stands there was answered to a caller of this node.
    pub(super) fn note_answered(&self, log: LogId) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        *answered = (*answered).max(Some(log));
    }

    /// The last place in the log of what was answered to callers of this node, since it started.
    pub(super) fn last_answered(&self) -> Option<LogId> {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A view of the state as it is here, and how far it is.
    pub(super) fn view(&self, engine: &dyn Engine) -> Result<(Rows, Option<LogId>), String> {
        if let Some(why) = self.watch.fatal.get() {
            return Err(why.clone());
        }
        let view = engine.view().map_err(|e| e.to_string())?;
        let (rows, applied) = Rows::present(view, self.id).map_err(|e| e.to_string())?;
        Ok((rows, applied.last))
    }

    /// The group's agreed time, as its state has it.
    pub(super) fn clock(&self, rows: &Rows) -> Result<Timestamp, String> {
        match self.id {
            GroupId::Shard(_) => shard::clock(rows).map_err(|e| e.to_string()),
            GroupId::Catalog => match rows.get(&CatalogKey::Clock.bytes()).map_err(|e| e.to_string())? {
                Some(bytes) => codec::decode(&bytes).map_err(|e| e.to_string()),
                None => Ok(Timestamp(0)),
            },
        }
    }

    /// The group's voters, as far as this replica knows, in order.
    pub(super) fn voters(&self) -> Vec<u64> {
        self.raft().metrics().borrow_watched().membership_config.membership().voter_ids().collect()
    }

    /// All of the group's members, with and without a vote, as far as this replica knows.
    pub(super) fn nodes(&self) -> Vec<u64> {
        self.raft().metrics().borrow_watched().membership_config.membership().nodes().map(|(node, _)| *node).collect()
    }

    /// The nodes to ask instead of this one, `node`, where it has no replica that is to stay; `None` where it has.
    pub(super) fn elsewhere(&self, node: u64) -> Option<Vec<u64>> {
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        let here = hosts.is_empty() || self.leads() || (hosts.contains(&node) && self.voters().contains(&node));
        drop(hosts);
        (!here).then(|| self.hosts_but(node))
    }

    /// The other nodes where its replicas are wanted.
    pub(super) fn hosts_but(&self, node: u64) -> Vec<u64> {
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        hosts.iter().copied().filter(|host| *host != node).collect()
    }

    /// Whether this node is to have a replica.
    pub(super) fn is_wanted(&self, node: u64) -> bool {
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        hosts.is_empty() || hosts.contains(&node)
    }

    /// Whether this replica is the leader, as far as it knows.
    pub(super) fn leads(&self) -> bool {
        self.raft().is_leader() && self.running().is_ok()
    }

    /// Whether this replica runs; else why it does not.
    pub(super) fn running(&self) -> Result<(), String> {
        if let Some(why) = self.watch.fatal.get() {
            return Err(why.clone());
        }
        let mut metrics = self.raft().metrics();
        if let Err(e) = &metrics.borrow_and_update().running_state {
            return Err(self.stopped(e));
        }
        // A panic of Raft's own task is not told: what it said before stays, and nobody is there to change it any more.
        match metrics.changed().now_or_never() {
            Some(Err(_)) => Err(self.stopped(&Fatal::Panicked)),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Waits until this replica knows of another leader than `node`.
    pub(super) async fn led_by_another(&self, node: u64) {
        let mut metrics = self.raft().server_metrics();
        while metrics.borrow_watched().current_leader.is_none_or(|leader| leader == node) {
            if metrics.changed().await.is_err() {
                // It stopped: whoever asks the other is told what becomes of that.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Why this replica does not run; the first reason when there are several.
    pub(super) fn stopped(&self, e: &Fatal<Types>) -> String {
        match self.watch.fatal.get() {
            Some(why) => why.clone(),
            None => format!("{} does not run on this node: {e}", name(self.id)),
        }
    }
}
