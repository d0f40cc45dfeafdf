//! Three nodes in one process, each other's transport.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Weak};

use futures_util::future::BoxFuture;

use super::super::Unreached;
use super::*;
use crate::engine::memory::Memory;

/// Calls the other nodes directly. A node that was taken out is unreachable in both directions.
#[derive(Clone, Default)]
pub(super) struct Direct {
    from: u64,
    /// How long a request is on its way.
    delay: Duration,
    nodes: Arc<Mutex<BTreeMap<u64, Weak<RaftGroups>>>>,
}

impl Direct {
    pub(super) fn slow(delay: Duration) -> Self {
        Self { delay, ..Self::default() }
    }

    /// The way of one node into it.
    pub(super) fn of(&self, from: u64) -> Self {
        Self { from, ..self.clone() }
    }

    fn node(&self, node: u64) -> Option<Arc<RaftGroups>> {
        self.nodes.lock().unwrap().get(&node).and_then(Weak::upgrade)
    }

    pub(super) fn put(&self, node: u64, groups: &Arc<RaftGroups>) {
        self.nodes.lock().unwrap().insert(node, Arc::downgrade(groups));
    }

    pub(super) fn has(&self, node: u64) -> bool {
        self.node(node).is_some()
    }

    pub(super) fn take_out(&self, node: u64) {
        self.nodes.lock().unwrap().remove(&node);
    }
}

impl Transport for Direct {
    fn call(&self, peer: u64, group: GroupId, request: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
        let network = self.clone();
        Box::pin(async move {
            // Without a delay, the first poll hands the request over: appends stay in order.
            if !network.delay.is_zero() {
                tokio::time::sleep(network.delay).await;
            }
            match network.node(network.from).and(network.node(peer)) {
                Some(target) => Ok(target.serve(group, &request).await),
                None => Err(Unreached { peer, sent: false, why: "taken out".to_owned() }),
            }
        })
    }
}

pub(super) async fn open(network: &Direct, node: u64, engine: Arc<Memory>) -> Arc<RaftGroups> {
    let transport = Arc::new(Direct { from: node, ..network.clone() });
    let members = BTreeSet::from([1, 2, 3]);
    let opened = RaftGroups::start(Options { node, members, transport, ..options(engine) }).await.unwrap();
    network.put(node, &opened);
    opened
}

pub(super) async fn three(network: &Direct) -> Vec<Arc<RaftGroups>> {
    let mut nodes = Vec::new();
    for node in 1..=3 {
        nodes.push(open(network, node, Arc::new(Memory::new())).await);
    }
    nodes
}

pub(super) async fn led(nodes: &[Arc<RaftGroups>]) -> usize {
    for _ in 0..500 {
        let leader = nodes.iter().position(|node| node.leads(SHARD));
        if let Some(leader) = leader.filter(|_| nodes.iter().all(|node| node.ready().is_ok())) {
            return leader;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no leader: {:?}", nodes.iter().map(|node| node.ready()).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn any_node_writes_and_reads_and_a_lost_one_catches_up_by_snapshot() {
    let network = Direct::default();
    let engines: Vec<_> = (0..3).map(|_| Arc::new(Memory::new())).collect();
    let mut nodes = Vec::new();
    for (node, engine) in (1..).zip(&engines) {
        nodes.push(open(&network, node, Arc::clone(engine)).await);
    }
    let leader = led(&nodes).await;
    let other = (leader + 1) % 3;
    write(&nodes[other], 0).await.unwrap();
    for node in &nodes {
        assert_eq!(written(node, 9).await, [0]);
    }

    // One is away while the others write more than the log keeps.
    let away = (leader + 2) % 3;
    let number = u64::try_from(away).unwrap() + 1;
    network.take_out(number);
    nodes[away].shutdown().await;
    for index in 1..300 {
        write(&nodes[leader], index).await.unwrap();
    }
    nodes[away] = open(&network, number, Arc::new(engines[away].crashed())).await;
    led(&nodes).await;
    assert_eq!(written(&nodes[away], 300).await.len(), 300);
    assert_eq!(digest_of(&nodes[away], SHARD).await, digest_of(&nodes[leader], SHARD).await);
    for node in &nodes {
        node.shutdown().await;
    }
}

/// Answers late, and counts how many appends with entries are under way to one peer.
struct Far {
    direct: Direct,
    peer: u64,
    under_way: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Transport for Far {
    fn call(&self, peer: u64, group: GroupId, request: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
        // Nothing else is that large here.
        let counts = request.len() > 1000 && peer == self.peer && group == SHARD;
        let answer = self.direct.call(peer, group, request);
        let (under_way, most) = (Arc::clone(&self.under_way), Arc::clone(&self.most));
        if counts {
            most.fetch_max(under_way.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let answer = answer.await;
            under_way.fetch_sub(usize::from(counts), Ordering::Relaxed);
            answer
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_does_not_wait_for_the_responses_before_it() {
    let network = Direct::default();
    let (under_way, most) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
    let mut nodes = Vec::new();
    for node in 1..=2 {
        let direct = Direct { from: node, ..network.clone() };
        let (under_way, most) = (Arc::clone(&under_way), Arc::clone(&most));
        let transport = Arc::new(Far { direct, peer: 3 - node, under_way, most });
        let (members, engine) = (BTreeSet::from([1, 2]), Arc::new(Memory::new()));
        let opened = RaftGroups::start(Options { node, members, transport, ..options(engine) }).await.unwrap();
        network.nodes.lock().unwrap().insert(node, Arc::downgrade(&opened));
        nodes.push(opened);
    }
    let leader = Arc::clone(&nodes[led(&nodes).await]);
    let writes = (0..32_u32).map(|index| {
        let leader = Arc::clone(&leader);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(u64::from(index))).await;
            let command = ShardCommand::StoreChunk { file: file(), index, bytes: vec![7; 1000] };
            leader.propose(SHARD, Command::Shard(command)).await
        })
    });
    for write in writes.collect::<Vec<_>>() {
        assert_eq!(write.await.unwrap().unwrap(), Ok(Reply::Done));
    }
    assert_eq!(written(&nodes[0], 99).await, (0..32).collect::<Vec<_>>());
    assert!(most.load(Ordering::Relaxed) > 1, "one append at a time");
    for node in &nodes {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_majority_no_answer() {
    let network = Direct::default();
    let engine = Arc::new(Memory::new());
    let transport = Arc::new(Direct { from: 1, ..network.clone() });
    let members = BTreeSet::from([1, 2, 3]);
    let budget = Duration::from_millis(300);
    let alone = RaftGroups::start(Options { members, transport, budget, ..options(engine) }).await.unwrap();
    let command = ShardCommand::StoreChunk { file: file(), index: 0, bytes: vec![7; 18 << 20] };
    let large = alone.propose(SHARD, Command::Shard(command)).await.unwrap_err().0;
    assert!(large.contains("is larger than 17825792"), "{large}");
    let refused = write(&alone, 0).await.unwrap_err().0;
    assert_eq!(refused, "shard 0 did not answer within 300ms");
    assert!(alone.ready().unwrap_err().contains("has no leader"));
    alone.shutdown().await;
    let _ = NoPeers;
}
