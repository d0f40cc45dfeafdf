//! A whole state in checksummed chunks: a snapshot out of one store and into an empty one.
//!
//! Each chunk carries the checksum of the one before, so that a lost, repeated or foreign chunk is found.

use quorate_proto::codec;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::digest::{add, next_key, rows_from};
use crate::store::{Fatal, Read, Row, Store};

/// How many rows a chunk looks at in one scan.
const ROWS_PER_SCAN: usize = 64;

/// Where an export goes on.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position {
    /// The first key not exported yet.
    from: Vec<u8>,
    /// Checksum of the chunk before; zeros at the start.
    before: [u8; 32],
}

impl Position {
    /// Checksum of the chunk before it: whoever took that one has everything up to here. Zeros at the start.
    pub fn before(&self) -> &[u8; 32] {
        &self.before
    }
}

#[derive(Serialize, Deserialize)]
struct Chunk {
    before: [u8; 32],
    rows: Vec<Row>,
    last: bool,
    checksum: [u8; 32],
}

/// The next chunk of a state and where to go on, `None` after the last. A chunk ends with the row that takes it to
/// `bytes_max` or beyond. The store must be one unchanging snapshot for the whole export.
pub fn export(store: &dyn Read, position: &Position, bytes_max: usize) -> Result<(Vec<u8>, Option<Position>), Fatal> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut bytes, mut from, mut last) = (0, position.from.clone(), false);
    while bytes < bytes_max && !last {
        let more = rows_from(store, from.clone(), ROWS_PER_SCAN)?;
        last = more.len() < ROWS_PER_SCAN;
        for row in more {
            if bytes >= bytes_max {
                last = false;
                break;
            }
            bytes += row.0.len() + row.1.len();
            from = next_key(&row.0);
            rows.push(row);
        }
    }
    let checksum = checksum(&position.before, &rows, last);
    let chunk = Chunk { before: position.before, rows, last, checksum };
    let next = (!last).then_some(Position { from, before: checksum });
    Ok((codec::encode(&chunk), next))
}

/// Takes chunks in order into an empty store.
#[derive(Debug, Default)]
pub struct Import {
    before: [u8; 32],
    begun: bool,
    finished: bool,
}

impl Import {
    /// An import that has taken nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checksum of the last chunk that was taken: the sender goes on at the [`Position`] behind it.
    pub fn has(&self) -> &[u8; 32] {
        &self.before
    }

    /// Takes the next chunk; `true` when it was the last. A bad or foreign chunk changes nothing.
    pub fn chunk(&mut self, store: &mut dyn Store, bytes: &[u8]) -> Result<bool, Fatal> {
        if !self.begun && !rows_from(store, Vec::new(), 1)?.is_empty() {
            return Err(Fatal("a snapshot goes into an empty store only".to_owned()));
        }
        let chunk: Chunk = codec::decode(bytes)?;
        if self.finished || chunk.before != self.before {
            return Err(Fatal("a snapshot chunk is missing, repeated or of another snapshot".to_owned()));
        }
        if checksum(&chunk.before, &chunk.rows, chunk.last) != chunk.checksum {
            return Err(Fatal("a snapshot chunk is damaged".to_owned()));
        }
        for (key, value) in chunk.rows {
            store.put(key, value);
        }
        (self.begun, self.before, self.finished) = (true, chunk.checksum, chunk.last);
        Ok(chunk.last)
    }
}

fn checksum(before: &[u8; 32], rows: &[Row], last: bool) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(before);
    for (key, value) in rows {
        add(&mut hash, key);
        add(&mut hash, value);
    }
    hash.update([u8::from(last)]);
    hash.finalize().into()
}
