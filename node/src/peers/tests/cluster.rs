//! Three nodes' groups over real links.

use std::collections::BTreeSet;

use quorate_proto::shard::ShardCommand;
use quorate_proto::{Command, FileId, Reply, Unique};
use quorate_statemachine::digest;
use quorate_statemachine::shard::read::file_chunk;
use quorate_statemachine::store::Read;

use super::*;
use crate::engine::memory::Memory;
use crate::groups::{Groups, Unavailable};
use crate::peers::handler;
use crate::raft::{Options as RaftOptions, RaftGroups};

pub(super) const SHARD: GroupId = GroupId::Shard(0);
const FILE: FileId = FileId(Unique { shard: 0, random: [7; 10] });

/// A node that runs.
pub(super) struct Node {
    engine: Arc<Memory>,
    pub(super) groups: Arc<RaftGroups>,
    pub(super) end: End,
}

impl Node {
    pub(super) async fn start(number: u64, engine: Arc<Memory>) -> Self {
        Self::with_clock(number, engine, Arc::new(Clock::system())).await
    }

    pub(super) async fn with_clock(number: u64, engine: Arc<Memory>, clock: Arc<Clock>) -> Self {
        let (listener, address) = bind().await;
        let options = Options { clock: Arc::clone(&clock), ..options(number, &address.to_string()) };
        let peers = Peers::new(options).unwrap();
        let raft = RaftOptions {
            node: number,
            members: BTreeSet::from([1, 2, 3]),
            transport: Arc::clone(&peers) as _,
            snapshot_entries: 64,
            ..RaftOptions::alone(2, clock, Arc::clone(&engine) as _)
        };
        let groups = RaftGroups::start(raft).await.unwrap();
        let listening = peers.listen(listener, handler(Arc::clone(&groups)));
        Self { engine, groups, end: End { peers, address, listening } }
    }

    /// Ends as a killed process does: what was not flushed is lost.
    async fn kill(self) -> Arc<Memory> {
        let Self { engine, groups, end } = self;
        drop(end);
        groups.shutdown().await;
        Arc::new(engine.crashed())
    }
}

/// Tells every node where the others are.
pub(super) fn introduce(nodes: &[Node]) {
    for node in nodes {
        for other in nodes {
            node.end.peers.put(other.groups.node(), &other.end.address.to_string());
        }
    }
}

pub(super) async fn led(nodes: &[Node]) -> usize {
    eventually("a leader that all know", || {
        let leader = nodes.iter().position(|node| node.groups.leads(SHARD));
        leader.filter(|_| nodes.iter().all(|node| node.groups.ready().is_ok()))
    })
    .await
}

/// Writes a row. A node that does not know what came of it says so, and is asked again: the row is the same.
pub(super) async fn write(node: &Node, index: u32) {
    let store = || Command::Shard(ShardCommand::StoreChunk { file: FILE, index, bytes: index.to_be_bytes().to_vec() });
    let written = async {
        loop {
            match node.groups.propose(SHARD, store()).await {
                Ok(outcome) => return assert_eq!(outcome, Ok(Reply::Done)),
                Err(Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    tokio::time::timeout(LIMIT, written).await.unwrap();
}

async fn written(node: &Node, end: u32) -> Vec<u32> {
    let read =
        move |rows: &dyn Read, _| (0..end).filter(|index| file_chunk(rows, FILE, *index).unwrap().is_some()).collect();
    node.groups.read(SHARD, read).await.unwrap()
}

async fn digest_of(node: &Node) -> [u8; 32] {
    node.groups.read(SHARD, |rows, _| digest(rows).unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_lose_one_go_on_and_get_it_back_elsewhere() {
    let mut nodes = Vec::new();
    for number in 1..=3 {
        nodes.push(Node::start(number, Arc::new(Memory::new())).await);
    }
    introduce(&nodes);
    let leader = led(&nodes).await;
    for (index, node) in (0..).zip(&nodes) {
        write(node, index).await;
    }
    for node in &nodes {
        assert_eq!(written(node, 9).await, [0, 1, 2]);
    }
    // Many at once, so that appends overtake the responses to those before.
    let load = (3..200).map(|index| write(&nodes[index as usize % 3], index));
    futures_util::future::join_all(load).await;

    // The leader is lost: the others go on, beyond what their logs keep.
    let lost = nodes.remove(leader);
    let number = lost.groups.node();
    let engine = lost.kill().await;
    for index in 200..400 {
        write(&nodes[index as usize % 2], index).await;
    }
    // It comes back at another port, and says so; a snapshot brings it the beginning.
    let back = Node::start(number, engine).await;
    for node in &nodes {
        back.end.peers.put(node.groups.node(), &node.end.address.to_string());
    }
    nodes.push(back);
    led(&nodes).await;
    assert_eq!(written(&nodes[2], 500).await, (0..400).collect::<Vec<_>>());
    assert_eq!(digest_of(&nodes[2]).await, digest_of(&nodes[0]).await);
    for node in nodes {
        node.groups.shutdown().await;
    }
}
