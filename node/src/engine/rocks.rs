//! The engine on `RocksDB`: one database for each node, a column family for each [`Family`], one write-ahead log.
//!
//! Group commit: a write is visible at once and goes into a buffer of the write-ahead log. One thread flushes: it takes
//! all calls that wait, writes and syncs the buffer once for all of them, and tells each. So a process that is killed
//! loses what was not flushed, as a machine without power does, and a test that kills can see a flush that is late.

use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rocksdb::{ColumnFamily, ColumnFamilyDescriptor, DB, DBRawIterator, ReadOptions, Snapshot, WriteBatch};
use self_cell::self_cell;

use super::condition::Keeper;
use super::rocks_options::{database_options, family_options, late_options};
use super::{Batch, Change, Condition, Engine, EngineError, FAMILIES, Family, Flushed, Look, Row};

/// When a flush was for so many, the next one waits for more to come.
const MANY: usize = 3;
/// How long it waits. On a disk that flushes fast the rest of the work is what there is too little time for.
const GATHER: Duration = Duration::from_millis(4);

/// An engine on `RocksDB`.
pub struct Rocks {
    /// `None` once closed.
    database: Arc<RwLock<Option<Arc<DB>>>>,
    flushes: Mutex<Option<Sender<Flushed>>>,
    flusher: Mutex<Option<JoinHandle<()>>>,
    keeper: Arc<Keeper>,
}

impl Rocks {
    /// Opens the store in `folder`, or makes it.
    pub fn open(folder: &Path) -> Result<Self, EngineError> {
        let families = FAMILIES.map(|family| ColumnFamilyDescriptor::new(name(family), family_options(family)));
        let opened = DB::open_cf_descriptors(&database_options(), folder, families).map_err(|e| {
            let text = e.to_string();
            // RocksDB has one code for all input errors; the lock shows in the text only.
            if text.contains("lock") || text.contains("LOCK") {
                EngineError::InUse(folder.display().to_string())
            } else {
                EngineError::Failed(text)
            }
        })?;
        for family in FAMILIES {
            for (name, value) in late_options() {
                opened.set_options_cf(handle(&opened, family)?, &[(name, &value)]).map_err(failed)?;
            }
        }
        let database = Arc::new(RwLock::new(Some(Arc::new(opened))));
        let (calls, waiting) = channel();
        #[cfg(not(feature = "late-flush"))]
        let flush = flush_all;
        #[cfg(feature = "late-flush")]
        let flush = flush_late;
        let keeper = Arc::new(Keeper::default());
        let (shared, kept) = (Arc::clone(&database), Arc::clone(&keeper));
        let thread = std::thread::Builder::new()
            .name("flush".to_owned())
            .spawn(move || flush(&shared, &kept, &waiting))
            .map_err(|e| EngineError::Failed(format!("cannot start the flushing thread: {e}")))?;
        Ok(Self { database, flushes: Mutex::new(Some(calls)), flusher: Mutex::new(Some(thread)), keeper })
    }

    fn with<T>(&self, work: impl FnOnce(&Arc<DB>) -> Result<T, EngineError>) -> Result<T, EngineError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        work(database.as_ref().ok_or(EngineError::Closed)?)
    }
}

/// Flushes for all who wait, until the engine is closed.
#[cfg_attr(feature = "late-flush", expect(dead_code, reason = "this build is late on purpose"))]
fn flush_all(database: &RwLock<Option<Arc<DB>>>, keeper: &Keeper, waiting: &Receiver<Flushed>) {
    let mut last = 0;
    while let Ok(first) = waiting.recv() {
        if last >= MANY {
            std::thread::sleep(GATHER);
        }
        // Whoever asks from here on may have written after the flush began, and waits for the next.
        let all: Vec<_> = std::iter::once(first).chain(waiting.try_iter()).collect();
        last = all.len();
        let result = flush_now(database, keeper);
        for done in all {
            done(result.clone());
        }
    }
}

/// A failed flush is the last: what it should have written may be lost, although a later one says that all is well.
fn flush_now(database: &RwLock<Option<Arc<DB>>>, keeper: &Keeper) -> Result<(), EngineError> {
    keeper.check()?;
    let held = database.read().unwrap_or_else(PoisonError::into_inner).clone();
    let held = held.ok_or(EngineError::Closed)?;
    keeper.note(keeper.timed(|| held.flush_wal(true)).map_err(failed))
}

/// Tells everyone at once and flushes some time later: the fault that the harness must find.
#[cfg(feature = "late-flush")]
fn flush_late(database: &RwLock<Option<Arc<DB>>>, keeper: &Keeper, waiting: &Receiver<Flushed>) {
    use std::sync::mpsc::RecvTimeoutError;
    const LATE: std::time::Duration = std::time::Duration::from_millis(300);
    let mut flush_at = std::time::Instant::now() + LATE;
    loop {
        match waiting.recv_timeout(flush_at.saturating_duration_since(std::time::Instant::now())) {
            Ok(done) => done(Ok(())),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                // Too late to tell anyone how it went.
                let _ = flush_now(database, keeper);
                flush_at = std::time::Instant::now() + LATE;
            }
        }
    }
}

fn name(family: Family) -> &'static str {
    match family {
        Family::Log => "log",
        Family::State => "state",
        Family::Meta => "meta",
    }
}

fn handle(database: &DB, family: Family) -> Result<&ColumnFamily, EngineError> {
    let name = name(family);
    database.cf_handle(name).ok_or_else(|| EngineError::Failed(format!("no column family {name}")))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(e: rocksdb::Error) -> EngineError {
    EngineError::Failed(e.to_string())
}

fn get(database: &DB, options: &ReadOptions, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
    database.get_cf_opt(handle(database, family)?, key, options).map_err(failed)
}

fn scan(
    database: &DB,
    mut options: ReadOptions,
    family: Family,
    range: Range<Vec<u8>>,
    reverse: bool,
    limit: usize,
) -> Result<Vec<Row>, EngineError> {
    if range.start >= range.end {
        return Ok(Vec::new());
    }
    options.set_iterate_range(range);
    let mut at: DBRawIterator<'_> = database.raw_iterator_cf_opt(handle(database, family)?, options);
    if reverse {
        at.seek_to_last();
    } else {
        at.seek_to_first();
    }
    let mut rows = Vec::new();
    while rows.len() < limit {
        let Some((key, value)) = at.item() else { break };
        rows.push((key.to_vec(), value.to_vec()));
        if reverse {
            at.prev();
        } else {
            at.next();
        }
    }
    at.status().map_err(failed)?;
    Ok(rows)
}

impl Look for Rocks {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.with(|database| get(database, &ReadOptions::default(), family, key))
    }

    fn scan(
        &self,
        family: Family,
        range: Range<Vec<u8>>,
        reverse: bool,
        limit: usize,
    ) -> Result<Vec<Row>, EngineError> {
        self.with(|database| scan(database, ReadOptions::default(), family, range, reverse, limit))
    }
}

impl Engine for Rocks {
    fn write(&self, batch: Batch) -> Result<(), EngineError> {
        self.keeper.check()?;
        self.keeper.note(self.with(|database| {
            let mut writes = WriteBatch::default();
            for change in batch.0 {
                match change {
                    Change::Put(family, key, value) => writes.put_cf(handle(database, family)?, key, value),
                    Change::Delete(family, key) => writes.delete_cf(handle(database, family)?, key),
                    Change::DeleteRange(family, range) => {
                        if range.start < range.end {
                            writes.delete_range_cf(handle(database, family)?, range.start, range.end);
                        }
                    }
                }
            }
            database.write(writes).map_err(failed)
        }))
    }

    fn flushed(&self, done: Flushed) {
        let flushes = self.flushes.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = match flushes.as_ref() {
            Some(flushes) => flushes.send(done).err().map(|e| e.0),
            None => Some(done),
        };
        drop(flushes);
        if let Some(done) = refused {
            done(Err(EngineError::Closed));
        }
    }

    fn condition(&self) -> Condition {
        self.keeper.condition()
    }

    fn view(&self) -> Result<Arc<dyn Look>, EngineError> {
        self.with(|database| Ok(Arc::new(View(Moment::new(Arc::clone(database), |held| held.snapshot()))) as _))
    }

    fn close(&self) -> Result<(), EngineError> {
        // Without its sender the flushing thread does what waits and ends.
        drop(self.flushes.lock().unwrap_or_else(PoisonError::into_inner).take());
        let flusher = self.flusher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(flusher) = flusher {
            flusher.join().map_err(|_| EngineError::Failed("the flushing thread panicked".to_owned()))?;
        }
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        match database {
            Some(database) => self.keeper.check().and_then(|()| database.flush_wal(true).map_err(failed)),
            None => Ok(()),
        }
    }
}

impl Drop for Rocks {
    fn drop(&mut self) {
        if let Err(e) = self.close() {
            tracing::error!(error = %e, "closing the store failed");
        }
    }
}

self_cell!(
    /// A snapshot together with the database it is of.
    struct Moment {
        owner: Arc<DB>,
        #[not_covariant]
        dependent: Snapshot,
    }
);

struct View(Moment);

impl View {
    fn with<T>(&self, work: impl FnOnce(&DB, ReadOptions) -> T) -> T {
        self.0.with_dependent(|database, snapshot| {
            let mut options = ReadOptions::default();
            options.set_snapshot(snapshot);
            work(database, options)
        })
    }
}

impl Look for View {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.with(|database, options| get(database, &options, family, key))
    }

    fn scan(
        &self,
        family: Family,
        range: Range<Vec<u8>>,
        reverse: bool,
        limit: usize,
    ) -> Result<Vec<Row>, EngineError> {
        self.with(|database, options| scan(database, options, family, range, reverse, limit))
    }
}
