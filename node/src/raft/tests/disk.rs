//! Disks that are full, or fail.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::super::Matter;
use super::cluster::{Direct, led};
use super::*;
use crate::engine::memory::Memory;
use crate::engine::{Batch, EngineError, Family, Flushed, Look, Row};

/// An engine that fails from when it is told to, and never says "flushed" then; or panics.
struct Failing {
    memory: Memory,
    fails: AtomicBool,
    panics: AtomicBool,
}

impl Failing {
    fn over(memory: Memory) -> Arc<Self> {
        Arc::new(Self { memory, fails: AtomicBool::new(false), panics: AtomicBool::new(false) })
    }

    fn check(&self) -> Result<(), EngineError> {
        let full = || EngineError::Failed("No space left on device".to_owned());
        if self.fails.load(Ordering::Relaxed) { Err(full()) } else { Ok(()) }
    }
}

impl Look for Failing {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.memory.get(family, key)
    }

    fn scan(
        &self,
        family: Family,
        range: Range<Vec<u8>>,
        reverse: bool,
        limit: usize,
    ) -> Result<Vec<Row>, EngineError> {
        self.memory.scan(family, range, reverse, limit)
    }
}

impl Engine for Failing {
    fn write(&self, batch: Batch) -> Result<(), EngineError> {
        self.check()?;
        self.memory.write(batch)
    }

    fn flushed(&self, done: Flushed) {
        assert!(!self.panics.load(Ordering::Relaxed), "broken on purpose");
        match self.check() {
            Ok(()) => self.memory.flushed(done),
            Err(e) => done(Err(e)),
        }
    }

    fn view(&self) -> Result<Arc<dyn Look>, EngineError> {
        self.memory.view()
    }

    fn close(&self) -> Result<(), EngineError> {
        self.check()?;
        self.memory.close()
    }
}

async fn open(network: &Direct, node: u64, engine: Arc<Failing>) -> Arc<RaftGroups> {
    let transport = Arc::new(network.of(node));
    let members = BTreeSet::from([1, 2, 3]);
    let budget = Duration::from_secs(3);
    let opened = RaftGroups::start(Options { node, members, transport, budget, ..options(engine) }).await.unwrap();
    network.put(node, &opened);
    opened
}

/// The disk under a leader fails in the middle of writes. What was answered is there, nothing is answered that is not, the
/// others go on, and with space on its disk again the node is as it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_disk_takes_one_node_and_no_answer() {
    let network = Direct::default();
    let engines: Vec<_> = (0..3).map(|_| Failing::over(Memory::new())).collect();
    let mut nodes = Vec::new();
    for (node, engine) in (1..).zip(&engines) {
        nodes.push(open(&network, node, Arc::clone(engine)).await);
    }
    let leader = led(&nodes).await;
    // The disk fails when some are answered and others are under way; the second half comes only then.
    let done = Arc::new(AtomicUsize::new(0));
    let writes: Vec<_> = (0..200_u32)
        .map(|index| {
            let (node, engine, done) = (Arc::clone(&nodes[leader]), Arc::clone(&engines[leader]), Arc::clone(&done));
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(u64::from(index))).await;
                while index >= 100 && !engine.fails.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                let answered = write(&node, index).await.is_ok();
                if answered && done.fetch_add(1, Ordering::Relaxed) == 50 {
                    engine.fails.store(true, Ordering::Relaxed);
                }
                answered
            })
        })
        .collect();
    let mut answered = Vec::new();
    for (index, done) in (0..).zip(futures_util::future::join_all(writes).await) {
        answered.extend(done.unwrap().then_some(index));
    }
    assert!((50..200).contains(&answered.len()), "some were before it, some after: {}", answered.len());
    let why = nodes[leader].ready().unwrap_err();
    assert!(why.contains("No space left on device"), "{why}");

    let other = (leader + 1) % 3;
    write(&nodes[other], 1000).await.unwrap();
    let there = written(&nodes[other], 1001).await;
    for index in &answered {
        assert!(there.contains(index), "{index} was answered and is lost");
    }

    // Started again on what its disk holds.
    let number = u64::try_from(leader).unwrap() + 1;
    network.take_out(number);
    nodes[leader].shutdown().await;
    nodes[leader] = open(&network, number, Failing::over(engines[leader].memory.crashed())).await;
    led(&nodes).await;
    assert_eq!(written(&nodes[leader], 1001).await, written(&nodes[other], 1001).await);
    assert_eq!(digest_of(&nodes[leader], SHARD).await, digest_of(&nodes[other], SHARD).await);
    for node in &nodes {
        node.shutdown().await;
    }
}

/// Raft panics where its store cannot be what it is. The replica has then stopped, and says so at once: it does not lead, the node
/// is not ready, and nobody waits for an answer that will not come.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_panics_has_stopped() {
    let engine = Failing::over(Memory::new());
    let groups = start(Arc::clone(&engine) as _).await.unwrap();
    write(&groups, 0).await.unwrap();
    assert!(groups.ready().is_ok() && groups.leads(SHARD));
    engine.panics.store(true, Ordering::Relaxed);
    let began = std::time::Instant::now();
    let why = write(&groups, 1).await.unwrap_err().0;
    assert!(why.contains("does not run on this node") && began.elapsed() < Duration::from_secs(5), "{why}");
    assert!(groups.ready().unwrap_err().contains("does not run on this node"));
    assert!(!groups.leads(SHARD));
    let stats = groups.stats().into_iter().find(|stats| stats.group == SHARD).unwrap();
    assert!(!stats.leads && stats.stopped.is_some(), "{stats:?}");
}

/// A node with little space left hands over; where all have little, runs end and none begins.
#[tokio::test(flavor = "multi_thread")]
async fn little_space_moves_leaders_and_then_refuses_new_runs() {
    let network = Direct::default();
    let nodes = super::cluster::three(&network).await;
    let leader = led(&nodes).await;
    let low = || Some("its disk has 12 MiB left".to_owned());
    nodes[leader].set_aside(Matter::Space, low());
    // As its server does: again, when nobody could take over just then.
    let since = std::time::Instant::now();
    while nodes[leader].leads(SHARD) {
        assert!(since.elapsed() < Duration::from_secs(10), "it still leads");
        nodes[leader].step_aside().await;
    }
    assert!(nodes[leader].ready().unwrap_err().contains("12 MiB"));
    assert_eq!(nodes[leader].asides(), [Matter::Space]);
    // Through any node, also the one with little space.
    write(&nodes[leader], 0).await.unwrap();

    for node in &nodes {
        node.set_aside(Matter::Space, low());
        node.step_aside().await;
    }
    // The last one to hand over may be followed in a moment.
    let since = std::time::Instant::now();
    while !nodes.iter().any(|node| node.leads(SHARD)) {
        assert!(since.elapsed() < Duration::from_secs(10), "somebody leads all the same");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let tick = || Command::Shard(ShardCommand::Tick { run: None });
    for node in &nodes {
        let began = std::time::Instant::now();
        let refused = write(node, 1).await.unwrap_err().0;
        assert!(refused.contains("12 MiB left; no run begins and no file is uploaded meanwhile"), "{refused}");
        assert!(began.elapsed() < Duration::from_secs(2), "at once, not after the whole budget");
        node.propose(SHARD, tick()).await.unwrap().unwrap();
    }
    for node in &nodes {
        node.set_aside(Matter::Space, None);
    }
    write(&nodes[0], 1).await.unwrap();
    for node in &nodes {
        node.shutdown().await;
    }
}
