//! Parsed definitions: a bounded cache over immutable rows, so it cannot influence an outcome.
//!
//! By version and not by content hash: files that differ in the order of keys or the spelling of numbers share a hash,
//! and each version shows its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use quorate_proto::codec;

use super::head::Head;
use super::keys::Key;
use super::rows::Definition;
use crate::store::{Fatal, Read};

/// How many definitions are kept parsed.
const DEFINITIONS_MAX: usize = 512;

/// Parsed definitions of one node, by their keys: those of its shards, which hold the same of a version.
#[derive(Debug, Default)]
pub struct Definitions {
    parsed: Mutex<BTreeMap<Vec<u8>, Arc<Definition>>>,
}

impl Definitions {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The definition that a run is pinned to.
    pub fn of(&self, store: &dyn Read, head: &Head) -> Result<Arc<Definition>, Fatal> {
        self.get(store, &head.org, &head.process, head.version)
    }

    /// The definition of an installed version. A missing row stops the replica.
    pub fn get(&self, store: &dyn Read, org: &str, process: &str, version: u32) -> Result<Arc<Definition>, Fatal> {
        let key = Key::Definition { org: org.to_owned(), process: process.to_owned(), version }.encode();
        let held = self.parsed.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(definition) = held {
            return Ok(definition);
        }
        let bytes = store.get(&key)?.ok_or_else(|| Fatal(format!("no definition of {process}, version {version}")))?;
        let definition = Arc::new(codec::decode::<Definition>(&bytes)?);
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if parsed.len() >= DEFINITIONS_MAX {
            parsed.clear();
        }
        parsed.insert(key, Arc::clone(&definition));
        Ok(definition)
    }
}
