//! All groups of a node: proposes and reads where the leader is, within a budget of time.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use agentprocess::time::Timestamp;
use futures_util::future::{Either, select};
use openraft::AsyncRuntime as _;
use openraft::async_runtime::watch::WatchReceiver as _;
use quorate_proto::shard::{Action, ShardCommand};
use quorate_proto::{Command, Entry, GroupId, Outcome, codec};
use quorate_statemachine::Machine;
use quorate_statemachine::shard::Definitions;
use quorate_statemachine::shard::read::next_timer;
use quorate_statemachine::store::Read;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::aside::Asides;
use super::far::{FarFigures, Opened, Views};
use super::group::Group;
use super::message::{Attempt, Barrier, Request, Response};
use super::open::Base;
use super::peer::{Transport, ask};
use super::rows::Rows;
use super::types::{LogId, Runtime, name};
use crate::clock::Clock;
use crate::engine::{Condition, Engine};
use crate::groups::{Groups, Unavailable};

/// How long to wait before asking again who leads.
const RETRY: Duration = Duration::from_millis(25);

/// How often a call goes on to the leader that is named before it waits: a node without a replica asks one that has, which
/// names the leader.
const HOPS_MAX: usize = 2;

/// The largest command, in bytes. A larger one would become an entry that no peer takes, and stop its group.
const COMMAND_BYTES_MAX: usize = 17 << 20;

/// All groups of a node.
pub struct RaftGroups {
    pub(super) node: u64,
    pub(super) clock: Arc<Clock>,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) definitions: Arc<Definitions>,
    pub(super) config: Arc<openraft::Config>,
    /// How long a call may take before its outcome is unknown.
    pub(super) budget: Duration,
    /// The catalog, then the shards in order.
    pub(super) groups: Vec<Group>,
    /// Whether this node is about to stop, or was removed: it takes no leadership.
    pub(super) stopping: AtomicBool,
    /// Why else it should not lead.
    pub(super) asides: Asides,
    /// What peers without a replica read here.
    pub(super) views: Views,
    /// Turns of reads elsewhere.
    pub(super) far_reads: Semaphore,
    /// How such reads did.
    pub(super) far: Arc<FarFigures>,
    /// Which replica elsewhere is asked next.
    pub(super) turn: AtomicUsize,
}

/// What a group's replica on a node is about, for operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStats {
    /// The group.
    pub group: GroupId,
    /// Whether this replica leads.
    pub leads: bool,
    /// The leader it knows of.
    pub leader: Option<u64>,
    /// The voters it knows of.
    pub voters: Vec<u64>,
    /// Those that follow without a vote.
    pub learners: Vec<u64>,
    /// Its term.
    pub term: u64,
    /// Index of the last entry of its log.
    pub last: u64,
    /// Index of the last applied entry.
    pub applied: u64,
    /// Index of the last entry that was purged from its log.
    pub purged: u64,
    /// Index of the last check that found a majority of the replicas equal, this one among them.
    pub checked: u64,
    /// Whether replicas were found to differ, and this one may be the one that is wrong.
    pub differs: bool,
    /// Why this replica does not run, when it does not.
    pub stopped: Option<String>,
}

impl RaftGroups {
    /// This node's number.
    pub fn node(&self) -> u64 {
        self.node
    }

    /// Parsed definitions, shared with the state machines.
    pub fn definitions(&self) -> Arc<Definitions> {
        Arc::clone(&self.definitions)
    }

    /// Whether every group runs here and has a leader; else what is wrong.
    pub fn ready(&self) -> Result<(), String> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err("this node is stopping, or was removed".to_owned());
        }
        if let Some(why) = self.asides.told() {
            return Err(why);
        }
        for group in self.groups.iter().filter(|group| group.is_wanted(self.node)) {
            group.running()?;
            if group.raft().metrics().borrow_watched().current_leader.is_none() {
                return Err(format!("{} has no leader", name(group.id)));
            }
        }
        Ok(())
    }

    /// Tells where the replicas of groups are wanted. What is not wanted here is read elsewhere. Call it now and then.
    pub fn set_hosts<'a>(&self, hosts: impl IntoIterator<Item = (GroupId, &'a BTreeSet<u64>)>) {
        self.views.expire();
        for (group, hosts) in hosts {
            let Ok(group) = self.group(group) else { continue };
            let same = *group.hosts.read().unwrap_or_else(PoisonError::into_inner) == *hosts;
            if !same {
                group.hosts.write().unwrap_or_else(PoisonError::into_inner).clone_from(hosts);
            }
        }
    }

    /// Figures of each group's replica here, where there is to be one.
    pub fn stats(&self) -> Vec<GroupStats> {
        let stats = |group: &Group| {
            let (leads, stopped) = (group.leads(), group.running().err());
            let metrics = group.raft().metrics();
            let metrics = metrics.borrow_watched();
            let index = |log: Option<LogId>| log.map_or(0, |log| log.index());
            GroupStats {
                group: group.id,
                leads,
                leader: metrics.current_leader,
                voters: metrics.membership_config.membership().voter_ids().collect(),
                learners: metrics.membership_config.membership().learner_ids().collect(),
                term: metrics.current_term,
                last: metrics.last_log_index.unwrap_or(0),
                applied: index(metrics.last_applied),
                purged: index(metrics.purged),
                checked: group.checks.agreed(),
                differs: group.checks.differs(),
                stopped,
            }
        };
        self.groups.iter().filter(|group| group.is_wanted(self.node) || group.leads()).map(stats).collect()
    }

    /// Ends all work of the groups, flushes, and lets go of the files. Calls after it are unavailable.
    pub async fn shutdown(&self) {
        for group in &self.groups {
            if let Err(e) = group.raft().shutdown().await {
                tracing::error!(group = %name(group.id), error = %e, "a group did not end well");
            }
            drop(group.staging.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
        }
        if let Err(e) = self.engine.close() {
            tracing::error!(error = %e, "closing the store failed");
        }
    }

    /// How reads did that were done elsewhere.
    pub fn far(&self) -> &FarFigures {
        &self.far
    }

    /// Whether this node's replica of a group leads it.
    pub fn leads(&self, group: GroupId) -> bool {
        self.group(group).is_ok_and(Group::leads)
    }

    /// How the node's store does.
    pub fn store(&self) -> Condition {
        self.engine.condition()
    }

    /// The first timer of a shard this node leads. From now on [`Self::changed`] tells of earlier ones only; of every change
    /// while it does not lead.
    pub fn first_timer(&self, shard: GroupId) -> Result<Option<Timestamp>, Unavailable> {
        let group = self.group(shard)?;
        // Before looking, so that what is written meanwhile is told.
        group.watch.first_timer.store(0, Ordering::SeqCst);
        if !group.leads() {
            return Ok(None);
        }
        let first = self.peek(shard, next_timer)?.map_err(|e| Unavailable(e.0))?;
        group.watch.first_timer.store(first.map_or(i64::MAX, |first| first.0), Ordering::SeqCst);
        Ok(first)
    }

    /// Waits until this node's replica of a group may have an earlier timer. One waits at a time; a change before the call counts.
    pub async fn changed(&self, group: GroupId) {
        match self.group(group) {
            Ok(group) => group.watch.changed.notified().await,
            Err(_) => std::future::pending().await,
        }
    }

    /// Reads this node's state of a group as it is, without a barrier: what the leader's own tasks go by.
    pub fn peek<T>(&self, group: GroupId, read: impl FnOnce(&dyn Read) -> T) -> Result<T, Unavailable> {
        let (rows, _) = self.group(group)?.view(self.engine.as_ref()).map_err(Unavailable)?;
        Ok(read(&rows))
    }

    /// What the replicas stand on.
    pub(super) fn base(&self) -> Base {
        Base {
            node: self.node,
            engine: Arc::clone(&self.engine),
            transport: Arc::clone(&self.transport),
            machine: Machine { definitions: self.definitions() },
            config: Arc::clone(&self.config),
        }
    }

    pub(super) fn group(&self, group: GroupId) -> Result<&Group, Unavailable> {
        let at = match group {
            GroupId::Catalog => 0,
            GroupId::Shard(number) => usize::from(number) + 1,
        };
        self.groups.get(at).ok_or_else(|| Unavailable(format!("there is no {}", name(group))))
    }

    /// Proposes here. The one place where an entry is stamped.
    pub(super) async fn propose_here(&self, group: &Group, command: Command) -> Attempt<(Outcome, LogId)> {
        if begins(&command)
            && group.leads()
            && let Some(why) = self.asides.no_space()
        {
            return Attempt::Refused(format!(
                "node {}: {why}; no run begins and no file is uploaded meanwhile",
                self.node
            ));
        }
        group.propose(Entry { at: self.clock.now(), origin: self.node, command }).await
    }

    async fn propose_there(&self, group: &Group, peer: u64, command: Command) -> Attempt<(Outcome, LogId)> {
        let asked = ask(self.transport.as_ref(), peer, group.id, &Request::Propose(command));
        match self.unless_moved(group, peer, asked).await {
            Some(Ok(Response::Proposed(attempt))) => attempt,
            Some(Err(unreached)) if unreached.sent => Attempt::Unknown(unreached.to_string()),
            // It cannot answer, or got nothing: it did nothing.
            Some(Ok(_) | Err(_)) => Attempt::Again(None),
            None => Attempt::Unknown(format!("node {peer} leads {} no more", name(group.id))),
        }
    }

    async fn barrier_there(&self, group: &Group, peer: u64) -> Attempt<Barrier> {
        let asked = ask(self.transport.as_ref(), peer, group.id, &Request::Barrier);
        match self.unless_moved(group, peer, asked).await {
            Some(Ok(Response::Barrier(attempt))) => attempt,
            // A barrier changes nothing: asking again is always right.
            Some(Ok(_) | Err(_)) | None => Attempt::Again(None),
        }
    }

    /// What comes of asking a group's leader; `None` when another node turns out to lead meanwhile: the one asked may be cut off
    /// and never answer.
    async fn unless_moved<T>(&self, group: &Group, peer: u64, asked: impl Future<Output = T>) -> Option<T> {
        // Without a replica here nobody tells this node who leads: what it knows may be of old.
        if group.elsewhere(self.node).is_some() {
            return Some(asked.await);
        }
        match select(pin!(asked), pin!(group.led_by_another(peer))).await {
            Either::Left((answer, _)) => Some(answer),
            Either::Right(((), _)) => None,
        }
    }

    /// Asks this node, or the leader it names, until one does it. What has an unknown outcome is asked again, too: of
    /// copies of one command at most one takes effect, and all get its answer (ADR 0012).
    async fn until_done<T, F, L>(
        &self,
        group: &Group,
        mut here: impl FnMut() -> F,
        mut there: impl FnMut(u64) -> L,
    ) -> Result<T, String>
    where
        F: Future<Output = Attempt<T>>,
        L: Future<Output = Attempt<T>>,
    {
        loop {
            let mut attempt = here().await;
            for _ in 0..HOPS_MAX {
                attempt = match attempt {
                    Attempt::Again(Some(leader)) if leader != self.node => there(leader).await,
                    attempt @ (Attempt::Done(_) | Attempt::Again(_) | Attempt::Unknown(_) | Attempt::Refused(_)) => {
                        attempt
                    }
                };
            }
            match attempt {
                Attempt::Done(done) => return Ok(done),
                Attempt::Refused(why) => return Err(why),
                Attempt::Unknown(why) if group.running().is_err() => return Err(why),
                Attempt::Unknown(why) => tracing::debug!(group = %name(group.id), reason = %why, "asked again"),
                // Nobody leads yet, or a leader that does not know it (until its first round of heartbeats).
                Attempt::Again(_) => (),
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// The rows of a group behind a barrier, and their time.
    async fn present(&self, group: GroupId) -> Result<(Rows, Timestamp), Unavailable> {
        let replica = self.group(group)?;
        let rows = async {
            // Of runs only: without a catalog that can be read there would be no runs.
            #[cfg(feature = "stale-read")]
            if let (GroupId::Shard(_), Ok((rows, Some(_)))) = (group, replica.view(self.engine.as_ref())) {
                let at = replica.clock(&rows)?;
                return Ok((rows, at));
            }
            let here = || replica.barrier(&self.clock);
            let confirm = || self.until_done(replica, here, |peer| self.barrier_there(replica, peer));
            let barrier = replica.rounds.join(confirm).await?;
            let rows = replica.view_from(self.engine.as_ref(), barrier.log).await?;
            let at = barrier.at.max(replica.clock(&rows)?);
            Ok((rows, at))
        };
        self.in_time(group, rows).await
    }

    /// Opens a view for a peer that has no replica. It must be here: no node asks further.
    pub(super) async fn open_view(&self, group: &Group) -> Result<Opened, String> {
        if group.elsewhere(self.node).is_some() {
            return Err(format!("{} has no replica here", name(group.id)));
        }
        let (rows, at) = self.present(group.id).await.map_err(|e| e.0)?;
        self.views.open(rows, at)
    }

    /// The replica to ask where this node has none: another at each call.
    fn next_host(&self, group: &Group) -> Option<u64> {
        let hosts = group.elsewhere(self.node)?;
        hosts.get(self.turn.fetch_add(1, Ordering::Relaxed) % hosts.len().max(1)).copied()
    }

    pub(super) async fn in_time<T>(
        &self,
        group: GroupId,
        work: impl Future<Output = Result<T, String>>,
    ) -> Result<T, Unavailable> {
        match tokio::time::timeout(self.budget, work).await {
            Ok(done) => done.map_err(Unavailable),
            Err(_) => Err(Unavailable(format!("{} did not answer within {:?}", name(group), self.budget))),
        }
    }
}

/// Whether a command is of those that a store with little space left takes no more: what goes on must be able to end.
fn begins(command: &Command) -> bool {
    match command {
        Command::Shard(ShardCommand::Write { write, .. }) => {
            matches!(write.action, Action::StartRun { .. } | Action::Upload { .. })
        }
        Command::Shard(ShardCommand::StoreChunk { .. }) => true,
        Command::Shard(_) | Command::Catalog(_) | Command::Check => false,
    }
}

impl Groups for RaftGroups {
    fn shards(&self) -> u16 {
        u16::try_from(self.groups.len().saturating_sub(1)).unwrap_or(u16::MAX)
    }

    async fn propose(&self, group: GroupId, command: Command) -> Result<Outcome, Unavailable> {
        let replica = self.group(group)?;
        let bytes = codec::size(&command);
        if bytes > COMMAND_BYTES_MAX {
            return Err(Unavailable(format!("a command of {bytes} bytes is larger than {COMMAND_BYTES_MAX}")));
        }
        let here = || async {
            match self.next_host(replica) {
                Some(host) => Attempt::Again(Some(host)),
                None => self.propose_here(replica, command.clone()).await,
            }
        };
        let there = |peer| self.propose_there(replica, peer, command.clone());
        let (outcome, log) = self.in_time(group, self.until_done(replica, here, there)).await?;
        replica.note_answered(log);
        Ok(outcome)
    }

    async fn read<T, F>(&self, group: GroupId, read: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        let replica = self.group(group)?;
        if let Some(hosts) = replica.elsewhere(self.node) {
            return self.read_far(replica, hosts, read).await;
        }
        let (rows, at) = self.present(group).await?;
        Ok(read(&rows, at))
    }

    async fn read_answered<T, F>(&self, group: GroupId, read: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        let replica = self.group(group)?;
        let last = replica.last_answered().filter(|_| replica.elsewhere(self.node).is_none());
        let Some(log) = last else { return self.read(group, read).await };
        let rows = self.in_time(group, replica.view_from(self.engine.as_ref(), log)).await?;
        let at = replica.clock(&rows).map_err(Unavailable)?;
        Ok(read(&rows, at))
    }

    async fn read_long<T, F>(&self, group: GroupId, read: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        let replica = self.group(group)?;
        if let Some(hosts) = replica.elsewhere(self.node) {
            return self.read_far(replica, hosts, read).await;
        }
        let (rows, at) = self.present(group).await?;
        let broken = |e| Unavailable(format!("a read of {} broke: {e}", name(group)));
        Runtime::spawn_blocking(move || read(&rows, at)).await.map_err(broken)
    }
}
