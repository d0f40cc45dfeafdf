//! The engine in memory, for tests and the simulation: no threads, no files, and a crash that loses what was not flushed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Batch, Change, Engine, EngineError, FAMILIES, Family, Flushed, Look, Row};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// An engine in memory.
#[derive(Debug, Default)]
pub struct Memory {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// What reads see. Shared with views until the next write.
    now: Rows,
    /// What a crash leaves.
    durable: Rows,
    /// Written and not flushed, in order.
    waiting: Vec<Batch>,
    closed: bool,
}

/// One map for each of [`FAMILIES`].
#[derive(Clone, Debug, Default)]
struct Rows([Arc<Map>; FAMILIES.len()]);

impl Memory {
    /// An empty engine.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a restart finds after this moment's crash: everything flushed and nothing else.
    #[must_use]
    pub fn crashed(&self) -> Self {
        let durable = self.lock().durable.clone();
        Self { inner: Mutex::new(Inner { now: durable.clone(), durable, ..Inner::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Holders only insert and remove: what a panic elsewhere left behind is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<MutexGuard<'_, Inner>, EngineError> {
        let inner = self.lock();
        if inner.closed { Err(EngineError::Closed) } else { Ok(inner) }
    }
}

impl Rows {
    fn of(&self, family: Family) -> &Map {
        match family {
            Family::Log => &self.0[0],
            Family::State => &self.0[1],
            Family::Meta => &self.0[2],
        }
    }

    fn change(&mut self, family: Family) -> &mut Map {
        Arc::make_mut(match family {
            Family::Log => &mut self.0[0],
            Family::State => &mut self.0[1],
            Family::Meta => &mut self.0[2],
        })
    }

    fn apply(&mut self, batch: &Batch) {
        for change in &batch.0 {
            match change {
                Change::Put(family, key, value) => {
                    self.change(*family).insert(key.clone(), value.clone());
                }
                Change::Delete(family, key) => {
                    self.change(*family).remove(key);
                }
                Change::DeleteRange(family, range) => {
                    if range.start < range.end {
                        let map = self.change(*family);
                        let keys: Vec<_> = map.range(range.clone()).map(|(key, _)| key.clone()).collect();
                        for key in keys {
                            map.remove(&key);
                        }
                    }
                }
            }
        }
    }
}

impl Look for Rows {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.of(family).get(key).cloned())
    }

    fn scan(
        &self,
        family: Family,
        range: Range<Vec<u8>>,
        reverse: bool,
        limit: usize,
    ) -> Result<Vec<Row>, EngineError> {
        if range.start >= range.end {
            return Ok(Vec::new());
        }
        let rows = self.of(family).range(range).map(|(key, value)| (key.clone(), value.clone()));
        Ok(if reverse { rows.rev().take(limit).collect() } else { rows.take(limit).collect() })
    }
}

impl Look for Memory {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.open()?.now.get(family, key)
    }

    fn scan(
        &self,
        family: Family,
        range: Range<Vec<u8>>,
        reverse: bool,
        limit: usize,
    ) -> Result<Vec<Row>, EngineError> {
        self.open()?.now.scan(family, range, reverse, limit)
    }
}

impl Engine for Memory {
    fn write(&self, batch: Batch) -> Result<(), EngineError> {
        let mut inner = self.open()?;
        inner.now.apply(&batch);
        inner.waiting.push(batch);
        Ok(())
    }

    fn flushed(&self, done: Flushed) {
        let result = self.open().map(|mut inner| {
            let inner = &mut *inner;
            for batch in inner.waiting.drain(..) {
                inner.durable.apply(&batch);
            }
        });
        // Outside of the lock: `done` may come back here.
        done(result);
    }

    fn view(&self) -> Result<Arc<dyn Look>, EngineError> {
        Ok(Arc::new(self.open()?.now.clone()))
    }

    fn close(&self) -> Result<(), EngineError> {
        self.flushed(Box::new(|_| ()));
        self.lock().closed = true;
        Ok(())
    }
}
