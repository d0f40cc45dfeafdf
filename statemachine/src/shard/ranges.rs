//! Ranges of keys to scan, and the prefixes they share with the keys.

use std::ops::Range;

use agentprocess::time::Timestamp;

use super::bytes::{Writer, after_prefix};
use super::head::Assigned;
use super::keys::{Facet, Key, RunsKey, WorkKey};

/// Ready steps of an organization, or of one of its processes, after `after`.
pub fn ready_range(org: &str, process: Option<&str>, after: Option<&WorkKey>) -> Range<Vec<u8>> {
    work_range(ready(org, process), after)
}

/// Open items of an assignee (a person in lower case), or those of one process, after `after`.
pub fn item_range(org: &str, assigned: &Assigned, process: Option<&str>, after: Option<&WorkKey>) -> Range<Vec<u8>> {
    work_range(item(org, assigned, process), after)
}

/// Runs of a facet, newest first, after `after`.
pub fn runs_range(org: &str, facet: &Facet, after: Option<&RunsKey>) -> Range<Vec<u8>> {
    let prefix = run_list(org, facet);
    let end = after_prefix(&prefix.clone().done());
    let start = match after {
        Some(key) => after_prefix(&prefix.instant_reversed(key.started).run(key.run).done()),
        None => prefix.done(),
    };
    start..end
}

/// Timers due at `at` or before.
pub fn timer_range(at: Timestamp) -> Range<Vec<u8>> {
    vec![0x50]..after_prefix(&Writer::new(0x50).instant(at).done())
}

/// When a timer comes due, of its key; none: it is no timer's.
pub fn timer_at(key: &[u8]) -> Option<Timestamp> {
    match (key.first() == Some(&0x50)).then(|| Key::decode(key))? {
        Some(Key::Timer { at, .. }) => Some(at),
        Some(_) | None => None,
    }
}

/// All timers.
pub fn all_timers() -> Range<Vec<u8>> {
    vec![0x50]..vec![0x51]
}

/// Outbox rows from a sequence number on.
pub fn outbox_range(from: u64) -> Range<Vec<u8>> {
    Writer::new(0x80).u64(from).done()..vec![0x81]
}

/// Fences against attempts of a home, oldest first.
pub fn fence_ages(home: u16) -> Range<Vec<u8>> {
    let prefix = fence_age(home).done();
    let end = after_prefix(&prefix);
    prefix..end
}

fn work_range(prefix: Writer, after: Option<&WorkKey>) -> Range<Vec<u8>> {
    let end = after_prefix(&prefix.clone().done());
    let start = match after {
        Some(key) => after_prefix(&work(prefix, *key)),
        None => prefix.done(),
    };
    start..end
}

/// What the keys of ready steps start with.
pub(super) fn ready(org: &str, process: Option<&str>) -> Writer {
    all_or(Writer::new(0x30).text(org), process)
}

/// What the keys of open items start with.
pub(super) fn item(org: &str, assigned: &Assigned, process: Option<&str>) -> Writer {
    let writer = Writer::new(0x31).text(org);
    let writer = match assigned {
        Assigned::Group(group) => writer.byte(0).text(group),
        Assigned::Person(person) => writer.byte(1).text(person),
    };
    all_or(writer, process)
}

fn all_or(writer: Writer, process: Option<&str>) -> Writer {
    match process {
        None => writer.byte(0),
        Some(name) => writer.byte(1).text(name),
    }
}

/// A work key from its prefix and place.
pub(super) fn work(prefix: Writer, place: WorkKey) -> Vec<u8> {
    prefix.instant(place.since).run(place.run).u32(place.position).done()
}

/// What the keys of fences by age start with.
pub(super) fn fence_age(home: u16) -> Writer {
    Writer::new(0x62).u16(home)
}

/// What the keys of a run list start with.
pub(super) fn run_list(org: &str, facet: &Facet) -> Writer {
    let writer = Writer::new(0x40).text(org);
    match facet {
        Facet::All => writer.byte(0),
        Facet::Process(process) => writer.byte(1).text(process),
        Facet::State(state) => writer.byte(2).byte(state.tag()),
        Facet::ProcessState(process, state) => writer.byte(3).text(process).byte(state.tag()),
        Facet::Input(digest) => writer.byte(4).fixed(digest),
    }
}
