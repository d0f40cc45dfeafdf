//! The five guarantees of §6, checked on what a shard holds: its journals, heads and rows.
//!
//! This is no second model of the rules. It reads each journal and asks of every fact whether a declared edge, a live
//! claim or a person stands behind it.

use std::collections::{BTreeMap, BTreeSet};

use agentprocess::time::Timestamp;
use agentprocess::{IssueList, Process, StepKind, Target};
use quorate_proto::codec;
use quorate_statemachine::shard::event::{Event, JournalRow, Record, WorkRecord};
use quorate_statemachine::shard::fold::fold_rows;
use quorate_statemachine::shard::head::Head;
use quorate_statemachine::shard::journal::Journal;
use quorate_statemachine::shard::keys::Key;
use quorate_statemachine::shard::rows::{Definition, InstalledVersion};
use quorate_statemachine::shard::{data, index};
use quorate_statemachine::store::{Fatal, Memory};

/// Every run with its journal and process.
pub struct State {
    pub runs: Vec<(Head, Vec<JournalRow>, Process)>,
    pub versions: BTreeMap<(String, u32), InstalledVersion>,
    pub definitions: BTreeMap<(String, u32), Definition>,
    indexes: BTreeSet<Vec<u8>>,
    clock: Timestamp,
}

pub fn read(store: &Memory) -> State {
    let (mut heads, mut journals) = (Vec::<Head>::new(), BTreeMap::<_, Vec<JournalRow>>::new());
    let (mut versions, mut definitions) = (BTreeMap::new(), BTreeMap::new());
    let (mut indexes, mut clock) = (BTreeSet::new(), Timestamp(0));
    for (key, value) in store.rows() {
        match Key::decode(key).unwrap() {
            Key::Head { .. } => heads.push(codec::decode(value).unwrap()),
            Key::Journal { run, revision } => {
                let rows = journals.entry(run).or_default();
                rows.push(codec::decode(value).unwrap());
                assert_eq!(rows.len() as u64, revision, "journal rows without a gap");
            }
            Key::Version { process, version, .. } => {
                versions.insert((process, version), codec::decode(value).unwrap());
            }
            Key::Definition { process, version, .. } => {
                definitions.insert((process, version), codec::decode::<Definition>(value).unwrap());
            }
            Key::Ready { .. } | Key::Item { .. } | Key::RunList { .. } | Key::Timer { .. } => {
                indexes.insert(key.to_vec());
            }
            Key::Clock => clock = codec::decode(value).unwrap(),
            Key::OutboxNext
            | Key::AttemptLast
            | Key::Request { .. }
            | Key::Fence { .. }
            | Key::FenceAge { .. }
            | Key::Fences { .. }
            | Key::File { .. }
            | Key::FileChunk { .. }
            | Key::Outbox { .. } => {}
        }
    }
    let with_rows = |head: Head| {
        let rows = journals.get(&head.run).unwrap().clone();
        let process = definitions[&(head.process.clone(), head.version)].process.clone();
        (head, rows, process)
    };
    State { runs: heads.into_iter().map(with_rows).collect(), versions, definitions, indexes, clock }
}

/// Heads follow from journals, and indexes from heads; sizes are what they say.
pub fn structure(store: &Memory, state: &State) {
    let mut expected = BTreeSet::new();
    for (head, rows, process) in &state.runs {
        assert_eq!(
            &fold_rows(head.run, rows.iter().map(Ok::<_, Fatal>)).unwrap(),
            head,
            "the head is what its journal makes"
        );
        expected.extend(index::rows(head));
        let run_data = data::run_data(head, process, &Journal::new(store, head.run)).unwrap();
        let held: u64 = head.held.iter().map(|h| h.bytes).sum();
        assert_eq!(data::bytes(head, process), run_data.to_string().len() as u64 + held, "bytes of {run_data}");
    }
    assert_eq!(state.indexes, expected, "the index rows are those of the heads");
}

/// The work lists of all callers are the ready steps and open items of the run views, no more and no less.
pub fn lists(world: &super::World, state: &State) {
    let (mut ready, mut items) = (BTreeSet::new(), BTreeSet::new());
    for (head, _, process) in &state.runs {
        for (step, found) in head.steps.iter().zip(&process.steps) {
            if step.state == Some(quorate_statemachine::shard::head::StepState::Ready) {
                ready.insert((head.run.to_string(), found.id.clone()));
            }
            if let Some(item) = &step.item {
                items.insert(quorate_proto::WorkItemId { run: head.run, number: item.number }.to_string());
            }
        }
    }
    let (mut listed_ready, mut listed_items) = (BTreeSet::new(), BTreeSet::new());
    for caller in super::ops::callers() {
        for work in world.work_of(&caller, None) {
            if super::has(&work, "workItem") {
                listed_items.insert(super::text(super::at(&work, "workItem"), "id"));
            } else {
                listed_ready.insert((super::text(&work, "runId"), super::text(&work, "stepId")));
            }
        }
    }
    assert_eq!(listed_ready, ready, "work lists: ready steps");
    assert_eq!(listed_items, items, "work lists: open items");
}

/// After a write or a tick, nothing that was due is left.
pub fn nothing_due(state: &State) {
    for key in &state.indexes {
        if let Some(Key::Timer { at, .. }) = Key::decode(key) {
            assert!(at > state.clock, "a timer was due and did not fire");
        }
    }
}

/// A published version never changes (§6.5).
pub fn immutable(before: &State, after: &State) {
    for (name, version) in &before.versions {
        assert_eq!(version.hash, after.versions[name].hash, "immutability: {name:?}");
    }
    for (name, definition) in &before.definitions {
        assert_eq!(definition, &after.definitions[name], "immutability: {name:?}");
    }
}

/// Order, one actor at a time, acceptance and people, over one journal (§6.1 to §6.4).
pub fn journal(rows: &[JournalRow], process: &Process, bytes_max: u64) {
    let mut walk = Walk {
        process,
        allowed: BTreeSet::new(),
        open: BTreeMap::new(),
        joined: BTreeSet::new(),
        kept: BTreeSet::new(),
        over: false,
    };
    let mut head: Option<Head> = None;
    for (revision, row) in (1..).zip(rows) {
        for (position, event) in (0..).zip(&row.events) {
            assert!(!walk.over, "order: something happened after the end: {event:?}");
            walk.event(row, event);
            let run = quorate_proto::RunId(quorate_proto::Unique { shard: 0, random: [0; 10] });
            match (&mut head, event) {
                (None, Event::Started(started)) => {
                    head = Some(quorate_statemachine::shard::fold::begin(run, row.at, started));
                }
                (None, other) => panic!("order: a journal begins with {other:?}"),
                (Some(head), event) => {
                    let place = quorate_statemachine::shard::head::Pointer { revision, index: position };
                    quorate_statemachine::shard::fold::fold(head, place, row.at, event).unwrap();
                    if matches!(event, Event::Completed { record: Record::Work(_), .. } | Event::EventHeld { .. }) {
                        assert!(data::bytes(head, process) <= bytes_max, "acceptance: over the cap");
                    }
                }
            }
        }
    }
}

/// Who has an open step.
#[derive(Clone, Debug, PartialEq)]
enum Holder {
    Ready,
    Agent(String, Timestamp),
    People,
    Server,
}

struct Walk<'a> {
    process: &'a Process,
    /// Steps that a declared edge has just led to.
    allowed: BTreeSet<usize>,
    open: BTreeMap<usize, Holder>,
    joined: BTreeSet<usize>,
    /// Approvals whose rejection is not answered yet.
    kept: BTreeSet<usize>,
    over: bool,
}

impl Walk<'_> {
    fn event(&mut self, row: &JournalRow, event: &Event) {
        match event {
            Event::Started(_) => {
                self.allowed.insert(0);
            }
            Event::Reached { step, claimable, .. } => {
                let step = *step as usize;
                assert!(self.allowed.remove(&step), "order: nothing leads to {}", self.process.steps[step].id);
                let kind = &self.process.steps[step].kind;
                assert_eq!(*claimable, matches!(kind, StepKind::Agent(_)), "people decide: who does step {step}");
                let holder = match kind {
                    StepKind::Agent(_) => Holder::Ready,
                    StepKind::Task { .. } | StepKind::Approve { .. } => Holder::People,
                    StepKind::Parallel { branches, .. } => {
                        self.allowed.extend(branches);
                        self.joined.clear();
                        Holder::Server
                    }
                    StepKind::Wait { .. }
                    | StepKind::WaitUntil { .. }
                    | StepKind::WaitFor { .. }
                    | StepKind::Finish { .. } => Holder::Server,
                };
                assert!(self.open.insert(step, holder).is_none(), "order: step {step} was open already");
            }
            Event::Claimed { step, holder, expires } => {
                let old = self.open.insert(*step as usize, Holder::Agent(holder.clone(), *expires));
                assert_eq!(old, Some(Holder::Ready), "one actor at a time: step {step}");
                assert!(holder.starts_with('a') && row.by == *holder, "people decide: {holder} claimed");
            }
            Event::Renewed { step, expires, .. } => {
                let Some(Holder::Agent(holder, until)) = self.open.get_mut(&(*step as usize)) else {
                    panic!("one actor at a time: renewed without a claim");
                };
                assert!(*holder == row.by && row.at < *until, "one actor at a time: renewed by {}", row.by);
                *until = *expires;
            }
            Event::LeaseEnded { step } => {
                let old = self.open.insert(*step as usize, Holder::Ready);
                let ended = matches!(old, Some(Holder::Agent(_, until)) if until <= row.at);
                assert!(ended, "one actor at a time: a lease ended early");
            }
            Event::Escalated { step, .. } => {
                let old = self.open.insert(*step as usize, Holder::People);
                let own = matches!(old, Some(Holder::Agent(holder, until)) if holder == row.by && row.at < until);
                assert!(own, "one actor at a time: escalated by {}", row.by);
            }
            Event::Returned { step, .. } => {
                let old = self.open.insert(*step as usize, Holder::Ready);
                assert_eq!(old, Some(Holder::People), "people decide: returned");
                assert!(is_person(&row.by), "people decide: {} returned", row.by);
            }
            Event::Completed { step, by, record, .. } => self.completed(row, *step as usize, by, record),
            Event::Passed { step } => self.passed(*step as usize),
            Event::Joined { entry, .. } => {
                assert!(self.joined.insert(*entry as usize), "order: a branch joined twice");
            }
            Event::Rewound { steps } => {
                for step in steps {
                    assert!(!self.open.contains_key(&(*step as usize)), "order: an open step was rewound");
                    assert!(!self.kept.contains(&(*step as usize)), "rework: an unanswered rejection was moved");
                }
            }
            Event::Ended { .. } => self.over = true,
            Event::ItemOpened { .. } | Event::Refused { .. } | Event::EventHeld { .. } | Event::Overdue { .. } => {}
        }
    }

    fn completed(&mut self, row: &JournalRow, step: usize, by: &str, record: &Record) {
        let found = &self.process.steps[step];
        if matches!(record, Record::Failed { .. }) && by == "server" {
            assert!(self.allowed.remove(&step), "order: failed without being reached");
            return;
        }
        let holder = self.open.remove(&step).unwrap_or_else(|| panic!("order: {} was not open", found.id));
        match holder {
            Holder::Ready => panic!("one actor at a time: {} completed unclaimed", found.id),
            Holder::Agent(holder, until) => {
                assert!(by == holder && row.by == holder, "one actor at a time: {by} completed {holder}'s step");
                assert!(row.at < until, "one actor at a time: completed after the lease");
            }
            Holder::People => assert!(is_person(by) && row.by == by, "people decide: {by} completed {}", found.id),
            Holder::Server => {}
        }
        if matches!(record, Record::Rejected { kept: true, .. }) {
            self.kept.insert(step)
        } else {
            self.kept.remove(&step)
        };
        if let Some(target) = self.target(step, record) {
            match target {
                Target::Step(next) => {
                    self.allowed.insert(next);
                }
                Target::Join => assert!(found.branch.is_some(), "order: a join outside a branch"),
            }
        }
    }

    /// The declared edge that a record takes.
    fn target(&self, step: usize, record: &Record) -> Option<Target> {
        match (&self.process.steps[step].kind, record) {
            (StepKind::Agent(work) | StepKind::Task { work, .. }, Record::Work(done)) => {
                accepted(work, done);
                Some(match &done.next {
                    Some(name) => self.process.chosen(&work.next, name).expect("acceptance: an allowed next"),
                    None => work.next.single().expect("acceptance: a next"),
                })
            }
            (StepKind::Approve { next, .. }, Record::Approved { .. }) => Some(*next),
            (StepKind::Approve { on_reject, .. }, Record::Rejected { .. }) => on_reject.map(Target::Step),
            (StepKind::Wait { next, .. } | StepKind::WaitUntil { next, .. }, Record::Waited) => Some(*next),
            (StepKind::WaitFor { on_timeout, .. }, Record::Waited) => Some(*on_timeout),
            (StepKind::WaitFor { next, .. }, Record::Delivered(_)) => Some(*next),
            (_, Record::Failed { .. }) => None,
            (kind, record) => panic!("acceptance: {record:?} on {kind:?}"),
        }
    }

    fn passed(&mut self, step: usize) {
        match &self.process.steps[step].kind {
            StepKind::Finish { .. } => assert!(self.allowed.remove(&step), "order: nothing leads to the finish"),
            StepKind::Parallel { branches, next } => {
                assert!(branches.iter().all(|b| self.joined.contains(b)), "order: joined too early");
                assert!(self.open.remove(&step).is_some(), "order: the parallel step was not open");
                self.allowed.insert(*next);
            }
            other => panic!("order: passed {other:?}"),
        }
    }
}

/// §6.3 on a record.
fn accepted(work: &agentprocess::Work, done: &WorkRecord) {
    let mut issues = IssueList::default();
    work.output.judge("output", &done.output, &mut issues);
    assert!(issues.is_empty(), "acceptance: {issues:?} {:?}", done.output);
    for kind in work.evidence.iter().flatten() {
        assert!(done.evidence.iter().any(|e| e.kind == *kind), "acceptance: no {kind} evidence");
    }
    for item in &done.evidence {
        let file = item.kind == agentprocess::EvidenceKind::File;
        assert_eq!(item.sha256.is_some(), file, "acceptance: a file is verified");
    }
    assert_eq!(work.next.single().is_some(), done.next.is_none(), "acceptance: next");
    assert_eq!(done.next.is_some(), done.reason.is_some(), "acceptance: reason");
}

fn is_person(id: &str) -> bool {
    ["rita", "fay", "olga", "sam"].contains(&id)
}
