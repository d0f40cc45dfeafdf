//! Parsed definitions by content hash: a bounded cache over immutable rows, so it cannot influence an outcome.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use quorate_proto::codec;

use super::keys::Key;
use super::rows::Definition;
use crate::store::{Fatal, Read};

/// How many definitions are kept parsed.
const DEFINITIONS_MAX: usize = 512;

/// Parsed definitions of one node.
#[derive(Debug, Default)]
pub struct Definitions {
    parsed: Mutex<BTreeMap<String, Arc<Definition>>>,
}

impl Definitions {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The definition of a content hash that some run or version names. A missing row stops the replica.
    pub fn get(&self, store: &dyn Read, hash: &str) -> Result<Arc<Definition>, Fatal> {
        let held = self.parsed.lock().unwrap_or_else(PoisonError::into_inner).get(hash).cloned();
        if let Some(definition) = held {
            return Ok(definition);
        }
        let bytes = store.get(&Key::Definition { hash: hash.to_owned() }.encode())?;
        let bytes = bytes.ok_or_else(|| Fatal(format!("no definition with hash {hash}")))?;
        let definition = Arc::new(codec::decode::<Definition>(&bytes)?);
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if parsed.len() >= DEFINITIONS_MAX {
            parsed.clear();
        }
        parsed.insert(hash.to_owned(), Arc::clone(&definition));
        Ok(definition)
    }
}
