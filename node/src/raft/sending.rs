//! The snapshot that is being sent to peers, kept so that a transfer that breaks goes on where it was.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quorate_statemachine::transfer::Position;

use super::rows::Rows;
use super::types::SnapshotMeta;

/// How long a snapshot is kept after a chunk of it was taken: a link that breaks comes back before, or a new snapshot is sent.
const KEPT: Duration = Duration::from_mins(1);
/// How long one is kept at most. It keeps replaced rows on the disk, and the log behind it.
const KEPT_MAX: Duration = Duration::from_mins(15);

/// The snapshot that is being sent, while one is.
#[derive(Debug, Default)]
pub(super) struct Sending(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    meta: SnapshotMeta,
    rows: Rows,
    began: Instant,
    touched: Instant,
    /// Where each peer may be: behind the last chunk it took, or behind the one after, whose answer is not there.
    peers: BTreeMap<u64, [Position; 2]>,
}

impl Kept {
    fn lives(&self) -> bool {
        self.touched.elapsed() < KEPT && self.began.elapsed() < KEPT_MAX
    }
}

impl Sending {
    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|kept| !kept.lives()) {
            *kept = None;
        }
        kept
    }

    /// The snapshot that is being sent, for whoever is sent one now.
    pub(super) fn snapshot(&self) -> Option<(SnapshotMeta, Rows)> {
        self.kept().as_ref().map(|kept| (kept.meta.clone(), kept.rows.clone()))
    }

    /// Whether one is being sent: what is behind it must stay in the log. Looked at after each batch of entries, so that one
    /// that nobody takes any more is let go.
    pub(super) fn is_under_way(&self) -> bool {
        self.kept().is_some()
    }

    /// Keeps a snapshot that is to be sent, unless another one is under way.
    pub(super) fn keep(&self, meta: &SnapshotMeta, rows: &Rows) {
        let now = Instant::now();
        let new = || Kept { meta: meta.clone(), rows: rows.clone(), began: now, touched: now, peers: BTreeMap::new() };
        self.kept().get_or_insert_with(new);
    }

    /// Where a peer is in a snapshot: what it has says the checksum of the last chunk it took.
    pub(super) fn position(&self, meta: &SnapshotMeta, peer: u64, has: &[u8; 32]) -> Option<Position> {
        let kept = self.kept();
        let kept = kept.as_ref().filter(|kept| kept.meta == *meta)?;
        kept.peers.get(&peer)?.iter().find(|position| position.before() == has).cloned()
    }

    /// A peer is sent the chunk between two positions.
    pub(super) fn note(&self, meta: &SnapshotMeta, peer: u64, from: &Position, to: &Position) {
        if let Some(kept) = self.kept().as_mut().filter(|kept| kept.meta == *meta) {
            kept.touched = Instant::now();
            kept.peers.insert(peer, [from.clone(), to.clone()]);
        }
    }

    /// A peer has it all, or is sent nothing more.
    pub(super) fn done(&self, peer: u64) {
        let mut kept = self.kept();
        if let Some(present) = kept.as_mut() {
            present.peers.remove(&peer);
            if present.peers.is_empty() {
                *kept = None;
            }
        }
    }
}
