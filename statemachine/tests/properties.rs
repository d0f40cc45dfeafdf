//! Properties over random calls: the guarantees of §6 hold after each entry, and a state is nothing but its log.
#![expect(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "tests")]

mod support;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use quorate_proto::shard::{Action, ShardCommand, Token};
use quorate_proto::{CallerKind, Code, Entry, Outcome};
use quorate_statemachine::shard::keys::Key;
use quorate_statemachine::shard::read;
use quorate_statemachine::store::Memory;
use quorate_statemachine::{Machine, digest, transfer};
use support::coverage::Coverage;
use support::ops::{Driver, Op, ops};
use support::{at, guarantees, text};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_guarantees_hold_after_each_entry(ops in ops()) {
        let mut driver = Driver::new();
        for op in &ops {
            step(&mut driver, op);
        }
        for (seen, view) in &driver.seen {
            prop_assert_eq!(&driver.world.run_at(seen), view, "an original answer stays as it was");
        }
    }

    #[test]
    fn a_state_is_nothing_but_its_log(ops in ops(), cut in 0..64usize, bytes_max in 1..3000usize) {
        let mut driver = Driver::new();
        for op in &ops {
            if let Some(command) = driver.command(op) {
                let _ = driver.apply(command);
            }
        }
        let log = &driver.world.log;
        let whole = digest(&driver.world.store).unwrap();
        let mut first = Memory::default();
        let (before, after) = log.split_at(cut % log.len());
        replay(&mut first, before);
        // A snapshot taken here and restored elsewhere goes on to the same state.
        let mut second = copy(&first, bytes_max);
        prop_assert_eq!(digest(&first).unwrap(), digest(&second).unwrap());
        replay(&mut first, after);
        replay(&mut second, after);
        prop_assert_eq!(digest(&first).unwrap(), whole);
        prop_assert_eq!(digest(&second).unwrap(), whole);
    }
}

/// The properties are about something: as many random calls as one of them makes reach all that they speak of.
#[test]
fn the_random_calls_reach_everything() {
    let mut runner = TestRunner::deterministic();
    let mut coverage = Coverage::default();
    for _ in 0..96 {
        let mut driver = Driver::new();
        for op in ops().new_tree(&mut runner).unwrap().current() {
            if let Some(command) = driver.command(&op) {
                let _ = driver.apply(command);
            }
        }
        coverage.add(&driver);
    }
    coverage.demand();
}

/// Does one op and judges it.
fn step(driver: &mut Driver, op: &Op) {
    let Some(command) = driver.command(op) else { return };
    let (store, claims) = (driver.world.store.clone(), driver.claims.clone());
    let before = guarantees::read(&store);
    let outcome = driver.apply(command.clone());
    let after = guarantees::read(&driver.world.store);
    guarantees::structure(&driver.world.store, &after);
    guarantees::lists(&driver.world, &after);
    guarantees::immutable(&before, &after);
    for (_, rows, process) in &after.runs {
        guarantees::journal(rows, process, driver.world.limits.run_data_bytes_max);
    }
    let ShardCommand::Write { write, .. } = &command else { return };
    guarantees::nothing_due(&after);
    match &write.action {
        Action::Decide(decide) if outcome.is_ok() => {
            assert_eq!(write.caller.kind, CallerKind::Human, "people decide");
            if !driver.writes.iter().rev().skip(1).any(|(old, _)| *old == command) {
                let snapshot = fresh_snapshot(&store, driver.world.at, decide.run);
                assert_eq!(Some(&decide.snapshot), snapshot.as_ref(), "people decide: on a current snapshot");
            }
        }
        Action::Submit { token, .. } | Action::Renew { token, .. } | Action::Escalate { token, .. }
            if outcome.is_ok() && !driver.writes.iter().rev().skip(1).any(|(old, _)| *old == command) =>
        {
            let newest = claims.iter().rev().find(|c| c.run == token.run && c.step == token.step).unwrap();
            let holds =
                Token { run: newest.run, step: newest.step, number: newest.number, holder: newest.holder.clone() };
            assert_eq!(*token, holds, "one actor at a time: the newest token");
            assert!(driver.world.at < newest.expires, "one actor at a time: a live lease");
        }
        _ => {}
    }
    refusals_change_nothing(driver, &store, &command, &outcome);
}

/// A refused call changes nothing but the clock and the fence against late copies of it; a refused submission also
/// leaves its issues (HANDOFF-UNCHANGED).
fn refusals_change_nothing(driver: &Driver, store: &Memory, command: &ShardCommand, outcome: &Outcome) {
    let Err(refusal) = outcome else { return };
    if read::due(store, None, driver.world.at).unwrap() {
        return;
    }
    let old: std::collections::BTreeMap<_, _> = store.rows().collect();
    let changed =
        driver.world.store.rows().filter(|(k, v)| old.get(k) != Some(v)).map(|(k, _)| Key::decode(k).unwrap());
    let fence = |k: &Key| {
        matches!(k, Key::Clock | Key::AttemptLast | Key::Fence { .. } | Key::FenceAge { .. } | Key::Fences { .. })
    };
    let changed: Vec<_> = changed.filter(|k| !fence(k)).collect();
    let kept = |k: &Key| matches!(k, Key::Head { .. } | Key::Journal { .. });
    match refusal.code {
        Code::NotAccepted => assert!(changed.len() == 2 && changed.iter().all(kept), "{command:?}: {changed:?}"),
        Code::Invalid | Code::Stale | Code::Conflict | Code::Forbidden | Code::NotFound | Code::Retry => {
            assert!(changed.is_empty(), "{command:?}: {changed:?}");
        }
    }
    let kept = |rows: &mut dyn Iterator<Item = &[u8]>| rows.filter(|k| !fence(&Key::decode(k).unwrap())).count();
    let (before, after) = (kept(&mut old.keys().copied()), kept(&mut driver.world.store.rows().map(|(k, _)| k)));
    assert_eq!(after, before + usize::from(refusal.code == Code::NotAccepted));
}

/// The snapshot that a read just before would have shown.
fn fresh_snapshot(store: &Memory, now: agentprocess::time::Timestamp, run: quorate_proto::RunId) -> Option<String> {
    let (mut store, machine) = (store.clone(), Machine::default());
    let tick = quorate_proto::Command::Shard(ShardCommand::Tick { run: Some(run) });
    machine.apply(&mut store, &Entry { at: now, origin: 1, command: tick }).unwrap().unwrap();
    let view = read::get_run(&store, &machine.definitions, "o", run, now).unwrap()?;
    at(&view, "workItems").as_array().unwrap().first().map(|item| text(item, "snapshot"))
}

fn replay(store: &mut Memory, log: &[Entry]) {
    let machine = Machine::default();
    for entry in log {
        // The outcome was judged when it was first applied.
        let _ = machine.apply(store, entry).unwrap();
    }
}

fn copy(store: &Memory, bytes_max: usize) -> Memory {
    let (mut copy, mut import) = (Memory::default(), transfer::Import::new());
    let mut position = Some(transfer::Position::default());
    while let Some(from) = position {
        let (chunk, next) = transfer::export(store, &from, bytes_max).unwrap();
        assert_eq!(import.chunk(&mut copy, &chunk).unwrap(), next.is_none());
        position = next;
    }
    copy
}
