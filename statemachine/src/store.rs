//! The ordered key-value store under a group's state.

use std::collections::BTreeMap;
use std::ops::Range;

use agentprocess::time::Timestamp;

/// A row: key and value.
pub type Row = (Vec<u8>, Vec<u8>);

/// The engine failed or its bytes are not what this build wrote: the replica stops (never a refusal).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal(pub String);

impl std::fmt::Display for Fatal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Fatal {}

impl From<quorate_proto::codec::BadBytes> for Fatal {
    fn from(e: quorate_proto::codec::BadBytes) -> Self {
        Self(e.to_string())
    }
}

/// What is known of a shard's rows without a look at them, since this process has written them. Nothing is known at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The shard's clock.
    pub clock: Option<Timestamp>,
    /// No timer comes due before.
    pub timers_from: Option<Timestamp>,
}

/// Reads of one group's state at one moment.
pub trait Read {
    /// The value under `key`.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fatal>;

    /// At most `limit` rows of `range` in key order, or from its end when `reverse`.
    fn scan(&self, range: Range<Vec<u8>>, reverse: bool, limit: usize) -> Result<Vec<Row>, Fatal>;
}

/// Reads and writes of one group's state.
pub trait Store: Read {
    /// Sets `key`.
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>);
    /// Removes `key`.
    fn delete(&mut self, key: Vec<u8>);
    /// What is known of the rows, where it is kept.
    fn known(&mut self) -> Option<&mut Known> {
        None
    }
}

/// The memory engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Memory {
    /// All rows in key order.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.rows.iter().map(|(k, v)| (k.as_slice(), v.as_slice()))
    }
}

impl Read for Memory {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
        Ok(self.rows.get(key).cloned())
    }

    fn scan(&self, range: Range<Vec<u8>>, reverse: bool, limit: usize) -> Result<Vec<Row>, Fatal> {
        if range.start >= range.end {
            return Ok(Vec::new());
        }
        let rows = self.rows.range(range).map(|(k, v)| (k.clone(), v.clone()));
        Ok(if reverse { rows.rev().take(limit).collect() } else { rows.take(limit).collect() })
    }
}

impl Store for Memory {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.rows.insert(key, value);
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.rows.remove(&key);
    }
}

/// Writes held over a store until they are taken as one batch: what one entry changes, all or nothing.
pub struct Overlay<'a> {
    under: &'a dyn Read,
    writes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    known: Known,
}

impl<'a> Overlay<'a> {
    /// An empty overlay.
    pub fn new(under: &'a dyn Read) -> Self {
        Self::knowing(under, Known::default())
    }

    /// An empty overlay, and what is known of the rows under it.
    pub fn knowing(under: &'a dyn Read, known: Known) -> Self {
        Self { under, writes: BTreeMap::new(), known }
    }

    /// The writes in key order; `None` deletes. And what is known of the rows once they are written.
    pub fn into_writes(self) -> (BTreeMap<Vec<u8>, Option<Vec<u8>>>, Known) {
        (self.writes, self.known)
    }
}

impl Read for Overlay<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
        match self.writes.get(key) {
            Some(held) => Ok(held.clone()),
            None => self.under.get(key),
        }
    }

    fn scan(&self, range: Range<Vec<u8>>, reverse: bool, limit: usize) -> Result<Vec<Row>, Fatal> {
        if range.start >= range.end {
            return Ok(Vec::new());
        }
        let held = self.writes.range(range.clone());
        // Each held write can hide at most one row below, so this many suffice.
        let deletes = held.clone().filter(|(_, v)| v.is_none()).count();
        let mut rows: BTreeMap<_, _> =
            self.under.scan(range, reverse, limit.saturating_add(deletes))?.into_iter().collect();
        for (key, value) in held {
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
                None => rows.remove(key),
            };
        }
        Ok(if reverse { rows.into_iter().rev().take(limit).collect() } else { rows.into_iter().take(limit).collect() })
    }
}

impl Store for Overlay<'_> {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.writes.insert(key, Some(value));
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.writes.insert(key, None);
    }

    fn known(&mut self) -> Option<&mut Known> {
        Some(&mut self.known)
    }
}
