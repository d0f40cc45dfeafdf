//! Reads of a shard's state, for the edge. Every one checks the organization: another's rows look absent (AUTH-401).
//!
//! Before a read of runs or work, the edge asks [`due`] and proposes a `Tick` first when something is (TIMER-LATE).

use std::collections::BTreeMap;

use agentprocess::json::Value;
use agentprocess::time::Timestamp;
use quorate_proto::shard::Notification;
use quorate_proto::{Caller, Claim, FileId, RunId, Seen, codec};
use serde::de::DeserializeOwned;

use super::definitions::Definitions;
use super::fold::fold_rows;
use super::head::{Ended, Head};
use super::journal::Journal;
use super::keys::Key;
use super::ranges::{all_timers, outbox_range, timer_at, timer_range};
use super::timer::first_due;
use super::view;
use crate::store::{Fatal, Read};

pub use super::head::RunState;
pub use super::keys::{RunsKey, WorkKey};
pub use super::list::{RunFilter, RunItem, RunsPage, run_inputs, runs_page};
pub use super::rows::{FileRow, InstalledVersion, RequestRow};
pub use super::standing::{claim_stands, may_complete};
pub use super::work::{PageSize, WorkItem, WorkPage, work_page};

/// Where a run stands, for the edge: which version it pins and how far its journal goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPlace {
    /// The process.
    pub process: String,
    /// The pinned version.
    pub version: u32,
    /// Number of journal rows.
    pub revision: u64,
    /// How it ended, once it has.
    pub ended: Option<Ended>,
}

/// The run view as of `at`, without file urls.
pub fn get_run(
    store: &dyn Read,
    definitions: &Definitions,
    org: &str,
    run: RunId,
    at: Timestamp,
) -> Result<Option<Value>, Fatal> {
    let Some(head) = head(store, org, run)? else { return Ok(None) };
    let definition = definitions.of(store, &head)?;
    view::run(&head, &definition, &Journal::new(store, run), at).map(Some)
}

/// The run view at a revision: an original answer, and the same again when the call is repeated (IDEM-ORIGINAL).
///
/// `seen` comes out of a reply of this organization's own call or request row, never from a caller.
pub fn run_at(store: &dyn Read, definitions: &Definitions, seen: &Seen) -> Result<Value, Fatal> {
    let (head, journal) = head_at(store, seen)?;
    let definition = definitions.of(store, &head)?;
    view::run(&head, &definition, &journal, seen.at)
}

/// The result of `claim` without its token, as the claim saw the run.
pub fn claim_view(store: &dyn Read, definitions: &Definitions, seen: &Seen, claim: &Claim) -> Result<Value, Fatal> {
    let (head, journal) = head_at(store, seen)?;
    let definition = definitions.of(store, &head)?;
    view::claim(&head, &definition, &journal, claim)
}

/// Where a run stands.
pub fn run_place(store: &dyn Read, org: &str, run: RunId) -> Result<Option<RunPlace>, Fatal> {
    let found = head(store, org, run)?;
    Ok(found.map(|h| RunPlace { process: h.process, version: h.version, revision: h.revision, ended: h.ended }))
}

/// Whether time has something to do at `at`: to this run, or to any of the shard's.
pub fn due(store: &dyn Read, run: Option<RunId>, at: Timestamp) -> Result<bool, Fatal> {
    match run {
        Some(run) => Ok(any_head(store, run)?.is_some_and(|head| first_due(&head, at).is_some())),
        // Not `next_timer`: rows of later timers come and go all the time, and a scan beyond `at` would pass the removed ones.
        None => Ok(!store.scan(timer_range(at), false, 1)?.is_empty()),
    }
}

/// When time next has something to do.
pub fn next_timer(store: &dyn Read) -> Result<Option<Timestamp>, Fatal> {
    let Some((key, _)) = store.scan(all_timers(), false, 1)?.pop() else { return Ok(None) };
    match Key::decode(&key) {
        Some(Key::Timer { at, .. }) => Ok(Some(at)),
        Some(_) | None => Err(Fatal("a timer row without a timer key".to_owned())),
    }
}

/// The earliest timer among rows that were set.
pub fn first_set(writes: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) -> Option<Timestamp> {
    let (key, _) = writes.range(all_timers()).find(|(_, value)| value.is_some())?;
    timer_at(key)
}

/// Notifications to send from a sequence number on, oldest first, at most `limit`.
pub fn outbox(store: &dyn Read, from: u64, limit: usize) -> Result<Vec<(u64, Notification)>, Fatal> {
    let rows = store.scan(outbox_range(from), false, limit)?;
    let decode = |(key, value): (Vec<u8>, Vec<u8>)| match Key::decode(&key) {
        Some(Key::Outbox { sequence }) => Ok((sequence, codec::decode(&value)?)),
        Some(_) | None => Err(Fatal("an outbox row without an outbox key".to_owned())),
    };
    rows.into_iter().map(decode).collect()
}

/// One notification to send.
pub fn notification(store: &dyn Read, sequence: u64) -> Result<Option<Notification>, Fatal> {
    row(store, &Key::Outbox { sequence })
}

/// Who has a request id, if it is not free as far as this shard knows.
pub fn request(store: &dyn Read, org: &str, id: &str) -> Result<Option<RequestRow>, Fatal> {
    row(store, &Key::Request { org: org.to_owned(), id: id.to_owned() })
}

/// An uploaded file of this organization.
pub fn file(store: &dyn Read, org: &str, file: FileId) -> Result<Option<FileRow>, Fatal> {
    Ok(any_file(store, file)?.filter(|row| row.org == org))
}

/// One chunk of a file. Check with [`file`] whose it is first.
pub fn file_chunk(store: &dyn Read, file: FileId, index: u32) -> Result<Option<Vec<u8>>, Fatal> {
    store.get(&Key::FileChunk { file, index }.encode())
}

/// A version as this shard installed it.
pub fn version(store: &dyn Read, org: &str, process: &str, version: u32) -> Result<Option<InstalledVersion>, Fatal> {
    row(store, &Key::Version { org: org.to_owned(), process: process.to_owned(), version })
}

/// The shard's clock: the instant of its last entry.
pub fn clock(store: &dyn Read) -> Result<Timestamp, Fatal> {
    Ok(row(store, &Key::Clock)?.unwrap_or(Timestamp(0)))
}

/// The journal of a run, as the audit record: rows `after` a revision, at most `limit`.
pub fn journal(
    store: &dyn Read,
    org: &str,
    run: RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<std::sync::Arc<super::event::JournalRow>>, Fatal> {
    let Some(head) = head(store, org, run)? else { return Ok(Vec::new()) };
    let journal = Journal::new(store, run);
    (after + 1..=head.revision).take(limit).map(|revision| journal.row(revision)).collect()
}

/// The person value of a human caller: what assignments name; the identity's id when it has none (PERSON-VALUE).
pub fn person_value(caller: &Caller) -> &str {
    caller.person.as_deref().unwrap_or(&caller.id)
}

/// A run of this organization.
pub(super) fn head(store: &dyn Read, org: &str, run: RunId) -> Result<Option<Head>, Fatal> {
    Ok(any_head(store, run)?.filter(|head| head.org == org))
}

/// A run of any organization.
pub(super) fn any_head(store: &dyn Read, run: RunId) -> Result<Option<Head>, Fatal> {
    row(store, &Key::Head { run })
}

/// A file of any organization.
pub(super) fn any_file(store: &dyn Read, file: FileId) -> Result<Option<FileRow>, Fatal> {
    row(store, &Key::File { file })
}

/// A counter; 0 before its first use.
pub(super) fn counter(store: &dyn Read, key: &Key) -> Result<u64, Fatal> {
    Ok(row(store, key)?.unwrap_or(0))
}

/// A row.
pub(super) fn row<T: DeserializeOwned>(store: &dyn Read, key: &Key) -> Result<Option<T>, Fatal> {
    match store.get(&key.encode())? {
        Some(bytes) => Ok(Some(codec::decode(&bytes)?)),
        None => Ok(None),
    }
}

/// The run as it was: the head when nothing came after, else what the journal up to there makes.
fn head_at<'a>(store: &'a dyn Read, seen: &Seen) -> Result<(Head, Journal<'a>), Fatal> {
    let now = any_head(store, seen.run)?.ok_or_else(|| Fatal(format!("run {} is gone", seen.run)))?;
    let journal = Journal::new(store, seen.run);
    if now.revision == seen.revision {
        return Ok((now, journal));
    }
    let then = fold_rows(seen.run, (1..=seen.revision).map(|revision| journal.stored(revision)))?;
    Ok((then, journal))
}
