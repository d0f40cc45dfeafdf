//! The log of one group: Raft entries and the vote in the engine.
//!
//! An entry's value is a checksum (CRC-32C over key and content, four bytes, little-endian), then its content. The
//! checksum is our own, over the key too: an entry that came to lie under another index is found as well.

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{Stream, StreamExt, stream};
use openraft::entry::RaftEntry as _;
use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::{LogState, OptionalSend, RaftLogReader};
use quorate_proto::{GroupId, codec};

use super::recent::Recent;
use super::types::{LogEntry, LogId, Types, Vote, damaged, name};
use crate::engine::keys::{self, MetaKey};
use crate::engine::{Batch, Engine, Family, Row, flush};

/// Entries that are read at once, in entries.
const READ_ENTRIES_MAX: u64 = 64;
/// Entries that are looked at together for a request to a peer, in entries.
const LOOK_ENTRIES: u64 = 16;
/// Entries of a request to a peer are read until they have this many bytes; the last may go beyond.
const READ_BYTES: usize = 512 << 10;

/// The log of one group.
#[derive(Clone)]
pub(super) struct Log {
    engine: Arc<dyn Engine>,
    group: GroupId,
    recent: Arc<Mutex<Recent>>,
}

impl Log {
    pub(super) fn new(engine: Arc<dyn Engine>, group: GroupId) -> Self {
        Self { engine, group, recent: Arc::default() }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn meta<T: serde::de::DeserializeOwned>(&self, key: MetaKey) -> io::Result<Option<T>> {
        let Some(bytes) = self.engine.get(Family::Meta, &key.encode())? else { return Ok(None) };
        let bad = |e| damaged(format!("{} of {} is not readable: {e}", row_name(key), name(self.group)));
        codec::decode(&bytes).map(Some).map_err(bad)
    }

    /// Entries from `start` to before `end`, none missing between two.
    fn entries(&self, start: u64, end: Option<u64>) -> io::Result<Vec<LogEntry>> {
        if let Some(recent) = end.and_then(|end| self.recent().all(start, end)) {
            return Ok(recent);
        }
        let rows = self.engine.scan(Family::Log, keys::log_range(self.group, start, end), false, usize::MAX)?;
        self.read(&rows)
    }

    fn read(&self, rows: &[Row]) -> io::Result<Vec<LogEntry>> {
        let entries: Vec<_> = rows.iter().map(|row| read_entry(self.group, row)).collect::<Result<_, _>>()?;
        let holes = entries.windows(2).any(|two| two[0].index() + 1 != two[1].index());
        if holes { Err(damaged(format!("the log of {} has a hole", name(self.group)))) } else { Ok(entries) }
    }
}

fn row_name(key: MetaKey) -> &'static str {
    match key {
        MetaKey::Store => "the store's description",
        MetaKey::Founding => "the node's place in its cluster",
        MetaKey::Vote(_) => "the vote",
        MetaKey::Purged(_) => "the end of the purged log",
        MetaKey::Applied(_) => "the end of the applied log",
        MetaKey::Condemned(_) => "the mark of a condemned state",
        MetaKey::Departed(_) => "the end of the deleted log",
    }
}

/// The row of an entry.
pub(super) fn write_entry(group: GroupId, entry: &LogEntry) -> Row {
    let key = keys::log(group, entry.index());
    let content = codec::encode(entry);
    let mut value = checksum(&key, &content).to_vec();
    value.extend(content);
    (key, value)
}

/// The entry of a row.
fn read_entry(group: GroupId, (key, value): &Row) -> io::Result<LogEntry> {
    let index = keys::log_index(key).map_or_else(|| "?".to_owned(), |index| index.to_string());
    let bad = |what: &str| damaged(format!("log entry {index} of {} is damaged: {what}", name(group)));
    let (sum, content) = value.split_at_checked(4).ok_or_else(|| bad("it has no checksum"))?;
    if sum != checksum(key, content) {
        return Err(bad("its checksum does not match"));
    }
    codec::decode(content).map_err(|e| bad(&e.0))
}

fn checksum(key: &[u8], content: &[u8]) -> [u8; 4] {
    crc32c::crc32c_append(crc32c::crc32c(key), content).to_le_bytes()
}

/// First index and the one after the last.
fn bounds(range: &impl RangeBounds<u64>) -> (u64, Option<u64>) {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.checked_add(1),
        Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => None,
    };
    (start, end)
}

impl RaftLogReader<Types> for Log {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<LogEntry>, io::Error> {
        let (start, end) = bounds(&range);
        self.entries(start, end)
    }

    /// Piece by piece: a replica that restarts far behind must not hold its whole log in memory.
    async fn entries_stream<RB>(&mut self, range: RB) -> impl Stream<Item = Result<LogEntry, io::Error>> + OptionalSend
    where
        RB: RangeBounds<u64> + Clone + Debug + OptionalSend,
    {
        let (start, end) = bounds(&range);
        let log = self.clone();
        let pieces = stream::unfold(Some(start), move |from| {
            let piece = from.filter(|from| end.is_none_or(|end| *from < end)).map(|from| {
                let to = from.saturating_add(READ_ENTRIES_MAX).min(end.unwrap_or(u64::MAX));
                match log.entries(from, Some(to)) {
                    Ok(entries) => {
                        let next = entries.last().map(|last| last.index() + 1);
                        (entries.into_iter().map(Ok).collect(), next)
                    }
                    Err(e) => (vec![Err(e)], None),
                }
            });
            std::future::ready(piece)
        });
        // Boxed: whoever applies wants to move it.
        Box::pin(pieces.flat_map(stream::iter))
    }

    /// What fits into one request to a peer.
    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<LogEntry>, io::Error> {
        let end = end.min(start.saturating_add(READ_ENTRIES_MAX));
        if let Some(recent) = self.recent().some(start, end, READ_BYTES) {
            return Ok(recent);
        }
        let (mut rows, mut bytes, mut from) = (Vec::new(), 0, start);
        while from < end && bytes < READ_BYTES {
            let to = from.saturating_add(LOOK_ENTRIES).min(end);
            for row in self.engine.scan(Family::Log, keys::log_range(self.group, from, Some(to)), false, usize::MAX)? {
                if bytes < READ_BYTES {
                    bytes += row.1.len();
                    rows.push(row);
                }
            }
            from = to;
        }
        self.read(&rows)
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, io::Error> {
        self.meta(MetaKey::Vote(self.group))
    }
}

impl RaftLogStorage<Types> for Log {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, io::Error> {
        let last_purged_log_id: Option<LogId> = self.meta(MetaKey::Purged(self.group))?;
        let last = self.engine.scan(Family::Log, keys::log_range(self.group, 0, None), true, 1)?;
        let last_log_id = match last.first() {
            Some(row) => Some(read_entry(self.group, row)?.log_id()),
            None => last_purged_log_id,
        };
        Ok(LogState { last_purged_log_id, last_log_id })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), io::Error> {
        let mut batch = Batch::default();
        batch.put(Family::Meta, MetaKey::Vote(self.group).encode(), codec::encode(vote));
        self.engine.write(batch)?;
        Ok(flush(self.engine.as_ref()).await?)
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Types>) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let (mut batch, mut appended) = (Batch::default(), Vec::new());
        for entry in entries {
            let (key, value) = write_entry(self.group, &entry);
            appended.push((value.len(), entry));
            batch.put(Family::Log, key, value);
        }
        self.engine.write(batch)?;
        let mut recent = self.recent();
        for (bytes, entry) in appended {
            recent.push(bytes, entry);
        }
        drop(recent);
        self.engine.flushed(Box::new(move |result| callback.io_completed(result.map_err(io::Error::from))));
        Ok(())
    }

    async fn truncate_after(&mut self, last_log_id: Option<LogId>) -> Result<(), io::Error> {
        let from = last_log_id.map_or(0, |last| last.index() + 1);
        let mut batch = Batch::default();
        batch.delete_range(Family::Log, keys::log_range(self.group, from, None));
        self.recent().cut_from(from);
        Ok(self.engine.write(batch)?)
    }

    /// Not flushed: what it removes was made unneeded by a state that was flushed before ([`super::snapshot`]).
    async fn purge(&mut self, log_id: LogId) -> Result<(), io::Error> {
        let mut batch = Batch::default();
        batch.put(Family::Meta, MetaKey::Purged(self.group).encode(), codec::encode(&log_id));
        batch.delete_range(Family::Log, keys::log_range(self.group, 0, Some(log_id.index() + 1)));
        self.recent().cut_to(log_id.index());
        Ok(self.engine.write(batch)?)
    }
}
