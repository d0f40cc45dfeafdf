//! Snapshots: whole or refused.

use futures_util::stream;
use openraft::EntryPayload;
use openraft::storage::{RaftSnapshotBuilder, RaftStateMachine};
use openraft::vote::RaftLeaderId;
use quorate_proto::{Entry, codec};
use quorate_statemachine::transfer::{Position, export};

use super::super::message::{Request, Response};
use super::super::snapshot::Content;
use super::super::state::State;
use super::super::types::{LogEntry, LogId, Proposal, Types, Vote};
use super::stores::state;
use super::*;
use crate::engine::memory::Memory;
use crate::engine::{Family, Look, keys};

async fn apply(state: &mut State, indexes: std::ops::Range<u64>) {
    let entry = |index: u64| {
        let command = chunk(u32::try_from(index).unwrap());
        let proposal = Proposal(Arc::new(Entry { at: Timestamp(5), origin: 1, command }));
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

/// A state as it is sent, in many chunks.
fn chunks(rows: &dyn quorate_statemachine::store::Read) -> Vec<Vec<u8>> {
    let (mut chunks, mut next) = (Vec::new(), Some(Position::default()));
    while let Some(position) = next {
        let (bytes, after) = export(rows, &position, 500).unwrap();
        chunks.push(bytes);
        next = after;
    }
    assert!(chunks.len() > 3);
    chunks
}

#[tokio::test]
async fn a_snapshot_that_lost_a_chunk_is_refused() {
    let (from, to) = (Arc::new(Memory::new()), Arc::new(Memory::new()));
    let mut source = state(from);
    apply(&mut source, 0..200).await;
    let Content::Rows(rows) = source.build_snapshot().await.unwrap().snapshot else { panic!("built from a view") };
    let chunks = chunks(&rows);
    let mut staging = state(to).stage();
    staging.chunk(&chunks[0]).unwrap();
    assert!(staging.chunk(&chunks[2]).is_err());
    let mut damaged = chunks[1].clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    assert!(staging.chunk(&damaged).is_err());
    staging.chunk(&chunks[1]).unwrap();
}

/// A request to install may come late, amid the chunks of a later attempt: half a state must not take the whole's place.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_whole_snapshot_is_installed() {
    let (from, to) = (Arc::new(Memory::new()), Arc::new(Memory::new()));
    let mut source = state(Arc::clone(&from) as _);
    apply(&mut source, 0..200).await;
    let snapshot = source.build_snapshot().await.unwrap();
    let Content::Rows(rows) = &snapshot.snapshot else { panic!("built from a view") };
    let chunks = chunks(rows);
    // One of three without the others: it follows whoever shows it a vote.
    let members = BTreeSet::from([1, 2, 3]);
    let follower = RaftGroups::start(Options { members, ..options(Arc::clone(&to) as _) }).await.unwrap();
    let ask = async |request: Request| {
        let bytes = follower.serve(SHARD, &codec::encode(&request)).await;
        codec::decode::<Response>(&bytes).unwrap()
    };
    let chunk = |index: usize| {
        let first = (index == 0).then(|| snapshot.meta.clone());
        Request::Chunk { first, bytes: chunks[index].clone() }
    };
    let install = || Request::Install { vote: Vote::new_committed(99, 2) };

    let none = ask(install()).await;
    assert!(matches!(none, Response::Failed(why) if why.contains("no snapshot to install")));
    assert!(matches!(ask(chunk(1)).await, Response::Failed(_)), "not the first");
    for index in [0, 1] {
        assert!(matches!(ask(chunk(index)).await, Response::Taken));
    }
    let half = ask(install()).await;
    assert!(matches!(half, Response::Failed(why) if why.contains("not whole")));
    assert_ne!(digest_in(&to), digest_in(&from));

    for index in 0..chunks.len() {
        assert!(matches!(ask(chunk(index)).await, Response::Taken));
    }
    assert!(matches!(ask(install()).await, Response::Installed(_)));
    assert_eq!(digest_in(&to), digest_in(&from));
    follower.shutdown().await;
}
