//! One ordered store for all groups of a node: logs, states, and what Raft must remember about itself (design §7).
//!
//! Two engines, mirrored in tests: [`memory`] for tests and the simulation, `rocks` for use.
//!
//! Writes are visible at once and in order. What was written before a flush survives a crash together with everything
//! before it: a crash cuts the history of batches at one point and never takes a hole out of it. So only log
//! entries and votes wait for a flush; a batch of state is behind the log entries that made it, and they make it again.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "rocks")]
mod condition;
pub mod keys;
pub mod memory;
#[cfg(feature = "rocks")]
pub mod rocks;
#[cfg(feature = "rocks")]
mod rocks_options;
#[cfg(all(test, feature = "rocks"))]
mod rocks_tests;
#[cfg(test)]
pub(crate) mod tests;

pub use quorate_statemachine::store::Row;

/// A part of the store with its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Raft logs.
    Log,
    /// States of the groups.
    State,
    /// What Raft and the store remember about themselves.
    Meta,
}

/// All families.
pub const FAMILIES: [Family; 3] = [Family::Log, Family::State, Family::Meta];

/// How a store does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Why it failed, once it did. It takes nothing any more: after a failed flush nobody knows what is on the disk.
    pub failed: Option<String>,
    /// How long flushes take lately, or the one that is under way takes already.
    pub flush: Duration,
    /// Flushes since the start.
    pub flushes: u64,
    /// How long they took together.
    pub flushing: Duration,
}

/// One change of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets a key.
    Put(Family, Vec<u8>, Vec<u8>),
    /// Removes a key.
    Delete(Family, Vec<u8>),
    /// Removes every key of a range.
    DeleteRange(Family, Range<Vec<u8>>),
}

/// Changes that happen together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch(pub Vec<Change>);

impl Batch {
    /// Sets `key`.
    pub fn put(&mut self, family: Family, key: Vec<u8>, value: Vec<u8>) {
        self.0.push(Change::Put(family, key, value));
    }

    /// Removes `key`.
    pub fn delete(&mut self, family: Family, key: Vec<u8>) {
        self.0.push(Change::Delete(family, key));
    }

    /// About how much it writes, in bytes.
    pub fn bytes(&self) -> u64 {
        let bytes = |change: &Change| match change {
            Change::Put(_, key, value) => key.len() + value.len(),
            Change::Delete(_, key) => key.len(),
            Change::DeleteRange(_, range) => range.start.len() + range.end.len(),
        };
        self.0.iter().map(bytes).map(|bytes| bytes as u64).sum()
    }

    /// Removes all keys of `range`.
    pub fn delete_range(&mut self, family: Family, range: Range<Vec<u8>>) {
        self.0.push(Change::DeleteRange(family, range));
    }
}

/// What an engine can fail with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// It was closed.
    #[error("the store is closed")]
    Closed,
    /// Another process, or another part of this one, has the folder open.
    #[error("the data folder {0} is in use by another process or node")]
    InUse(String),
    /// The disk or the store failed.
    #[error("the store failed: {0}")]
    Failed(String),
}

impl From<EngineError> for std::io::Error {
    fn from(e: EngineError) -> Self {
        Self::other(e)
    }
}

impl From<EngineError> for quorate_statemachine::store::Fatal {
    fn from(e: EngineError) -> Self {
        Self(e.to_string())
    }
}

/// Reads, of what is now or of one moment.
pub trait Look: Send + Sync {
    /// The value under `key`.
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError>;

    /// At most `limit` rows of `range` in key order, or from its end when `reverse`.
    fn scan(&self, family: Family, range: Range<Vec<u8>>, reverse: bool, limit: usize)
    -> Result<Vec<Row>, EngineError>;
}

/// Told once that everything written before is durable, or that it cannot be.
pub type Flushed = Box<dyn FnOnce(Result<(), EngineError>) + Send>;

/// A store.
pub trait Engine: Look + 'static {
    /// Writes a batch: visible when this returns, durable after the next flush.
    fn write(&self, batch: Batch) -> Result<(), EngineError>;

    /// Calls `done` once everything written so far is durable. Calls that arrive together share one flush.
    fn flushed(&self, done: Flushed);

    /// How the store does.
    fn condition(&self) -> Condition {
        Condition::default()
    }

    /// A view of this moment that later writes do not change.
    fn view(&self) -> Result<Arc<dyn Look>, EngineError>;

    /// Flushes and lets go of the files. Everything after it fails with [`EngineError::Closed`]; views that are still
    /// held keep the files open.
    fn close(&self) -> Result<(), EngineError>;
}

/// Waits until everything written so far is durable.
pub async fn flush(engine: &dyn Engine) -> Result<(), EngineError> {
    let (tell, told) = tokio::sync::oneshot::channel();
    engine.flushed(Box::new(move |result| drop(tell.send(result))));
    told.await.unwrap_or(Err(EngineError::Closed))
}
