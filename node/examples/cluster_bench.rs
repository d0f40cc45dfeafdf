//! How many writes three nodes in one process commit in a second, over loopback and one disk.
//!
//! `cargo run --release -p quorate --example cluster_bench -- [FOLDER] [SECONDS]`
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a measurement, not a server")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quorate::clock::Clock;
use quorate::engine::rocks::Rocks;
use quorate::groups::Groups;
use quorate::peers::{Listening, Peers, Security, handler};
use quorate::raft::RaftGroups;
use quorate_proto::shard::ShardCommand;
use quorate_proto::{Command, FileId, GroupId, Unique};
use tokio::net::TcpListener;

/// Bytes of each proposal's row.
const ROW_BYTES: usize = 512;
const SHARDS: u16 = 4;

struct Node {
    peers: Arc<Peers>,
    address: String,
    groups: Arc<RaftGroups>,
    _listening: Listening,
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from).join("cluster-bench");
    let time = Duration::from_secs(arguments.next().map_or(5, |seconds| seconds.parse().unwrap()));
    drop(std::fs::remove_dir_all(&folder));
    let mut nodes = Vec::new();
    for number in 1..=3 {
        nodes.push(start(&folder, number).await);
    }
    for node in &nodes {
        for (number, other) in (1..).zip(&nodes) {
            node.peers.put(number, &other.address);
        }
    }
    while nodes.iter().any(|node| node.groups.ready().is_err()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for proposers in [1, 64] {
        let before = nodes[0].peers.stats();
        let mut took = propose(&nodes, proposers, time).await;
        took.sort_unstable();
        let at = |part: usize| took[took.len() * part / 1000];
        let rate = took.len() as f64 / time.as_secs_f64();
        println!(
            "{SHARDS} shards, {proposers} proposers: {rate:.0} writes/s, p50 {:.2?}, p99 {:.2?}",
            at(500),
            at(990)
        );
        for (was, is) in before.peers.iter().zip(nodes[0].peers.stats().peers) {
            let (sent, connects) = ((is.sent_bytes - was.sent_bytes) as f64 / time.as_secs_f64() / 1e6, is.connects);
            println!("  node 1 to {}: {sent:.1} MB/s, connected {connects} times", is.peer);
        }
    }
    for node in nodes {
        node.groups.shutdown().await;
    }
    drop(std::fs::remove_dir_all(&folder));
}

async fn start(folder: &Path, number: u64) -> Node {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let clock = Arc::new(Clock::system());
    let peers = Peers::new(quorate::peers::Options {
        cluster: "bench".to_owned(),
        node: number,
        address: address.clone(),
        clock: Arc::clone(&clock),
        security: Security::Plain,
    })
    .unwrap();
    let folder = folder.join(number.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    let engine = Arc::new(Rocks::open(&folder).unwrap());
    let options = quorate::raft::Options {
        node: number,
        members: BTreeSet::from([1, 2, 3]),
        transport: Arc::clone(&peers) as _,
        ..quorate::raft::Options::alone(SHARDS, clock, engine)
    };
    let groups = RaftGroups::start(options).await.unwrap();
    let listening = peers.listen(listener, handler(Arc::clone(&groups)));
    Node { peers, address, groups, _listening: listening }
}

/// Writes for a while, each proposer at one node and shard. Returns how long each write took.
async fn propose(nodes: &[Node], proposers: u16, time: Duration) -> Vec<Duration> {
    let took = Arc::new(Mutex::new(Vec::new()));
    let start = Instant::now();
    let task = |proposer: u16| {
        let (groups, took) = (Arc::clone(&nodes[usize::from(proposer) % 3].groups), Arc::clone(&took));
        tokio::spawn(async move {
            let shard = proposer % SHARDS;
            let mut random = [0; 10];
            random[..2].copy_from_slice(&proposer.to_be_bytes());
            let file = FileId(Unique { shard, random });
            let (mut index, mut mine) = (0, Vec::new());
            while start.elapsed() < time {
                let began = Instant::now();
                let store = ShardCommand::StoreChunk { file, index, bytes: vec![7; ROW_BYTES] };
                groups.propose(GroupId::Shard(shard), Command::Shard(store)).await.unwrap().unwrap();
                mine.push(began.elapsed());
                index += 1;
            }
            took.lock().unwrap().extend(mine);
        })
    };
    for task in (0..proposers).map(task).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    Arc::try_unwrap(took).unwrap().into_inner().unwrap()
}
