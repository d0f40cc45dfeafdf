//! The log and the state by themselves: openraft's own suite for stores, and what a vote must survive.

use openraft::entry::RaftEntry as _;
use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::testing::log::{StoreBuilder, Suite};
use openraft::{RaftLogReader, StorageError};
use quorate_statemachine::Machine;

use super::super::log::Log;
use super::super::state::{State, Watch};
use super::super::types::{LogEntry, LogId, Types, Vote};
use super::*;
use crate::engine::memory::Memory;

pub(super) fn state(engine: Arc<dyn Engine>) -> State {
    State::open(engine, SHARD, Machine::default(), Arc::new(Watch::default())).unwrap()
}

struct InMemory;

impl StoreBuilder<Types, Log, State> for InMemory {
    async fn build(&self) -> Result<((), Log, State), StorageError<Types>> {
        let engine: Arc<dyn Engine> = Arc::new(Memory::new());
        Ok(((), Log::new(Arc::clone(&engine), SHARD), state(engine)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn openrafts_suite_holds_in_memory() {
    Suite::test_all(InMemory).await.unwrap();
}

#[cfg(feature = "rocks")]
mod rocks {
    use super::*;
    use crate::engine::rocks::Rocks;
    use crate::engine::tests::Folder;

    struct OnDisk;

    impl StoreBuilder<Types, Log, State, Folder> for OnDisk {
        async fn build(&self) -> Result<(Folder, Log, State), StorageError<Types>> {
            let folder = Folder::new();
            let engine: Arc<dyn Engine> = Arc::new(Rocks::open(folder.path()).unwrap());
            Ok((folder, Log::new(Arc::clone(&engine), SHARD), state(engine)))
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn openrafts_suite_holds_on_rocks() {
        Suite::test_all(OnDisk).await.unwrap();
    }
}

/// Who forgets a vote in a crash votes twice in one term, and two leaders follow.
#[tokio::test]
async fn a_vote_is_flushed_before_it_is_given() {
    let engine = Arc::new(Memory::new());
    let vote = Vote::new(7, 2);
    Log::new(Arc::clone(&engine) as _, SHARD).save_vote(&vote).await.unwrap();
    let after = Arc::new(engine.crashed());
    assert_eq!(Log::new(after, SHARD).read_vote().await.unwrap(), Some(vote));
}

/// The end of the log is in memory, too, and must not outlive the log.
#[tokio::test]
async fn what_was_truncated_or_purged_is_not_read_again() {
    let mut log = Log::new(Arc::new(Memory::new()), SHARD);
    let id = |index| LogId::new(Vote::new_committed(1, 1).leader_id, index);
    let indexes = |read: Vec<LogEntry>| read.iter().map(LogEntry::index).collect::<Vec<_>>();
    log.append((1..6).map(|index| LogEntry::new_blank(id(index))), IOFlushed::noop()).await.unwrap();
    assert_eq!(indexes(log.limited_get_log_entries(2, 6).await.unwrap()), [2, 3, 4, 5]);
    log.truncate_after(Some(id(3))).await.unwrap();
    assert_eq!(indexes(log.limited_get_log_entries(2, 6).await.unwrap()), [2, 3]);
    assert_eq!(indexes(log.try_get_log_entries(3..6).await.unwrap()), [3]);
    log.purge(id(2)).await.unwrap();
    assert_eq!(indexes(log.try_get_log_entries(1..3).await.unwrap()), [0; 0]);
    assert_eq!(indexes(log.limited_get_log_entries(3, 4).await.unwrap()), [3]);
}
