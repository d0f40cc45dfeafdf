//! Snapshots: a view of the rows where they are made, chunks on the way, a generation of rows where they arrive.
//!
//! Nothing is copied when a snapshot is built. It is serialized while it is sent, chunk by chunk, and written beside the
//! state it will replace; taking its place is one small batch.

use std::sync::Arc;

use quorate_proto::GroupId;
use quorate_statemachine::store::{Fatal, Overlay, Read};
use quorate_statemachine::transfer::{self, Import, Position};

use super::rows::Rows;
use crate::engine::{Batch, Engine, Family, Look, keys};

/// About how large a chunk is, in bytes.
pub(super) const CHUNK_BYTES: usize = 256 << 10;
/// How fast a snapshot is sent to one peer at most, in bytes a second: what else its disk and the link do goes on.
pub(super) const BYTES_PER_S_MAX: u32 = 32 << 20;

/// What a snapshot holds.
pub(crate) enum Content {
    /// A view of the state it was made from.
    Rows(Rows),
    /// Rows that arrived from elsewhere.
    Staged(Staged),
}

/// A generation of rows that no state points to yet. It goes when it is dropped before one does.
pub(crate) struct Staged {
    engine: Arc<dyn Engine>,
    group: GroupId,
    generation: u32,
    wanted: bool,
}

impl Staged {
    /// The generation, now pointed to.
    pub(super) fn take(mut self) -> u32 {
        self.wanted = true;
        self.generation
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.wanted {
            let mut batch = Batch::default();
            batch.delete_range(Family::State, one_generation(self.group, self.generation));
            if let Err(e) = self.engine.write(batch) {
                tracing::warn!(error = %e, "an unfinished snapshot stays until the next start");
            }
        }
    }
}

/// The keys of one generation.
pub(super) fn one_generation(group: GroupId, generation: u32) -> std::ops::Range<Vec<u8>> {
    keys::generations(group, generation, generation.checked_add(1))
}

/// A snapshot that is arriving.
pub(crate) struct Staging {
    staged: Staged,
    rows: Rows,
    import: Import,
    whole: bool,
}

impl Staging {
    /// Room for a snapshot in an unused generation.
    pub(super) fn new(engine: Arc<dyn Engine>, group: GroupId, generation: u32) -> Self {
        let look: Arc<dyn Look> = Arc::clone(&engine) as _;
        let rows = Rows::new(look, group, generation);
        Self { staged: Staged { engine, group, generation, wanted: false }, rows, import: Import::new(), whole: false }
    }

    /// Takes the next chunk; `true` after the last.
    pub(super) fn chunk(&mut self, bytes: &[u8]) -> Result<bool, Fatal> {
        let mut overlay = Overlay::new(&self.rows);
        let last = self.import.chunk(&mut overlay, bytes)?;
        let mut batch = Batch::default();
        self.rows.write(&mut batch, overlay.into_writes().0);
        self.staged.engine.write(batch)?;
        self.whole = last;
        Ok(last)
    }

    /// Checksum of the last chunk that was taken; nothing when it is whole, or nothing was.
    pub(super) fn has(&self) -> Option<[u8; 32]> {
        (!self.whole).then(|| *self.import.has()).filter(|has| *has != [0; 32])
    }

    /// The content to install, once the last chunk is there.
    pub(super) fn finish(self) -> Result<Staged, Fatal> {
        if self.whole { Ok(self.staged) } else { Err(Fatal("a snapshot is not whole yet".to_owned())) }
    }

    /// Takes a whole state.
    pub(super) fn copy(mut self, from: &dyn Read) -> Result<Staged, Fatal> {
        let mut next = Some(Position::default());
        while let Some(position) = next {
            let (chunk, after) = transfer::export(from, &position, CHUNK_BYTES)?;
            self.chunk(&chunk)?;
            next = after;
        }
        self.finish()
    }
}
