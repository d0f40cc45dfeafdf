//! Reads of a run's journal, with the rows that are not written yet.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use agentprocess::time::Timestamp;
use quorate_proto::{RunId, codec};

use super::event::{Event, JournalRow};
use super::head::Pointer;
use super::keys::Key;
use crate::store::{Fatal, Read};

/// The journal of one run: stored rows as they are asked for, and the row being made.
pub struct Journal<'a> {
    store: &'a dyn Read,
    run: RunId,
    read: RefCell<BTreeMap<u64, Arc<JournalRow>>>,
    /// The row that the current entry is making, with its revision.
    pub(super) pending: Option<(u64, JournalRow)>,
}

impl<'a> Journal<'a> {
    /// The stored journal of a run.
    pub fn new(store: &'a dyn Read, run: RunId) -> Self {
        Self { store, run, read: RefCell::default(), pending: None }
    }

    /// What `f` makes of the event at `place`. A place without that event stops the replica.
    pub fn find<T>(&self, place: Pointer, f: impl FnOnce(&Event, Timestamp) -> Option<T>) -> Result<T, Fatal> {
        let wrong = || Fatal(format!("run {}: journal place {place:?} does not hold what points at it", self.run));
        let index = place.index as usize;
        if let Some((revision, row)) = &self.pending
            && *revision == place.revision
        {
            return row.events.get(index).and_then(|event| f(event, row.at)).ok_or_else(wrong);
        }
        let row = self.row(place.revision)?;
        row.events.get(index).and_then(|event| f(event, row.at)).ok_or_else(wrong)
    }

    /// A stored row.
    pub fn row(&self, revision: u64) -> Result<Arc<JournalRow>, Fatal> {
        if let Some(row) = self.read.borrow().get(&revision) {
            return Ok(Arc::clone(row));
        }
        let row = Arc::new(self.stored(revision)?);
        self.read.borrow_mut().insert(revision, Arc::clone(&row));
        Ok(row)
    }

    /// A stored row, for one look at it: it is not kept for another.
    pub(super) fn stored(&self, revision: u64) -> Result<JournalRow, Fatal> {
        let bytes = self.store.get(&Key::Journal { run: self.run, revision }.encode())?;
        let bytes = bytes.ok_or_else(|| Fatal(format!("run {} has no journal row {revision}", self.run)))?;
        Ok(codec::decode(&bytes)?)
    }
}
