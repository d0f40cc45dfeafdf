//! How many proposals a node alone commits in a second, beside what its disk can flush: groups share flushes.
//!
//! `cargo run --release -p quorate --example propose_bench -- [FOLDER] [SECONDS]`
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a measurement, not a server")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use quorate::clock::Clock;
use quorate::groups::Groups;
use quorate::raft::RaftGroups;
use quorate_proto::shard::ShardCommand;
use quorate_proto::{Command, FileId, GroupId, Unique};
use quorate_statemachine::shard::read::file_chunk;

/// Bytes of each proposal's row.
const ROW_BYTES: usize = 512;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from).join("propose-bench");
    let time = Duration::from_secs(arguments.next().map_or(5, |seconds| seconds.parse().unwrap()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    println!("fdatasync of {ROW_BYTES} bytes: {:.0}/s", disk(&folder, time));
    for (shards, proposers) in [(1, 1), (1, 64), (4, 64), (8, 64), (4, 256)] {
        let store = folder.join(format!("{shards}-{proposers}"));
        let clock = Arc::new(Clock::system());
        let groups = RaftGroups::open(&store, shards, clock).await.unwrap();
        let (rate, mean) = propose(&groups, shards, proposers, time).await;
        println!("{shards} shards, {proposers} proposers: {rate:.0} proposals/s, {mean:.2} ms each");
        let rate = read(&groups, shards, proposers, time).await;
        println!("{shards} shards, {proposers} readers: {rate:.0} reads/s behind a barrier");
        groups.shutdown().await;
    }
    drop(std::fs::remove_dir_all(&folder));
}

fn disk(folder: &Path, time: Duration) -> f64 {
    let mut file = std::fs::File::create(folder.join("flushes")).unwrap();
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < time {
        file.write_all(&[7; ROW_BYTES]).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

async fn propose(groups: &Arc<RaftGroups>, shards: u16, proposers: u16, time: Duration) -> (f64, f64) {
    let count = Arc::new(AtomicU32::new(0));
    let start = Instant::now();
    let task = |proposer: u16| {
        let (groups, count) = (Arc::clone(groups), Arc::clone(&count));
        tokio::spawn(async move {
            let shard = proposer % shards;
            let mut random = [0; 10];
            random[..2].copy_from_slice(&proposer.to_be_bytes());
            let file = FileId(Unique { shard, random });
            let mut index = 0;
            while start.elapsed() < time {
                let store = ShardCommand::StoreChunk { file, index, bytes: vec![7; ROW_BYTES] };
                groups.propose(GroupId::Shard(shard), Command::Shard(store)).await.unwrap().unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                index += 1;
            }
        })
    };
    for task in (0..proposers).map(task).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let (count, spent) = (f64::from(count.load(Ordering::Relaxed)), start.elapsed().as_secs_f64());
    (count / spent, spent * 1000.0 * f64::from(proposers) / count)
}

async fn read(groups: &Arc<RaftGroups>, shards: u16, readers: u16, time: Duration) -> f64 {
    let count = Arc::new(AtomicU32::new(0));
    let start = Instant::now();
    let task = |reader: u16| {
        let (groups, count) = (Arc::clone(groups), Arc::clone(&count));
        tokio::spawn(async move {
            let file = FileId(Unique { shard: reader % shards, random: [0; 10] });
            while start.elapsed() < time {
                groups
                    .read(GroupId::Shard(reader % shards), move |rows, _| file_chunk(rows, file, 0))
                    .await
                    .unwrap()
                    .unwrap();
                count.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    for task in (0..readers).map(task).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    f64::from(count.load(Ordering::Relaxed)) / start.elapsed().as_secs_f64()
}
