//! The log and the state by themselves: openraft's own suite for stores, and what a vote must survive.

use openraft::storage::RaftLogStorage;
use openraft::testing::log::{StoreBuilder, Suite};
use openraft::{RaftLogReader, StorageError};
use quorate_statemachine::Machine;

use super::super::log::Log;
use super::super::state::{State, Watch};
use super::super::types::{Types, Vote};
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
