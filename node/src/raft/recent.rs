//! The end of a group's log in memory. What peers are sent and what is applied was mostly appended just now: it need not be
//! looked up in the store and decoded again for each of them.

use std::collections::VecDeque;

use openraft::entry::RaftEntry as _;

use super::types::LogEntry;

/// Entries that are kept of each group, in bytes that they take in the store.
const BYTES_MAX: usize = 256 << 10;
/// Entries that are kept of each group, in entries.
const ENTRIES_MAX: usize = 256;

/// The last entries of a log, none missing between two.
#[derive(Default)]
pub(super) struct Recent {
    entries: VecDeque<(usize, LogEntry)>,
    bytes: usize,
}

impl Recent {
    /// Adds an entry that was appended, of so many bytes in the store.
    pub(super) fn push(&mut self, bytes: usize, entry: LogEntry) {
        if self.entries.back().is_some_and(|(_, last)| last.index() + 1 != entry.index()) {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.entries.push_back((bytes, entry));
        while self.bytes > BYTES_MAX || self.entries.len() > ENTRIES_MAX {
            let Some((bytes, _)) = self.entries.pop_front() else { break };
            self.bytes -= bytes;
        }
    }

    /// The log has nothing from `index` on any more.
    pub(super) fn cut_from(&mut self, index: u64) {
        while let Some((bytes, _)) = self.entries.pop_back_if(|(_, entry)| entry.index() >= index) {
            self.bytes -= bytes;
        }
    }

    /// The log has nothing up to `index` any more.
    pub(super) fn cut_to(&mut self, index: u64) {
        while let Some((bytes, _)) = self.entries.pop_front_if(|(_, entry)| entry.index() <= index) {
            self.bytes -= bytes;
        }
    }

    /// The entries from `start` to before `end`, if all are here.
    pub(super) fn all(&self, start: u64, end: u64) -> Option<Vec<LogEntry>> {
        let there = self.from(start)?.take(usize::try_from(end.saturating_sub(start)).ok()?);
        let there: Vec<_> = there.map(|(_, entry)| entry.clone()).collect();
        there.last().is_some_and(|last| last.index() + 1 == end).then_some(there)
    }

    /// Entries from `start` to before `end`, until they have `bytes_max` bytes; the last may go beyond. Nothing when the
    /// first is not here.
    pub(super) fn some(&self, start: u64, end: u64, bytes_max: usize) -> Option<Vec<LogEntry>> {
        let mut bytes = 0;
        let there = self.from(start)?.take_while(|(size, entry)| {
            let room = bytes < bytes_max && entry.index() < end;
            bytes += size;
            room
        });
        let there: Vec<_> = there.map(|(_, entry)| entry.clone()).collect();
        (!there.is_empty()).then_some(there)
    }

    fn from(&self, start: u64) -> Option<impl Iterator<Item = &(usize, LogEntry)>> {
        let (_, first) = self.entries.front()?;
        let skipped = usize::try_from(start.checked_sub(first.index())?).ok()?;
        Some(self.entries.iter().skip(skipped))
    }
}

#[cfg(all(test, not(madsim)))]
mod tests {
    use super::super::types::{LogId, Vote};
    use super::*;

    fn entry(index: u64) -> LogEntry {
        LogEntry::new_blank(LogId::new(Vote::new_committed(1, 1).leader_id, index))
    }

    fn recent(indexes: std::ops::Range<u64>, bytes: usize) -> Recent {
        let mut recent = Recent::default();
        indexes.for_each(|index| recent.push(bytes, entry(index)));
        recent
    }

    fn indexes(entries: Option<Vec<LogEntry>>) -> Option<Vec<u64>> {
        entries.map(|entries| entries.iter().map(LogEntry::index).collect())
    }

    #[test]
    fn what_is_not_whole_is_not_told() {
        let recent = recent(5..9, 10);
        assert_eq!(indexes(recent.all(6, 8)), Some(vec![6, 7]));
        assert_eq!(indexes(recent.all(5, 9)), Some(vec![5, 6, 7, 8]));
        for (start, end) in [(4, 8), (6, 10), (9, 10), (0, 3), (7, 7)] {
            assert_eq!(recent.all(start, end), None, "{start}..{end}");
        }
        assert_eq!(indexes(recent.some(6, 20, 1000)), Some(vec![6, 7, 8]));
        assert_eq!(indexes(recent.some(6, 20, 11)), Some(vec![6, 7]), "the last may go beyond");
        assert_eq!(indexes(recent.some(6, 7, 1000)), Some(vec![6]));
        assert_eq!((recent.some(4, 7, 1000), recent.some(9, 12, 1000)), (None, None));
    }

    #[test]
    fn what_is_cut_is_gone() {
        let mut recent = recent(5..15, 10);
        recent.cut_from(12);
        recent.cut_to(6);
        assert_eq!(indexes(recent.some(7, 99, 1000)), Some(vec![7, 8, 9, 10, 11]));
        assert_eq!((recent.some(6, 99, 1000), recent.bytes), (None, 50));
        recent.push(10, entry(12));
        assert_eq!(indexes(recent.all(11, 13)), Some(vec![11, 12]));
        // Where the log goes on elsewhere, nothing before it counts.
        recent.push(10, entry(20));
        assert_eq!((recent.all(12, 13), indexes(recent.all(20, 21)), recent.bytes), (None, Some(vec![20]), 10));
    }

    #[test]
    fn it_holds_a_bounded_amount() {
        let many = recent(1..1000, 1);
        assert_eq!(many.entries.len(), ENTRIES_MAX);
        let large = recent(1..10, BYTES_MAX / 2);
        assert_eq!((large.entries.len(), large.bytes), (2, BYTES_MAX));
        let mut huge = large;
        huge.push(BYTES_MAX + 1, entry(10));
        assert_eq!((huge.entries.len(), huge.bytes), (0, 0));
        huge.push(1, entry(11));
        assert_eq!(indexes(huge.all(11, 12)), Some(vec![11]));
    }
}
