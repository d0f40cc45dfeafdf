//! Which rows are read after a row, as a rule: a hint for whoever reads them from afar, and would ask for each. Reads are right
//! whatever it says.

use std::collections::BTreeSet;

use quorate_proto::{RunId, codec};

use super::head::{Head, Pointer};
use super::keys::Key;

/// The row that a list reads for an index row: the head of its run.
pub fn of_index(key: &[u8]) -> Option<Vec<u8>> {
    let run = match Key::decode(key)? {
        Key::Ready { place, .. } | Key::Item { place, .. } => place.run,
        Key::RunList { place, .. } => place.run,
        Key::Clock
        | Key::OutboxNext
        | Key::AttemptLast
        | Key::Version { .. }
        | Key::Definition { .. }
        | Key::Head { .. }
        | Key::Journal { .. }
        | Key::Timer { .. }
        | Key::Request { .. }
        | Key::Fence { .. }
        | Key::FenceAge { .. }
        | Key::Fences { .. }
        | Key::File { .. }
        | Key::FileChunk { .. }
        | Key::Outbox { .. } => return None,
    };
    Some(Key::Head { run }.encode())
}

/// The rows that views read after the head of a run: the journal rows it points at. What is no head leads to nothing.
pub fn of_row(key: &[u8], value: &[u8]) -> Vec<Vec<u8>> {
    let Some(Key::Head { run }) = Key::decode(key) else { return Vec::new() };
    codec::decode(value).map(|head| pointed(run, &head)).unwrap_or_default()
}

fn pointed(run: RunId, head: &Head) -> Vec<Vec<u8>> {
    let steps = head.steps.iter().flat_map(|step| {
        let handoff = [step.handoff.progress, step.handoff.returned, step.handoff.issues];
        let live =
            [step.claim.as_ref().and_then(|claim| claim.progress), step.item.as_ref().and_then(|i| i.escalation)];
        let done = step.current.iter().chain(&step.history).map(|completion| completion.at);
        handoff.into_iter().chain(live).flatten().chain(done).collect::<Vec<_>>()
    });
    let places = steps.chain(head.held.iter().map(|held| held.at));
    // The inputs are in the first.
    let revisions: BTreeSet<u64> = places.map(|Pointer { revision, .. }| revision).chain([1]).collect();
    revisions.into_iter().map(|revision| Key::Journal { run, revision }.encode()).collect()
}
