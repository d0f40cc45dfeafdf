//! Keys: every one comes back from its bytes, and bytes sort as keys do.
#![expect(clippy::unwrap_used, reason = "tests")]

use agentprocess::time::Timestamp;
use proptest::prelude::*;
use quorate_proto::{Attempt, FileId, RunId, Unique};
use quorate_statemachine::shard::head::{Assigned, RunState};
use quorate_statemachine::shard::keys::{Facet, Key, RunsKey, WorkKey};
use quorate_statemachine::shard::timer::TimerKind;

/// Short texts over few letters, 0 among them, so that prefixes and equals are common.
fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), Just('é')], 0..4)
        .prop_map(|letters| letters.into_iter().collect())
}

fn instant() -> impl Strategy<Value = Timestamp> {
    prop_oneof![Just(-1i64), Just(0), Just(1), any::<i64>()].prop_map(Timestamp)
}

fn unique() -> impl Strategy<Value = Unique> {
    (0..2u16, 0..3u8).prop_map(|(shard, n)| Unique { shard, random: [n; 10] })
}

fn work() -> impl Strategy<Value = WorkKey> {
    (instant(), unique(), 0..3u32).prop_map(|(since, run, position)| WorkKey { since, run: RunId(run), position })
}

fn facet() -> impl Strategy<Value = Facet> {
    let state = || proptest::sample::select(RunState::ALL.as_slice());
    prop_oneof![
        Just(Facet::All),
        text().prop_map(Facet::Process),
        state().prop_map(Facet::State),
        (text(), state()).prop_map(|(process, state)| Facet::ProcessState(process, state)),
        any::<[u8; 16]>().prop_map(Facet::Input),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    let assigned = prop_oneof![text().prop_map(Assigned::Group), text().prop_map(Assigned::Person)];
    let kind = proptest::sample::select([TimerKind::Lease, TimerKind::Wait, TimerKind::Due].as_slice());
    let some = || proptest::option::of(text());
    prop_oneof![
        Just(Key::Clock),
        Just(Key::OutboxNext),
        (text(), text(), 0..3u32).prop_map(|(org, process, version)| Key::Version { org, process, version }),
        (text(), text(), 0..3u32).prop_map(|(org, process, version)| Key::Definition { org, process, version }),
        unique().prop_map(|run| Key::Head { run: RunId(run) }),
        (unique(), 0..3u64).prop_map(|(run, revision)| Key::Journal { run: RunId(run), revision }),
        (text(), some(), work()).prop_map(|(org, process, place)| Key::Ready { org, process, place }),
        (text(), assigned, some(), work()).prop_map(|(org, assigned, process, place)| Key::Item {
            org,
            assigned,
            process,
            place
        }),
        (text(), facet(), instant(), unique()).prop_map(|(org, facet, started, run)| {
            Key::RunList { org, facet, place: RunsKey { started, run: RunId(run) } }
        }),
        (instant(), unique(), 0..3u32, kind).prop_map(|(at, run, position, kind)| Key::Timer {
            at,
            run: RunId(run),
            position,
            kind
        }),
        Just(Key::AttemptLast),
        (text(), text()).prop_map(|(org, id)| Key::Request { org, id }),
        (text(), text()).prop_map(|(org, id)| Key::Fence { org, id }),
        (0..3u16, 0..3u64).prop_map(|(home, number)| Key::FenceAge { attempt: Attempt { home, number } }),
        (0..3u16).prop_map(|home| Key::Fences { home }),
        unique().prop_map(|file| Key::File { file: FileId(file) }),
        (unique(), 0..3u32).prop_map(|(file, index)| Key::FileChunk { file: FileId(file), index }),
        (0..3u64).prop_map(|sequence| Key::Outbox { sequence }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_key_comes_back_from_its_bytes(key in key()) {
        let bytes = key.encode();
        prop_assert!(bytes[0] < 255, "the whole state lies below byte 255");
        prop_assert_eq!(Key::decode(&bytes).unwrap(), key);
        prop_assert_eq!(Key::decode(&bytes[..bytes.len() - 1]), None);
        prop_assert_eq!(Key::decode(&[bytes.as_slice(), &[0]].concat()), None);
    }

    #[test]
    fn bytes_sort_as_keys_do(a in key(), b in key()) {
        prop_assert_eq!(a.encode().cmp(&b.encode()), a.cmp(&b));
    }

    #[test]
    fn any_bytes_are_a_key_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Some(key) = Key::decode(&bytes) {
            prop_assert_eq!(key.encode(), bytes);
        }
    }
}
