//! Random calls, the same that the state machine's properties make, on every engine: one log, one state.

use futures_util::stream;
use openraft::EntryPayload;
use openraft::storage::RaftStateMachine;
use openraft::vote::RaftLeaderId;
use proptest::prelude::*;
use quorate_proto::Entry;
use quorate_statemachine::Machine;
use quorate_statemachine::store::{Memory as Rows, Read};

use super::super::rows;
use super::super::state::{State, Watch};
use super::super::types::{LogEntry, LogId, Proposal, Types};
use super::*;
use crate::engine::memory::Memory;
use crate::engine::rocks::Rocks;
use crate::engine::tests::{Folder, flush_now};

#[path = "../../../../statemachine/tests/support/mod.rs"]
mod support;

use support::ops::{Driver, Op, ops};

/// Entries after which the states are compared: less than go into one batch, now and then more than one.
const ENTRIES_PER_CHECK: usize = 7;

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 32, max_shrink_time: 60_000, ..ProptestConfig::default()
    })]

    #[test]
    fn a_log_makes_one_state_on_every_engine(ops in ops(), restart in 1..8usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(agree(&ops, restart));
    }
}

/// Applies what the ops come to on both engines, as the node does, beside the state machine's own rows.
async fn agree(ops: &[Op], restart: usize) {
    let folder = Folder::new();
    let mut driver = Driver::new();
    let mut memory = Replica::open(Arc::new(Memory::new()));
    let mut rocks = Replica::open(Arc::new(Rocks::open(folder.path()).unwrap()));
    let mut applied = 0;
    for (number, op) in (1..).zip(ops) {
        if let Some(command) = driver.command(op) {
            let _ = driver.apply(command);
        }
        let log = &driver.world.log;
        if log.len() - applied < ENTRIES_PER_CHECK && number < ops.len() {
            continue;
        }
        for replica in [&mut memory, &mut rocks] {
            replica.apply(applied, &log[applied..]).await;
            replica.compare(&driver.world.store);
        }
        applied = log.len();
        // Closed and opened again, and it goes on from there.
        if number % (restart * ENTRIES_PER_CHECK) < ENTRIES_PER_CHECK {
            rocks.close();
            rocks = Replica::open(Arc::new(Rocks::open(folder.path()).unwrap()));
            rocks.compare(&driver.world.store);
        }
    }
    rocks.close();
}

/// One group's state on one engine.
struct Replica {
    engine: Arc<dyn Engine>,
    state: State,
}

impl Replica {
    fn open(engine: Arc<dyn Engine>) -> Self {
        let state = State::open(Arc::clone(&engine), SHARD, Machine::default(), Arc::new(Watch::default())).unwrap();
        Self { engine, state }
    }

    async fn apply(&mut self, before: usize, entries: &[Entry]) {
        let entry = |(index, entry): (usize, &Entry)| {
            let leader: openraft::alias::LeaderIdOf<Types> = RaftLeaderId::new(1, 1);
            let log_id = LogId::new(leader.to_committed(), u64::try_from(before + index).unwrap());
            Ok((LogEntry { log_id, payload: EntryPayload::Normal(Proposal(Arc::new(entry.clone()))) }, None))
        };
        self.state.apply(stream::iter(entries.iter().enumerate().map(entry))).await.unwrap();
    }

    /// The digest; and each kind of row as it is scanned: whole, from both ends, in part.
    fn compare(&self, expected: &Rows) {
        let (rows, _) = rows::Rows::present(self.engine.view().unwrap(), SHARD).unwrap();
        assert_eq!(digest(&rows).unwrap(), digest(expected).unwrap(), "the digests differ");
        let mut tags: Vec<u8> = expected.rows().map(|(key, _)| key[0]).collect();
        tags.dedup();
        for tag in tags {
            let whole = vec![tag]..vec![tag + 1];
            let all = expected.scan(whole.clone(), false, usize::MAX).unwrap();
            let middle = all[all.len() / 2].0.clone();
            for range in [whole.clone(), middle.clone()..whole.end, whole.start..middle] {
                for (reverse, limit) in [(false, usize::MAX), (true, usize::MAX), (false, 3), (true, 1)] {
                    let found = rows.scan(range.clone(), reverse, limit).unwrap();
                    assert_eq!(found, expected.scan(range.clone(), reverse, limit).unwrap(), "rows {tag:02x} differ");
                }
            }
            for (key, value) in &all {
                assert_eq!(rows.get(key).unwrap().as_ref(), Some(value), "row {key:02x?} differs");
            }
        }
    }

    fn close(self) {
        flush_now(self.engine.as_ref()).unwrap();
        self.engine.close().unwrap();
    }
}
