//! What was answered is there after a stop and after a crash.

use super::*;
use crate::engine::keys::{self, MetaKey};
use crate::engine::memory::Memory;
use crate::engine::tests::{Late, flush_now};
use crate::engine::{Batch, Family, Look};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_survives_a_crash() {
    let engine = Arc::new(Memory::new());
    let groups = start(Arc::clone(&engine) as _).await.unwrap();
    for index in 0..5 {
        write(&groups, index).await.unwrap();
    }
    let again = start(Arc::new(engine.crashed())).await.unwrap();
    assert_eq!(written(&again, 9).await, [0, 1, 2, 3, 4]);
    assert_eq!(digest_of(&again, SHARD).await, digest_of(&groups, SHARD).await);
    groups.shutdown().await;
    again.shutdown().await;
}

/// The test that shows the one above can fail: an engine that answers before it flushes loses what was answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_flush_is_noticed() {
    let engine = Arc::new(Memory::new());
    let groups = start(Arc::new(Late(Arc::clone(&engine)))).await.unwrap();
    flush_now(engine.as_ref()).unwrap();
    write(&groups, 0).await.unwrap();
    let again = start(Arc::new(engine.crashed())).await.unwrap();
    assert_eq!(written(&again, 9).await, [0; 0], "the harness must see the loss");
    groups.shutdown().await;
    again.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_node_is_unavailable_and_starts_again() {
    let engine = Arc::new(Memory::new());
    let groups = start(Arc::clone(&engine) as _).await.unwrap();
    groups.ready().unwrap();
    assert_eq!((groups.shards(), groups.leads(SHARD), groups.leads(GroupId::Shard(2))), (2, true, false));
    assert!(groups.propose(GroupId::Shard(2), chunk(1)).await.unwrap_err().0.contains("there is no shard 2"));
    groups.shutdown().await;
    assert!(groups.ready().is_err());
    assert!(write(&groups, 0).await.is_err());
    assert!(groups.read(SHARD, |_, _| ()).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_of_one_node_and_one_number_of_shards() {
    let engine = Arc::new(Memory::new());
    start(Arc::clone(&engine) as _).await.unwrap().shutdown().await;
    let crashed = || Arc::new(engine.crashed());
    let other = RaftGroups::start(Options { shards: 3, ..options(crashed()) }).await.err().unwrap();
    assert_eq!(other.to_string(), "the data folder is of shards 2, and 3 was asked for");
    let other = RaftGroups::start(Options { node: 2, ..options(crashed()) }).await.err().unwrap();
    assert_eq!(other.to_string(), "the data folder is of node 1, and 2 was asked for");
    let none = RaftGroups::start(Options { shards: 0, ..options(crashed()) }).await.err().unwrap();
    assert_eq!(none, OpenError::Shards(0));
}

/// A group whose log is gone is damage, and no reason to found it again: an empty group would answer "absent" to everyone.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_log_is_not_founded_again() {
    let engine = Arc::new(Memory::new());
    start(Arc::clone(&engine) as _).await.unwrap().shutdown().await;
    let engine = Arc::new(engine.crashed());
    let mut batch = Batch::default();
    batch.delete_range(Family::Log, keys::log_range(SHARD, 0, None));
    batch.delete(Family::Meta, MetaKey::Vote(SHARD).encode());
    batch.delete(Family::Meta, MetaKey::Applied(SHARD).encode());
    engine.write(batch).unwrap();
    let lost = start(engine).await.err().unwrap().to_string();
    assert!(lost.contains("shard 0 has lost its log"), "{lost}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_entry_is_found() {
    let engine = Arc::new(Memory::new());
    let groups = start(Arc::clone(&engine) as _).await.unwrap();
    write(&groups, 0).await.unwrap();
    groups.shutdown().await;
    let engine = Arc::new(engine.crashed());
    let (key, mut value) = engine.scan(Family::Log, keys::log_range(SHARD, 0, None), true, 1).unwrap().remove(0);
    let last = value.len() - 1;
    value[last] ^= 1;
    let mut batch = Batch::default();
    batch.put(Family::Log, key.clone(), value);
    engine.write(batch).unwrap();
    let index = keys::log_index(&key).unwrap();
    let found = start(engine).await.err().unwrap().to_string();
    let expected = format!("log entry {index} of shard 0 is damaged: its checksum does not match");
    assert!(found.contains(&expected), "{found}");
}

/// A state this build did not write stops the replica; it is never told as a refusal, and the node says why.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_cannot_apply_stops_and_says_why() {
    let engine = Arc::new(Memory::new());
    let groups = start(Arc::clone(&engine) as _).await.unwrap();
    write(&groups, 0).await.unwrap();
    groups.shutdown().await;
    let engine = Arc::new(engine.crashed());
    let mut batch = Batch::default();
    for (key, _) in engine.scan(Family::State, keys::generations(SHARD, 0, None), false, 99).unwrap() {
        batch.put(Family::State, key, vec![0xee]);
    }
    engine.write(batch).unwrap();
    let groups = start(Arc::clone(&engine) as _).await.unwrap();
    let failed = write(&groups, 1).await.unwrap_err().0;
    assert!(failed.contains("shard 0") && failed.contains("cannot be applied"), "{failed}");
    let reason = groups.ready().unwrap_err();
    assert!(reason.contains("shard 0 stops on this node: entry"), "{reason}");
    // The others go on.
    let add = Command::Catalog(CatalogCommand::AddKey { secret: [1; 32] });
    assert_eq!(
        groups.propose(GroupId::Catalog, add).await.unwrap(),
        Ok(Reply::Catalog(CatalogReply::KeyAdded { key: 1 }))
    );
    groups.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_stay_bounded() {
    let engine = Arc::new(Memory::new());
    let groups = start(Arc::clone(&engine) as _).await.unwrap();
    for index in 0..400 {
        write(&groups, index).await.unwrap();
    }
    // Snapshots and purges run beside the writes.
    let held = || engine.scan(Family::Log, keys::log_range(SHARD, 0, None), false, usize::MAX).unwrap().len();
    for _ in 0..100 {
        // Figures follow the work at a distance.
        if held() <= 100 && groups.stats()[1].applied >= 400 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(held() <= 100, "{} entries are held with a snapshot every 64", held());
    let stats = groups.stats().swap_remove(1);
    assert!(stats.group == SHARD && stats.leads && stats.purged > 250 && stats.applied >= 400, "{stats:?}");
    groups.shutdown().await;
    let again = start(Arc::new(engine.crashed())).await.unwrap();
    assert_eq!(written(&again, 401).await.len(), 400);
    again.shutdown().await;
}

/// Large entries: the log is made shorter long before it has many.
#[tokio::test(flavor = "multi_thread")]
async fn logs_stay_bounded_in_bytes() {
    let engine = Arc::new(Memory::new());
    let engine_of = Arc::clone(&engine) as _;
    let options = Options { snapshot_entries: 100_000, log_bytes_max: 100_000, ..options(engine_of) };
    let groups = RaftGroups::start(options).await.unwrap();
    for index in 0..200 {
        let bytes = vec![7; 5000];
        let store = Command::Shard(ShardCommand::StoreChunk { file: file(), index, bytes });
        groups.propose(SHARD, store).await.unwrap().unwrap();
    }
    let held = || engine.scan(Family::Log, keys::log_range(SHARD, 0, None), false, usize::MAX).unwrap().len();
    for _ in 0..100 {
        if held() <= 60 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(held() <= 60, "{} entries of 5 kB are held where 100 kB are the limit", held());
    groups.shutdown().await;
    let again = start(Arc::new(engine.crashed())).await.unwrap();
    assert_eq!(written(&again, 201).await.len(), 200);
    again.shutdown().await;
}

#[cfg(feature = "rocks")]
mod rocks {
    use super::super::*;
    use crate::engine::memory::Memory;
    use crate::engine::tests::Folder;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_answered_is_there_after_a_restart() {
        let folder = Folder::new();
        let clock = Arc::new(Clock::test(Timestamp(1_800_000_000_000)));
        let mut before = None;
        for round in 0..3u32 {
            let groups = RaftGroups::open(folder.path(), 2, Arc::clone(&clock)).await.unwrap();
            assert_eq!(written(&groups, 99).await.len(), usize::try_from(round).unwrap() * 10);
            assert!(before.is_none() || before == Some(digest_of(&groups, SHARD).await));
            for index in 0..10 {
                write(&groups, round * 10 + index).await.unwrap();
            }
            before = Some(digest_of(&groups, SHARD).await);
            let twice = RaftGroups::open(folder.path(), 2, Arc::clone(&clock)).await.err().unwrap();
            assert!(twice.to_string().contains("is in use by another process or node"), "{twice}");
            groups.shutdown().await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn both_engines_come_to_one_state() {
        let folder = Folder::new();
        let clock = Arc::new(Clock::test(Timestamp(1_800_000_000_000)));
        let rocks = RaftGroups::open(folder.path(), 2, clock).await.unwrap();
        let memory = start(Arc::new(Memory::new())).await.unwrap();
        for groups in [&rocks, &memory] {
            for index in 0..20 {
                write(groups, index).await.unwrap();
            }
            let add = Command::Catalog(CatalogCommand::AddKey { secret: [1; 32] });
            groups.propose(GroupId::Catalog, add).await.unwrap().unwrap();
        }
        for group in [GroupId::Catalog, SHARD, GroupId::Shard(1)] {
            assert_eq!(digest_of(&rocks, group).await, digest_of(&memory, group).await);
        }
        let keys = rocks.read(GroupId::Catalog, |rows, _| catalog::read::keys(rows).unwrap()).await.unwrap();
        assert_eq!(keys.len(), 1);
        rocks.shutdown().await;
        memory.shutdown().await;
    }
}
