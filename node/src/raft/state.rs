//! The state of one group: applies committed entries and writes what they change in one batch with how far they go.

use std::io;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::{Stream, StreamExt};
use openraft::entry::RaftEntry as _;
use openraft::storage::{ApplyResponder, EntryResponder, RaftSnapshotBuilder, RaftStateMachine};
use openraft::{EntryPayload, OptionalSend, StoredMembership};
use quorate_proto::{Command, GroupId, Outcome};
use quorate_statemachine::Machine;
use quorate_statemachine::shard::read::first_set;
use quorate_statemachine::store::{Fatal, Known, Overlay};
use tokio::sync::Notify;

use super::rows::{Applied, Rows};
use super::sending::Sending;
use super::snapshot::{Content, Staging, one_generation};
use super::types::{LogEntry, LogId, Membership, Snapshot, SnapshotMeta, Types, name};
use crate::engine::{Batch, Engine, Family, flush, keys};

/// Entries whose changes go into one batch, in entries.
const APPLY_ENTRIES_MAX: usize = 64;

/// The state of one group. Clones are the same state; one of them applies.
#[derive(Clone)]
pub(crate) struct State {
    engine: Arc<dyn Engine>,
    group: GroupId,
    machine: Machine,
    applied: Applied,
    /// Of the state that was applied last.
    known: Known,
    watch: Arc<Watch>,
    /// Whether nothing is written any more. Held while something is.
    ended: Arc<Mutex<bool>>,
}

/// What clones and others share of a state.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The generation that was used last, by the state or for a snapshot that arrives.
    generation: AtomicU32,
    /// How much was written since the log was last made shorter for its size, in bytes.
    pub(super) written: AtomicU64,
    /// Told after a batch that changes when the first timer comes due, or may do so. One waits: the timers.
    pub(super) changed: Notify,
    /// The first timer that whoever waits knows of, in milliseconds; 0 when it knows nothing, and is told of every batch.
    pub(super) first_timer: AtomicI64,
    /// Why the replica stopped, once it did.
    pub(super) fatal: OnceLock<String>,
    /// The state as of the last check, and its index, until a digest is made of it ([`super::check`]).
    check: Mutex<Option<(u64, Rows)>>,
    /// The snapshot that peers are sent.
    pub(super) sending: Sending,
}

impl Watch {
    /// The state that is to be checked, if one is.
    pub(super) fn to_check(&self) -> Option<(u64, Rows)> {
        self.check.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl State {
    pub(super) fn open(
        engine: Arc<dyn Engine>,
        group: GroupId,
        machine: Machine,
        watch: Arc<Watch>,
    ) -> Result<Self, Fatal> {
        let applied = Applied::read(engine.view()?.as_ref(), group)?;
        // A snapshot that was not finished before the last stop.
        let mut batch = Batch::default();
        batch.delete_range(Family::State, keys::generations(group, 0, Some(applied.generation)));
        if let Some(next) = applied.generation.checked_add(1) {
            batch.delete_range(Family::State, keys::generations(group, next, None));
        }
        engine.write(batch)?;
        watch.generation.store(applied.generation, Ordering::Relaxed);
        Ok(Self { engine, group, machine, applied, known: Known::default(), watch, ended: Arc::default() })
    }

    /// From now on nothing is written, whatever is still under way: Raft does not wait for it when it stops.
    pub(super) fn end(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn write(&self, batch: Batch) -> Result<(), Fatal> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if *ended { Err(Fatal("the replica has left this node".to_owned())) } else { Ok(self.engine.write(batch)?) }
    }

    /// A replica that cannot go on says why once, clearly, and stops.
    fn stop(&self, fatal: &Fatal) -> io::Error {
        let text = format!("{} stops on this node: {fatal}", name(self.group));
        if *self.ended.lock().unwrap_or_else(PoisonError::into_inner) {
            return io::Error::other(text);
        }
        tracing::error!(group = %name(self.group), reason = %fatal, "a replica stops");
        drop(self.watch.fatal.set(text.clone()));
        io::Error::other(text)
    }

    fn apply_all(&mut self, mut entries: Vec<EntryResponder<Types>>) -> Result<(), Fatal> {
        while !entries.is_empty() {
            // A check is of the state as of its entry: it ends a batch.
            let check = entries.iter().position(|(entry, _)| is_check(entry));
            let later = entries.split_off(check.map_or(entries.len(), |at| at + 1));
            self.apply_batch(entries)?;
            if check.is_some() {
                self.keep_for_check()?;
            }
            entries = later;
        }
        Ok(())
    }

    fn keep_for_check(&self) -> Result<(), Fatal> {
        let rows = Rows::new(self.engine.view()?, self.group, self.applied.generation);
        let index = self.applied.last.map_or(0, |last| last.index());
        *self.watch.check.lock().unwrap_or_else(PoisonError::into_inner) = Some((index, rows));
        Ok(())
    }

    fn apply_batch(&mut self, entries: Vec<EntryResponder<Types>>) -> Result<(), Fatal> {
        // Nobody else writes this group's state, so the engine's present is this state.
        let engine: Arc<dyn Engine> = Arc::clone(&self.engine);
        let rows = Rows::new(engine, self.group, self.applied.generation);
        let mut overlay = Overlay::knowing(&rows, self.known);
        let mut applied = self.applied.clone();
        let mut answers = Vec::with_capacity(entries.len());
        for (entry, responder) in entries {
            let answer = apply_one(&self.machine, &mut overlay, &mut applied, &entry)?;
            answers.extend(responder.map(|responder| (responder, answer)));
        }
        let (writes, known) = overlay.into_writes();
        let mut batch = Batch::default();
        let timer = first_set(&writes).map_or(i64::MAX, |first| first.0);
        rows.write(&mut batch, writes);
        applied.write(&mut batch, self.group);
        self.watch.written.fetch_add(batch.bytes(), Ordering::Relaxed);
        self.write(batch)?;
        (self.applied, self.known) = (applied, known);
        // After the write: who looks at the timers says first that it knows nothing.
        let awaited = self.watch.first_timer.load(Ordering::SeqCst);
        if awaited == 0 || timer < awaited {
            self.watch.changed.notify_one();
        }
        self.watch.sending.is_under_way();
        for (responder, answer) in answers {
            ApplyResponder::send(responder, answer);
        }
        Ok(())
    }

    /// The present state as a snapshot: a view, no copy. Flushed, so that the log behind it may go.
    async fn snapshot(&self) -> io::Result<Snapshot> {
        let (rows, applied) = Rows::present(self.engine.view()?, self.group).map_err(io::Error::other)?;
        flush(self.engine.as_ref()).await?;
        let meta = SnapshotMeta { last_log_id: applied.last, last_membership: applied.membership };
        Ok(Snapshot { meta, snapshot: Content::Rows(rows) })
    }

    /// Room for a snapshot beside the present state.
    pub(super) fn stage(&self) -> Staging {
        let generation = self.watch.generation.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Staging::new(Arc::clone(&self.engine), self.group, generation)
    }
}

fn is_check(entry: &LogEntry) -> bool {
    matches!(&entry.payload, EntryPayload::Normal(proposal) if proposal.0.command == Command::Check)
}

fn apply_one(
    machine: &Machine,
    overlay: &mut Overlay<'_>,
    applied: &mut Applied,
    entry: &LogEntry,
) -> Result<Option<Outcome>, Fatal> {
    applied.last = Some(entry.log_id());
    match &entry.payload {
        EntryPayload::Blank => Ok(None),
        EntryPayload::Normal(proposal) => machine
            .apply(overlay, &proposal.0)
            .map(Some)
            .map_err(|e| Fatal(format!("entry {} cannot be applied: {e}", entry.index()))),
        EntryPayload::Membership(membership) => {
            applied.membership = StoredMembership::new(applied.last, membership.clone());
            Ok(None)
        }
    }
}

impl RaftStateMachine<Types> for State {
    type SnapshotData = Content;
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Membership), io::Error> {
        Ok((self.applied.last, self.applied.membership.clone()))
    }

    async fn apply<Strm>(&mut self, entries: Strm) -> Result<(), io::Error>
    where
        Strm: Stream<Item = Result<EntryResponder<Types>, io::Error>> + Unpin + OptionalSend,
    {
        let mut pieces = entries.chunks(APPLY_ENTRIES_MAX);
        while let Some(piece) = pieces.next().await {
            let piece = piece.into_iter().collect::<io::Result<Vec<_>>>();
            let piece = piece.map_err(|e| self.stop(&Fatal(e.to_string())))?;
            self.apply_all(piece).map_err(|e| self.stop(&e))?;
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    /// None while one is being sent: with it the log would go that its receiver needs next, and it would be sent the next
    /// snapshot, without end.
    async fn try_create_snapshot_builder(&mut self, force: bool) -> Option<Self> {
        (force || !self.watch.sending.is_under_way()).then(|| self.clone())
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, snapshot: Content) -> Result<(), io::Error> {
        let staged = match snapshot {
            Content::Staged(staged) => staged,
            Content::Rows(rows) => self.stage().copy(&rows).map_err(io::Error::other)?,
        };
        let old = self.applied.generation;
        let (last, membership) = (meta.last_log_id, meta.last_membership.clone());
        let applied = Applied { last, membership, generation: staged.take() };
        let mut batch = Batch::default();
        applied.write(&mut batch, self.group);
        batch.delete_range(Family::State, one_generation(self.group, old));
        self.write(batch).map_err(io::Error::other)?;
        flush(self.engine.as_ref()).await?;
        (self.applied, self.known) = (applied, Known::default());
        self.watch.changed.notify_one();
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot>, io::Error> {
        // One that was begun goes on.
        if let Some((meta, rows)) = self.watch.sending.snapshot() {
            return Ok(Some(Snapshot { meta, snapshot: Content::Rows(rows) }));
        }
        if self.applied.last.is_none() { Ok(None) } else { self.snapshot().await.map(Some) }
    }
}

impl RaftSnapshotBuilder<Types> for State {
    type SnapshotData = Content;

    async fn build_snapshot(&mut self) -> Result<Snapshot, io::Error> {
        self.snapshot().await
    }
}
