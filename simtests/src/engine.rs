//! The engine of a simulated node: in memory, and with `--late-flush` one that answers before it flushes.

use std::ops::Range;
use std::sync::Arc;

use quorate::engine::memory::Memory;
use quorate::engine::{Batch, Engine, EngineError, Family, Flushed, Look, Row};

/// A node's disk.
pub(crate) struct Disk {
    memory: Memory,
    late: bool,
}

impl Disk {
    /// An empty disk.
    pub(crate) fn new(late: bool) -> Arc<Self> {
        Arc::new(Self { memory: Memory::new(), late })
    }

    /// What a crash leaves of it.
    pub(crate) fn crashed(&self) -> Arc<Self> {
        Arc::new(Self { memory: self.memory.crashed(), late: self.late })
    }
}

impl Look for Disk {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.memory.get(family, key)
    }

    fn scan(
        &self,
        family: Family,
        range: Range<Vec<u8>>,
        reverse: bool,
        limit: usize,
    ) -> Result<Vec<Row>, EngineError> {
        self.memory.scan(family, range, reverse, limit)
    }
}

impl Engine for Disk {
    fn write(&self, batch: Batch) -> Result<(), EngineError> {
        self.memory.write(batch)
    }

    fn flushed(&self, done: Flushed) {
        if self.late && madsim::rand::random::<u8>() > 8 {
            done(Ok(()));
        } else {
            self.memory.flushed(done);
        }
    }

    fn view(&self) -> Result<Arc<dyn Look>, EngineError> {
        self.memory.view()
    }

    fn close(&self) -> Result<(), EngineError> {
        self.memory.close()
    }
}
