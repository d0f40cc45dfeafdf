//! One number for a whole state: equal states have equal digests.

use sha2::{Digest, Sha256};

use crate::store::{Fatal, Read, Row};

/// How many rows are read at once.
const ROWS_PER_SCAN: usize = 256;

/// SHA-256 over all rows in key order, each part with its length before it.
pub fn digest(store: &dyn Read) -> Result<[u8; 32], Fatal> {
    let mut hash = Sha256::new();
    let mut from = Vec::new();
    loop {
        let rows = rows_from(store, from, ROWS_PER_SCAN)?;
        let Some((last, _)) = rows.last() else { break };
        from = next_key(last);
        for (key, value) in &rows {
            add(&mut hash, key);
            add(&mut hash, value);
        }
    }
    Ok(hash.finalize().into())
}

/// At most `limit` rows from `from` on. No key starts with byte 255.
pub(crate) fn rows_from(store: &dyn Read, from: Vec<u8>, limit: usize) -> Result<Vec<Row>, Fatal> {
    store.scan(from..vec![255], false, limit)
}

/// The first key after `key`.
pub(crate) fn next_key(key: &[u8]) -> Vec<u8> {
    let mut next = key.to_vec();
    next.push(0);
    next
}

/// Adds bytes with their length before them.
pub(crate) fn add(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}
