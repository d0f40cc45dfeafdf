//! Every key of a shard's rows, in one place.
//!
//! | Tag | Key | Value |
//! |---|---|---|
//! | 01 | `Clock` | the agreed instant ([`Timestamp`]) |
//! | 02 | `OutboxNext` | next outbox sequence (`u64`) |
//! | 03 | `AttemptLast` | last attempt number this shard gave as a home (`u64`) |
//! | 10 | `Version` organization, process, number | [`super::rows::InstalledVersion`] |
//! | 11 | `Definition` organization, process, number | [`super::rows::Definition`] |
//! | 20 | `Head` run | [`super::head::Head`] |
//! | 21 | `Journal` run, revision | [`super::event::JournalRow`] |
//! | 30 | `Ready` organization, all or process, ready since, run, position | nothing |
//! | 31 | `Item` organization, assignee, all or process, opened, run, position | nothing |
//! | 40 | `RunList` organization, facet, start (latest first), run | nothing |
//! | 50 | `Timer` instant, run, position, kind | nothing |
//! | 60 | `Request` organization, id | [`super::rows::RequestRow`] |
//! | 61 | `Fence` organization, id | no attempt up to this number takes effect here (`u64`) |
//! | 62 | `FenceAge` home shard, number | organization and id of the fence with the number (`(String, String)`) |
//! | 63 | `Fences` home shard | [`super::rows::Fences`] |
//! | 70 | `File` file | [`super::rows::FileRow`] |
//! | 71 | `FileChunk` file, index | the bytes |
//! | 80 | `Outbox` sequence | [`quorate_proto::shard::Notification`] |
//!
//! Rows 30 to 50 follow from the head of their run alone ([`super::index`]); rows 62 and 63 are there to bound rows 61
//! ([`super::request`]).

use agentprocess::time::Timestamp;
use quorate_proto::{Attempt, FileId, RunId};
use serde::{Deserialize, Serialize};

use super::bytes::{Reader, Writer};
use super::head::{Assigned, RunState};
use super::ranges::{fence_age, item, ready, run_list, work};
use super::timer::TimerKind;

/// A key. Encodings sort as the fields do, in the order given here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table above says what each part is")]
pub enum Key {
    Clock,
    OutboxNext,
    AttemptLast,
    Version { org: String, process: String, version: u32 },
    Definition { org: String, process: String, version: u32 },
    Head { run: RunId },
    Journal { run: RunId, revision: u64 },
    Ready { org: String, process: Option<String>, place: WorkKey },
    Item { org: String, assigned: Assigned, process: Option<String>, place: WorkKey },
    RunList { org: String, facet: Facet, place: RunsKey },
    Timer { at: Timestamp, run: RunId, position: u32, kind: TimerKind },
    Request { org: String, id: String },
    Fence { org: String, id: String },
    FenceAge { attempt: Attempt },
    Fences { home: u16 },
    File { file: FileId },
    FileChunk { file: FileId, index: u32 },
    Outbox { sequence: u64 },
}

/// Place of a row in a work list: oldest first, ties by run id, then list position (WORK-ORDER).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WorkKey {
    /// When the step became ready, or the work item was opened.
    pub since: Timestamp,
    /// The run.
    pub run: RunId,
    /// Position of the step in the file.
    pub position: u32,
}

/// Place of a row in a run list: newest start first, ties by id (RUNS-LIST).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsKey {
    /// When the run started.
    pub started: Timestamp,
    /// The run.
    pub run: RunId,
}

impl Ord for RunsKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.started.cmp(&self.started).then(self.run.cmp(&other.run))
    }
}
impl PartialOrd for RunsKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What a run list is narrowed to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Facet {
    /// Every run.
    All,
    /// Runs of a process.
    Process(String),
    /// Runs in a state.
    State(RunState),
    /// Runs of a process in a state.
    ProcessState(String, RunState),
    /// Runs with an input of this digest ([`super::data::input_digest`]).
    Input([u8; 16]),
}

impl Key {
    /// The key's bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Clock => Writer::new(0x01).done(),
            Self::OutboxNext => Writer::new(0x02).done(),
            Self::AttemptLast => Writer::new(0x03).done(),
            Self::Version { org, process, version } => Writer::new(0x10).text(org).text(process).u32(*version).done(),
            Self::Definition { org, process, version } => {
                Writer::new(0x11).text(org).text(process).u32(*version).done()
            }
            Self::Head { run } => Writer::new(0x20).run(*run).done(),
            Self::Journal { run, revision } => Writer::new(0x21).run(*run).u64(*revision).done(),
            Self::Ready { org, process, place } => work(ready(org, process.as_deref()), *place),
            Self::Item { org, assigned, process, place } => work(item(org, assigned, process.as_deref()), *place),
            Self::RunList { org, facet, place } => {
                run_list(org, facet).instant_reversed(place.started).run(place.run).done()
            }
            Self::Timer { at, run, position, kind } => {
                Writer::new(0x50).instant(*at).run(*run).u32(*position).byte(kind.tag()).done()
            }
            Self::Request { org, id } => Writer::new(0x60).text(org).text(id).done(),
            Self::Fence { org, id } => Writer::new(0x61).text(org).text(id).done(),
            Self::FenceAge { attempt } => fence_age(attempt.home).u64(attempt.number).done(),
            Self::Fences { home } => Writer::new(0x63).u16(*home).done(),
            Self::File { file } => Writer::new(0x70).file(*file).done(),
            Self::FileChunk { file, index } => Writer::new(0x71).file(*file).u32(*index).done(),
            Self::Outbox { sequence } => Writer::new(0x80).u64(*sequence).done(),
        }
    }

    /// The key of these bytes; `None` if they are not one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader(bytes);
        let key = match r.byte()? {
            0x01 => Self::Clock,
            0x02 => Self::OutboxNext,
            0x03 => Self::AttemptLast,
            0x10 => Self::Version { org: r.text()?, process: r.text()?, version: r.u32()? },
            0x11 => Self::Definition { org: r.text()?, process: r.text()?, version: r.u32()? },
            0x20 => Self::Head { run: r.run()? },
            0x21 => Self::Journal { run: r.run()?, revision: r.u64()? },
            0x30 => Self::Ready { org: r.text()?, process: read_process(&mut r)?, place: read_work(&mut r)? },
            0x31 => Self::Item {
                org: r.text()?,
                assigned: read_assigned(&mut r)?,
                process: read_process(&mut r)?,
                place: read_work(&mut r)?,
            },
            0x40 => Self::RunList {
                org: r.text()?,
                facet: read_facet(&mut r)?,
                place: RunsKey { started: r.instant_reversed()?, run: r.run()? },
            },
            0x50 => Self::Timer {
                at: r.instant()?,
                run: r.run()?,
                position: r.u32()?,
                kind: TimerKind::from_tag(r.byte()?)?,
            },
            0x60 => Self::Request { org: r.text()?, id: r.text()? },
            0x61 => Self::Fence { org: r.text()?, id: r.text()? },
            0x62 => Self::FenceAge { attempt: Attempt { home: r.u16()?, number: r.u64()? } },
            0x63 => Self::Fences { home: r.u16()? },
            0x70 => Self::File { file: r.file()? },
            0x71 => Self::FileChunk { file: r.file()?, index: r.u32()? },
            0x80 => Self::Outbox { sequence: r.u64()? },
            _ => return None,
        };
        r.end(key)
    }
}

#[expect(clippy::option_option, reason = "the outer one is whether the bytes fit")]
fn read_process(r: &mut Reader) -> Option<Option<String>> {
    match r.byte()? {
        0 => Some(None),
        1 => r.text().map(Some),
        _ => None,
    }
}

fn read_assigned(r: &mut Reader) -> Option<Assigned> {
    match r.byte()? {
        0 => r.text().map(Assigned::Group),
        1 => r.text().map(Assigned::Person),
        _ => None,
    }
}

fn read_work(r: &mut Reader) -> Option<WorkKey> {
    Some(WorkKey { since: r.instant()?, run: r.run()?, position: r.u32()? })
}

fn read_facet(r: &mut Reader) -> Option<Facet> {
    Some(match r.byte()? {
        0 => Facet::All,
        1 => Facet::Process(r.text()?),
        2 => Facet::State(RunState::from_tag(r.byte()?)?),
        3 => Facet::ProcessState(r.text()?, RunState::from_tag(r.byte()?)?),
        4 => Facet::Input(r.fixed()?),
        _ => return None,
    })
}
