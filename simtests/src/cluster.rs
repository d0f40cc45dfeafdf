//! Three simulated nodes that can be killed and started again on what their disks kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use madsim::runtime::{Handle, NodeHandle};
use quorate::clock::Clock;
use quorate::raft::{Options, RaftGroups};
use quorate::timers::Timers;

use crate::engine::Disk;
use crate::link::{self, Links};
use crate::trace::Trace;

/// How many nodes there are.
pub(crate) const NODES: u64 = 3;
/// How many shards there are.
pub(crate) const SHARDS: u16 = 2;
/// How long a call may take, in virtual time.
const BUDGET: Duration = Duration::from_secs(5);

/// One life of a node, from a start to a kill.
struct Life {
    disk: Arc<Disk>,
    groups: Option<Arc<RaftGroups>>,
}

type Lives = Arc<Mutex<BTreeMap<u64, Life>>>;

/// The nodes of a cluster.
pub(crate) struct Cluster {
    lives: Lives,
    nodes: BTreeMap<u64, NodeHandle>,
    trace: Trace,
}

impl Cluster {
    /// Starts the nodes on empty disks.
    pub(crate) fn start(trace: &Trace, late_flush: bool) -> Self {
        let lives: Lives = Arc::default();
        let mut nodes = BTreeMap::new();
        for node in 1..=NODES {
            lock(&lives).insert(node, Life { disk: Disk::new(late_flush), groups: None });
            let (lives, trace) = (Arc::clone(&lives), trace.clone());
            let init = move || live(node, Arc::clone(&lives), trace.clone());
            let handle = Handle::current();
            let built = handle.create_node().name(node.to_string()).ip(link::address(node).into()).init(init).build();
            nodes.insert(node, built);
        }
        Self { lives, nodes, trace: trace.clone() }
    }

    /// The groups of a node that lives.
    pub(crate) fn node(&self, node: u64) -> Option<Arc<RaftGroups>> {
        lock(&self.lives).get(&node).and_then(|life| life.groups.clone())
    }

    /// Ends a node at once. Its disk keeps what was flushed.
    pub(crate) fn kill(&self, node: u64) {
        self.trace.line(format_args!("kill {node}"));
        if let Some(handle) = self.nodes.get(&node) {
            Handle::current().kill(handle.id());
        }
        if let Some(life) = lock(&self.lives).get_mut(&node) {
            life.groups = None;
            life.disk = life.disk.crashed();
        }
    }

    /// Starts a killed node.
    pub(crate) fn restart(&self, node: u64) {
        self.trace.line(format_args!("restart {node}"));
        if let Some(handle) = self.nodes.get(&node) {
            Handle::current().restart(handle.id());
        }
    }

    /// Waits until every node lives and knows the leader of every group.
    pub(crate) async fn ready(&self) -> Result<(), String> {
        let mut why = String::new();
        for _ in 0..600 {
            let missing = (1..=NODES).find_map(|node| match self.node(node) {
                Some(groups) => groups.ready().err().map(|why| format!("node {node}: {why}")),
                None => Some(format!("node {node} is not there")),
            });
            match missing {
                Some(missing) => why = missing,
                None => return Ok(()),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(format!("the cluster does not come back: {why}"))
    }
}

async fn live(node: u64, lives: Lives, trace: Trace) {
    let clock = Arc::new(Clock::system());
    let links = Links::start(node, (1..=NODES).filter(|peer| *peer != node), trace.clone());
    let Some(disk) = lock(&lives).get(&node).map(|life| Arc::clone(&life.disk)) else { return };
    let options = Options {
        node,
        members: (1..=NODES).collect::<BTreeSet<_>>(),
        transport: links,
        budget: BUDGET,
        snapshot_entries: 64,
        ..Options::alone(SHARDS, Arc::clone(&clock), disk)
    };
    let groups = match RaftGroups::start(options).await {
        Ok(groups) => groups,
        Err(e) => return trace.line(format_args!("node {node} does not start: {e}")),
    };
    if let Some(life) = lock(&lives).get_mut(&node) {
        life.groups = Some(Arc::clone(&groups));
    }
    let _timers = Timers::start(&groups, &clock);
    if let Err(e) = link::serve(groups).await {
        trace.line(format_args!("node {node} does not serve: {e}"));
    }
}

fn lock(lives: &Lives) -> std::sync::MutexGuard<'_, BTreeMap<u64, Life>> {
    lives.lock().unwrap_or_else(PoisonError::into_inner)
}
