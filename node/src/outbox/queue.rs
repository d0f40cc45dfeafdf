//! What the leader of a shard knows of its outbox: which rows there are, and when each is tried next.
//!
//! Only a hint. The rows are in the state; a new leader starts with an empty queue and reads them again.

use std::collections::BTreeMap;
use std::time::Duration;

use agentprocess::time::Timestamp;
use tokio::time::Instant;

/// The first and the longest pause after a failure; each is twice the one before.
pub(super) type Pauses = (Duration, Duration);

/// The rows of one shard.
pub(super) struct Queue {
    pauses: Pauses,
    rows: BTreeMap<u64, Row>,
    /// Sequence number of the first row that was not read yet.
    next: u64,
}

struct Row {
    /// When it was written.
    at: Timestamp,
    /// When it is tried next.
    due: Instant,
    /// The pause after its last failure.
    pause: Duration,
}

impl Queue {
    pub(super) fn new(pauses: Pauses) -> Self {
        Self { pauses, rows: BTreeMap::new(), next: 0 }
    }

    /// Where reading goes on.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// A row was read.
    pub(super) fn learn(&mut self, sequence: u64, at: Timestamp, now: Instant) {
        self.rows.insert(sequence, Row { at, due: now, pause: Duration::ZERO });
        self.next = self.next.max(sequence + 1);
    }

    /// What is to be tried now, at most `limit`: first what has waited longest, so that no row is passed over for ever.
    pub(super) fn due(&self, now: Instant, limit: usize) -> Vec<u64> {
        let due = self.rows.iter().filter(|(_, row)| row.due <= now);
        let mut due: Vec<_> = due.map(|(sequence, row)| (row.due, *sequence)).collect();
        due.sort_unstable();
        due.into_iter().take(limit).map(|(_, sequence)| sequence).collect()
    }

    /// A row was not taken.
    pub(super) fn failed(&mut self, sequence: u64, now: Instant) {
        if let Some(row) = self.rows.get_mut(&sequence) {
            row.pause = longer(row.pause, self.pauses);
            row.due = now + row.pause;
        }
    }

    /// A row is no more.
    pub(super) fn gone(&mut self, sequence: u64) {
        self.rows.remove(&sequence);
    }

    /// The oldest rows beyond `max`.
    pub(super) fn beyond(&self, max: usize) -> Vec<u64> {
        self.rows.keys().take(self.rows.len().saturating_sub(max)).copied().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// When the oldest row was written.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.rows.values().next().map(|row| row.at)
    }
}

/// The pause after `last`.
pub(super) fn longer(last: Duration, (first, most): Pauses) -> Duration {
    if last.is_zero() { first } else { (last * 2).min(most) }
}
