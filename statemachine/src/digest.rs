//! One number for a whole state: equal states have equal digests.

use sha2::{Digest as _, Sha256};

use crate::store::{Fatal, Read, Row};

/// How many rows are read at once, in rows. Some have a quarter of a megabyte.
const ROWS_PER_SCAN: usize = 64;

/// SHA-256 over all rows in key order, each part with its length before it.
pub fn digest(store: &dyn Read) -> Result<[u8; 32], Fatal> {
    let mut digesting = Digesting::default();
    loop {
        if let Some(digest) = digesting.go_on(store, usize::MAX)? {
            return Ok(digest);
        }
    }
}

/// A digest that is made piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Digesting {
    hash: Sha256,
    /// The first key that was not looked at yet.
    from: Vec<u8>,
}

impl Digesting {
    /// Looks at about `bytes_max` more; the digest once all was looked at. The store must be one unchanging snapshot.
    pub fn go_on(&mut self, store: &dyn Read, bytes_max: usize) -> Result<Option<[u8; 32]>, Fatal> {
        let mut bytes: usize = 0;
        while bytes < bytes_max {
            let rows = rows_from(store, self.from.clone(), ROWS_PER_SCAN)?;
            let Some((last, _)) = rows.last() else { return Ok(Some(self.hash.clone().finalize().into())) };
            self.from = next_key(last);
            for (key, value) in &rows {
                add(&mut self.hash, key);
                add(&mut self.hash, value);
                bytes = bytes.saturating_add(key.len() + value.len());
            }
        }
        Ok(None)
    }
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
