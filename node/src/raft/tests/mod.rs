//! Raft groups over both engines.
#![expect(clippy::unwrap_used, reason = "tests")]

mod away;
mod check;
mod cluster;
mod departed;
mod disk;
mod durability;
#[cfg(feature = "rocks")]
mod engines;
mod far;
mod leaders;
mod snapshots;
mod stores;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agentprocess::time::Timestamp;
use quorate_proto::catalog::{CatalogCommand, CatalogReply};
use quorate_proto::shard::ShardCommand;
use quorate_proto::{Command, FileId, GroupId, Reply, Unique};
use quorate_statemachine::shard::read::file_chunk;
use quorate_statemachine::{catalog, digest};

use super::{NoPeers, OpenError, Options, RaftGroups, Transport};
use crate::clock::Clock;
use crate::engine::Engine;
use crate::groups::{Groups, Unavailable};

const SHARD: GroupId = GroupId::Shard(0);

fn file() -> FileId {
    FileId(Unique { shard: 0, random: [7; 10] })
}

/// The smallest write of a shard: one row, by its number.
fn chunk(index: u32) -> Command {
    Command::Shard(ShardCommand::StoreChunk { file: file(), index, bytes: index.to_be_bytes().to_vec() })
}

fn options(engine: Arc<dyn Engine>) -> Options {
    let clock = Arc::new(Clock::test(Timestamp(1_800_000_000_000)));
    Options { snapshot_entries: 64, ..Options::alone(2, clock, engine) }
}

async fn start(engine: Arc<dyn Engine>) -> Result<Arc<RaftGroups>, OpenError> {
    RaftGroups::start(options(engine)).await
}

async fn write(groups: &RaftGroups, index: u32) -> Result<(), Unavailable> {
    let outcome = groups.propose(SHARD, chunk(index)).await?;
    assert_eq!(outcome, Ok(Reply::Done));
    Ok(())
}

/// The numbers that are there, of those before `end`.
async fn written(groups: &RaftGroups, end: u32) -> Vec<u32> {
    let read = move |rows: &dyn quorate_statemachine::store::Read, _| {
        (0..end).filter(|index| file_chunk(rows, file(), *index).unwrap().is_some()).collect()
    };
    groups.read(SHARD, read).await.unwrap()
}

async fn digest_of(groups: &RaftGroups, group: GroupId) -> [u8; 32] {
    groups.read(group, |rows, _| digest(rows).unwrap()).await.unwrap()
}
