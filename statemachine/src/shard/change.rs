//! A run being changed: a copy that a refusal drops.

use std::sync::Arc;

use agentprocess::json::Object;
use agentprocess::time::Timestamp;
use agentprocess::{Process, StepIndex};
use quorate_proto::shard::Notification;
use quorate_proto::{RunId, Seen, codec};

use super::definitions::Definitions;
use super::event::{Event, JournalRow, Started};
use super::fold::{begin, fold};
use super::head::{Head, Pointer};
use super::journal::Journal;
use super::keys::Key;
use super::ranges::timer_at;
use super::rows::{Definition, InstalledVersion};
use super::{index, read};
use crate::store::{Fatal, Read, Store};

/// Who acts when nobody called (BY-FORM).
pub const SERVER: &str = "server";

/// One run, the facts this entry adds to it, and what it needs to judge them.
pub struct Change<'a> {
    store: &'a dyn Read,
    before: Option<Head>,
    /// The run with the facts so far.
    pub head: Head,
    /// The pinned definition.
    pub definition: Arc<Definition>,
    /// The pinned version's role map as it is now (ROLE-VERSIONS).
    pub version: InstalledVersion,
    /// The agreed instant.
    pub at: Timestamp,
    /// The journal, with the row in the making.
    pub journal: Journal<'a>,
    notifications: Vec<Notification>,
}

impl<'a> Change<'a> {
    /// A change to a run that exists.
    pub fn open(store: &'a dyn Read, definitions: &Definitions, head: Head, at: Timestamp) -> Result<Self, Fatal> {
        let version = read::version(store, &head.org, &head.process, head.version)?
            .ok_or_else(|| Fatal(format!("run {} has no installed version", head.run)))?;
        let definition = definitions.of(store, &head)?;
        if definition.process.steps.len() != head.steps.len() {
            return Err(Fatal(format!("run {} and its definition differ in steps", head.run)));
        }
        let mut journal = Journal::new(store, head.run);
        journal.pending = Some((head.revision + 1, row(at)));
        let before = Some(head.clone());
        Ok(Self { store, before, head, definition, version, at, journal, notifications: Vec::new() })
    }

    /// A run that begins.
    pub fn begin(
        store: &'a dyn Read,
        definition: Arc<Definition>,
        version: InstalledVersion,
        (run, at): (RunId, Timestamp),
        started: Started,
    ) -> Self {
        let head = begin(run, at, &started);
        let mut journal = Journal::new(store, run);
        let events = vec![Event::Started(Box::new(started))];
        journal.pending = Some((1, JournalRow { events, ..row(at) }));
        Self { store, before: None, head, definition, version, at, journal, notifications: Vec::new() }
    }

    /// Adds a fact.
    pub fn emit(&mut self, event: Event) -> Result<(), Fatal> {
        let Some((revision, row)) = &mut self.journal.pending else {
            return Err(Fatal(format!("run {}: a fact outside an entry", self.head.run)));
        };
        let index = u32::try_from(row.events.len()).map_err(|_| Fatal("too many facts in one entry".to_owned()))?;
        fold(&mut self.head, Pointer { revision: *revision, index }, self.at, &event)?;
        row.events.push(event);
        Ok(())
    }

    /// Adds a notification about a step to the outbox; a test run has none (§3.3).
    pub fn notify(
        &mut self,
        kind: &str,
        step: StepIndex,
        (groups, people): (Vec<String>, Vec<String>),
        details: Object,
    ) {
        if self.head.test {
            return;
        }
        self.notifications.push(Notification {
            kind: kind.to_owned(),
            at: self.at,
            org: self.head.org.clone(),
            run: self.head.run,
            process: self.head.process.clone(),
            step: self.process().steps[step].id.clone(),
            groups,
            people,
            details: details.into(),
        });
    }

    /// The process.
    pub fn process(&self) -> &Process {
        &self.definition.process
    }

    /// Whether a fact was added.
    pub fn is_changed(&self) -> bool {
        self.journal.pending.as_ref().is_some_and(|(_, row)| !row.events.is_empty())
    }

    /// The run as this change leaves it.
    pub fn seen(&self) -> Seen {
        Seen { run: self.head.run, revision: self.head.revision, at: self.at }
    }

    /// The writes that store this change: one journal row, the head, and the index rows that differ.
    pub fn finish(self, by: &str, request: Option<&str>) -> Result<Writes, Fatal> {
        let mut writes = Writes::default();
        let Some((revision, mut row)) = self.journal.pending else {
            return Err(Fatal(format!("run {}: a change without an entry", self.head.run)));
        };
        by.clone_into(&mut row.by);
        row.request = request.map(str::to_owned);
        writes.put(&Key::Journal { run: self.head.run, revision }, codec::encode(&row));
        writes.put(&Key::Head { run: self.head.run }, codec::encode(&self.head));
        let old = self.before.as_ref().map(index::rows).unwrap_or_default();
        let new = index::rows(&self.head);
        writes.0.extend(old.difference(&new).map(|key| (key.clone(), None)));
        writes.0.extend(new.difference(&old).map(|key| (key.clone(), Some(Vec::new()))));
        if !self.notifications.is_empty() {
            let mut sequence = read::counter(self.store, &Key::OutboxNext)?;
            for notification in self.notifications {
                writes.put(&Key::Outbox { sequence }, codec::encode(&notification));
                sequence += 1;
            }
            writes.put(&Key::OutboxNext, codec::encode(&sequence));
        }
        Ok(writes)
    }
}

/// Row writes to be taken together; `None` deletes.
#[derive(Debug, Default)]
pub struct Writes(Vec<(Vec<u8>, Option<Vec<u8>>)>);

impl Writes {
    /// Sets a row.
    pub fn put(&mut self, key: &Key, value: Vec<u8>) {
        self.0.push((key.encode(), Some(value)));
    }

    /// Writes them.
    pub fn apply(self, store: &mut dyn Store) {
        for (key, value) in self.0 {
            match value {
                Some(value) => {
                    if let (Some(at), Some(known)) = (timer_at(&key), store.known()) {
                        known.timers_from = known.timers_from.map(|from| from.min(at));
                    }
                    store.put(key, value);
                }
                None => store.delete(key),
            }
        }
    }
}

fn row(at: Timestamp) -> JournalRow {
    JournalRow { at, by: String::new(), request: None, events: Vec::new() }
}
