//! Three nodes in one process, each other's transport.

use std::collections::BTreeMap;
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

    fn node(&self, node: u64) -> Option<Arc<RaftGroups>> {
        self.nodes.lock().unwrap().get(&node).and_then(Weak::upgrade)
    }

    pub(super) fn put(&self, node: u64, groups: &Arc<RaftGroups>) {
        self.nodes.lock().unwrap().insert(node, Arc::downgrade(groups));
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

async fn open(network: &Direct, node: u64, engine: Arc<Memory>) -> Arc<RaftGroups> {
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

#[tokio::test(flavor = "multi_thread")]
async fn no_majority_no_answer() {
    let network = Direct::default();
    let engine = Arc::new(Memory::new());
    let transport = Arc::new(Direct { from: 1, ..network.clone() });
    let members = BTreeSet::from([1, 2, 3]);
    let budget = Duration::from_millis(300);
    let alone = RaftGroups::start(Options { members, transport, budget, ..options(engine) }).await.unwrap();
    let refused = write(&alone, 0).await.unwrap_err().0;
    assert_eq!(refused, "shard 0 did not answer within 300ms");
    assert!(alone.ready().unwrap_err().contains("has no leader"));
    alone.shutdown().await;
    let _ = NoPeers;
}
