//! Opening: what the store is, the groups' start, and the one founding of each group.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use futures_util::future::try_join_all;
use openraft::{Config, SnapshotPolicy};
use quorate_proto::{GroupId, codec};
use quorate_statemachine::Machine;
use quorate_statemachine::shard::Definitions;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::aside::Asides;
use super::check::{Checks, condemned};
use super::departed::departed;
use super::far::{READS_MAX, Views};
use super::group::{Group, Replica};
use super::groups::RaftGroups;
use super::log::Log;
use super::peer::{Peers, Transport};
use super::rounds::Rounds;
use super::state::{State, Watch};
use super::types::{Raft, Types, name};
use crate::clock::Clock;
use crate::engine::keys::{MetaKey, SHARDS_MAX};
use crate::engine::{Batch, Engine, EngineError, Family, flush};

/// Format of the store this build reads and writes.
const FORMAT: u32 = 4;
/// Entries after a snapshot before the next, in entries.
const SNAPSHOT_ENTRIES: u64 = 4096;
/// How much a group writes before its log is made shorter, in bytes.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// How long one voter may take to lead its groups at the start.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long a call may take unless [`Options`] say otherwise.
const BUDGET: Duration = Duration::from_secs(10);

/// How to open the groups of a node.
pub struct Options {
    /// This node's number.
    pub node: u64,
    /// The voters of every group when it is founded. None for a node that joins: it is sent what there is.
    pub members: BTreeSet<u64>,
    /// The voters of groups that are founded by others than that.
    pub placed: BTreeMap<GroupId, BTreeSet<u64>>,
    /// How many shards there are.
    pub shards: u16,
    /// The node's clock.
    pub clock: Arc<Clock>,
    /// Its store.
    pub engine: Arc<dyn Engine>,
    /// The way to its peers.
    pub transport: Arc<dyn Transport>,
    /// How long a call may take before its outcome is unknown.
    pub budget: Duration,
    /// Entries after a snapshot before the next, in entries. A quarter of it stays in the log behind a snapshot, for
    /// followers that are a little behind.
    pub snapshot_entries: u64,
    /// How much a group may write before its log is made shorter whatever its number of entries, in bytes.
    pub log_bytes_max: u64,
}

impl Options {
    /// A node alone.
    pub fn alone(shards: u16, clock: Arc<Clock>, engine: Arc<dyn Engine>) -> Self {
        let (members, transport) = (BTreeSet::from([1]), Arc::new(super::NoPeers));
        Self {
            node: 1,
            members,
            placed: BTreeMap::new(),
            shards,
            clock,
            engine,
            transport,
            budget: BUDGET,
            snapshot_entries: SNAPSHOT_ENTRIES,
            log_bytes_max: LOG_BYTES_MAX,
        }
    }
}

impl Options {
    fn founders(&self, group: GroupId) -> &BTreeSet<u64> {
        self.placed.get(&group).unwrap_or(&self.members)
    }

    /// Whether this node is among the founders of a group.
    fn founds(&self, group: GroupId) -> bool {
        self.founders(group).contains(&self.node)
    }
}

/// Why the groups could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The store failed, or is in use.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It holds something else than was asked for.
    #[error("the data folder is of {what} {stored}, and {asked} was asked for")]
    Other {
        /// What differs.
        what: &'static str,
        /// What the store says.
        stored: u64,
        /// What was asked for.
        asked: u64,
    },
    /// There can be 1 to 4096 shards.
    #[error("there can be 1 to {SHARDS_MAX} shards, not {0}")]
    Shards(u16),
    /// What it holds is damaged, or a group does not start.
    #[error("{0}")]
    Damaged(String),
}

/// What a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Store {
    /// Its format.
    pub format: u32,
    /// Whose it is.
    pub node: u64,
    /// How many shards its cluster has.
    pub shards: u16,
    /// Whether the catalog and all groups that it founds were begun. Once they were, an empty one is a loss and never founded
    /// again.
    pub founded: bool,
}

impl RaftGroups {
    /// Opens the groups of a node alone over a folder, or makes them there.
    #[cfg(feature = "rocks")]
    pub async fn open(folder: &std::path::Path, shards: u16, clock: Arc<Clock>) -> Result<Arc<Self>, OpenError> {
        let engine = Arc::new(crate::engine::rocks::Rocks::open(folder)?);
        Self::start(Options::alone(shards, clock, engine)).await
    }

    /// Opens the groups of a node. A node alone leads them all when this returns.
    pub async fn start(options: Options) -> Result<Arc<Self>, OpenError> {
        let store = describe(&options)?;
        let definitions = Arc::new(Definitions::default());
        let machine = Machine { definitions: Arc::clone(&definitions) };
        let ids = std::iter::once(GroupId::Catalog).chain((0..store.shards).map(GroupId::Shard));
        let damaged = |e: openraft::ConfigError| OpenError::Damaged(e.to_string());
        let config = Arc::new(config(&options).validate().map_err(damaged)?);
        let base = Base {
            node: options.node,
            engine: Arc::clone(&options.engine),
            transport: Arc::clone(&options.transport),
            machine,
            config: Arc::clone(&config),
        };
        let groups = try_join_all(ids.map(|id| open_group(&base, options.log_bytes_max, id))).await?;
        try_join_all(groups.iter().map(|group| found(&options, store, group))).await?;
        let founded = groups.iter().filter(|group| group.id == GroupId::Catalog || options.founds(group.id)).map(begun);
        if !store.founded && try_join_all(founded).await?.into_iter().all(|begun| begun) {
            keep(options.engine.as_ref(), Store { founded: true, ..store })?;
            flush(options.engine.as_ref()).await?;
        }
        try_join_all(groups.iter().map(|group| lead(options.node, group))).await?;
        let Options { node, clock, engine, transport, budget, .. } = options;
        Ok(Arc::new(Self {
            node,
            clock,
            engine,
            transport,
            definitions,
            config,
            budget,
            groups,
            stopping: AtomicBool::new(false),
            asides: Asides::default(),
            views: Views::default(),
            far_reads: Semaphore::new(READS_MAX),
            far: Arc::default(),
            turn: AtomicUsize::new(0),
        }))
    }
}

/// What the store says it is, or what it becomes.
fn describe(options: &Options) -> Result<Store, OpenError> {
    if !(1..=SHARDS_MAX).contains(&options.shards) {
        return Err(OpenError::Shards(options.shards));
    }
    let asked = Store { format: FORMAT, node: options.node, shards: options.shards, founded: false };
    let Some(bytes) = options.engine.get(Family::Meta, &MetaKey::Store.encode())? else {
        keep(options.engine.as_ref(), asked)?;
        return Ok(asked);
    };
    let stored: Store = codec::decode(&bytes)
        .map_err(|e| OpenError::Damaged(format!("the data folder is not of this program's making: {e}")))?;
    let same =
        |what, stored, asked| if stored == asked { Ok(()) } else { Err(OpenError::Other { what, stored, asked }) };
    same("format", u64::from(stored.format), u64::from(asked.format))?;
    same("node", stored.node, asked.node)?;
    same("shards", u64::from(stored.shards), u64::from(asked.shards))?;
    Ok(stored)
}

fn keep(engine: &dyn Engine, store: Store) -> Result<(), EngineError> {
    let mut batch = Batch::default();
    batch.put(Family::Meta, MetaKey::Store.encode(), codec::encode(&store));
    engine.write(batch)
}

fn config(options: &Options) -> Config {
    Config {
        cluster_name: "quorate".to_owned(),
        heartbeat_interval: 150,
        // A voter waits for the leader's lease, which is as long as the longest of these, and then for one of them: a leader
        // that is lost is missed for 1.0 to 1.4 s. Shorter would depose leaders that are merely slow.
        election_timeout_min: 300,
        election_timeout_max: 700,
        install_snapshot_timeout: 5000,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(options.snapshot_entries),
        max_in_snapshot_log_to_keep: options.snapshot_entries / 4,
        purge_batch_size: (options.snapshot_entries / 16).max(1),
        // Entries can be large (uploads): few of them at once keep a request to a peer small.
        max_payload_entries: 64,
        enable_pre_vote: Some(true),
        // A leader that restarts must be elected again: its state may be behind what it answered (only the log is flushed
        // before an answer), and only the first entry of a new term tells a read how far it must be.
        enable_leader_restore: Some(false),
        ..Config::default()
    }
}

/// What the replicas of a node stand on.
pub(super) struct Base {
    pub(super) node: u64,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) machine: Machine,
    pub(super) config: Arc<Config>,
}

/// Opens a replica over what there is of it.
pub(super) async fn open_replica(base: &Base, id: GroupId, watch: &Arc<Watch>) -> Result<Replica, String> {
    let state = State::open(Arc::clone(&base.engine), id, base.machine.clone(), Arc::clone(watch));
    let state = state.map_err(|e| e.to_string())?;
    let transport = Arc::clone(&base.transport);
    let peers = Peers { transport, node: base.node, group: id, watch: Arc::clone(watch) };
    let log = Log::new(Arc::clone(&base.engine), id);
    let raft = Raft::new(base.node, Arc::clone(&base.config), peers, log, state.clone()).await;
    Ok(Replica { raft: raft.map_err(|e| e.to_string())?, state })
}

async fn open_group(base: &Base, log_bytes_max: u64, id: GroupId) -> Result<Group, OpenError> {
    let bad = |why: String| OpenError::Damaged(format!("{} cannot start: {why}", name(id)));
    if let Some(why) = condemned(base.engine.as_ref(), id)? {
        return Err(bad(why));
    }
    let watch = Arc::new(Watch::default());
    Ok(Group {
        id,
        replica: RwLock::new(open_replica(base, id, &watch).await.map_err(bad)?),
        watch,
        closed: AtomicBool::new(false),
        departed: Mutex::new(departed(base.engine.as_ref(), id)?),
        staging: Mutex::new(None),
        log_bytes_max,
        trimmed: AtomicU64::new(0),
        answered: Mutex::new(None),
        rounds: Rounds::default(),
        checks: Checks::default(),
        hosts: RwLock::default(),
        needed: AtomicBool::new(false),
    })
}

/// Founds a group that never was: its members go into its log. All members may do it, with the same entry.
async fn found(options: &Options, store: Store, group: &Group) -> Result<(), OpenError> {
    let bad = |why: String| OpenError::Damaged(format!("{} cannot be founded: {why}", name(group.id)));
    if begun(group).await? {
        return Ok(());
    }
    if store.founded && (group.id == GroupId::Catalog || options.founds(group.id)) {
        return Err(OpenError::Damaged(format!("{} has lost its log: the data folder is damaged", name(group.id))));
    }
    if !options.founds(group.id) {
        return Ok(());
    }
    group.raft().initialize(options.founders(group.id).clone()).await.map_err(|e| bad(e.to_string()))
}

/// Whether a group has a log or a state here.
async fn begun(group: &Group) -> Result<bool, OpenError> {
    let bad = |e| OpenError::Damaged(format!("{} does not start: {e}", name(group.id)));
    group.raft().is_initialized().await.map_err(bad)
}

/// Makes a voter alone the leader at once: no other can be.
async fn lead(node: u64, group: &Group) -> Result<(), OpenError> {
    let bad = |why: String| OpenError::Damaged(format!("{} does not start: {why}", name(group.id)));
    let voters = group.raft().with_raft_state(voters).await.map_err(|e| bad(e.to_string()))?;
    if voters != [node] {
        return Ok(());
    }
    if !group.raft().is_leader() {
        group.raft().trigger().elect(false).await.map_err(|e| bad(e.to_string()))?;
    }
    let wait = group.raft().wait(Some(START_LIMIT));
    wait.current_leader(node, "one voter leads").await.map(drop).map_err(|e| bad(e.to_string()))
}

fn voters(state: &openraft::RaftState<Types>) -> Vec<u64> {
    state.membership_state.effective().voter_ids().collect()
}
