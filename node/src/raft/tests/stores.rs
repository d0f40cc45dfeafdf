//! The log and the state by themselves: openraft's own suite for stores, and snapshots.

use futures_util::stream;
use openraft::storage::{RaftSnapshotBuilder, RaftStateMachine};
use openraft::testing::log::{StoreBuilder, Suite};
use openraft::vote::RaftLeaderId;
use openraft::{EntryPayload, StorageError};
use quorate_proto::Entry;
use quorate_statemachine::Machine;

use super::super::log::Log;
use super::super::snapshot::Content;
use super::super::state::{State, Watch};
use super::super::types::{LogEntry, LogId, Proposal, Types};
use super::*;
use crate::engine::memory::Memory;
use crate::engine::{Family, Look, keys};

fn state(engine: Arc<dyn Engine>) -> State {
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

async fn apply(state: &mut State, indexes: std::ops::Range<u64>) {
    let entry = |index: u64| {
        let command = chunk(u32::try_from(index).unwrap());
        let proposal = Proposal(Entry { at: Timestamp(5), origin: 1, command });
        let leader: openraft::alias::LeaderIdOf<Types> = RaftLeaderId::new(1, 1);
        let log_id = LogId::new(leader.to_committed(), index);
        Ok((LogEntry { log_id, payload: EntryPayload::Normal(proposal) }, None))
    };
    state.apply(stream::iter(indexes.map(entry))).await.unwrap();
}

fn digest_in(engine: &Memory) -> [u8; 32] {
    let rows = super::super::rows::Rows::present(engine.view().unwrap(), SHARD).unwrap().0;
    digest(&rows).unwrap()
}

#[tokio::test]
async fn a_snapshot_is_a_moment_and_replaces_a_state_whole() {
    let (from, to) = (Arc::new(Memory::new()), Arc::new(Memory::new()));
    let (mut source, mut target) = (state(Arc::clone(&from) as _), state(Arc::clone(&to) as _));
    apply(&mut source, 0..300).await;
    let then = digest_in(&from);
    let snapshot = source.build_snapshot().await.unwrap();
    apply(&mut source, 300..310).await;
    assert_ne!(digest_in(&from), then);

    // What the target held before goes; so does what an attempt before left behind.
    apply(&mut target, 7000..7010).await;
    let Content::Rows(rows) = &snapshot.snapshot else { panic!("built from a view") };
    drop(target.stage().copy(rows).unwrap());
    let staged = target.stage().copy(rows).unwrap();
    target.install_snapshot(&snapshot.meta, Content::Staged(staged)).await.unwrap();
    assert_eq!(digest_in(&to), then);
    assert_eq!(target.applied_state().await.unwrap().0.unwrap().index(), 299);

    // One generation is left, also after a restart, and entries go on from there.
    let rows_of = |engine: &Memory| {
        engine.scan(Family::State, keys::generations(SHARD, 0, None), false, usize::MAX).unwrap().len()
    };
    let mut again = state(Arc::clone(&to) as _);
    apply(&mut again, 300..310).await;
    assert_eq!(digest_in(&to), digest_in(&from));
    assert_eq!(rows_of(&to), rows_of(&from));
}

#[tokio::test]
async fn a_snapshot_that_lost_a_chunk_is_refused() {
    let (from, to) = (Arc::new(Memory::new()), Arc::new(Memory::new()));
    let mut source = state(from);
    apply(&mut source, 0..200).await;
    let Content::Rows(rows) = source.build_snapshot().await.unwrap().snapshot else { panic!("built from a view") };
    let (mut chunks, mut next) = (Vec::new(), Some(quorate_statemachine::transfer::Position::default()));
    while let Some(position) = next {
        let (bytes, after) = quorate_statemachine::transfer::export(&rows, &position, 500).unwrap();
        chunks.push(bytes);
        next = after;
    }
    assert!(chunks.len() > 3);
    let mut staging = state(to).stage();
    staging.chunk(&chunks[0]).unwrap();
    assert!(staging.chunk(&chunks[2]).is_err());
    let mut damaged = chunks[1].clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    assert!(staging.chunk(&damaged).is_err());
    staging.chunk(&chunks[1]).unwrap();
}
