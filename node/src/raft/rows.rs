//! One group's state as the state machine sees it: the rows of one generation.

use std::ops::Range;
use std::sync::Arc;

use quorate_proto::{GroupId, codec};
use quorate_statemachine::store::{Fatal, Read, Row};
use serde::{Deserialize, Serialize};

use super::types::{LogId, Membership, name};
use crate::engine::keys::{self, MetaKey};
use crate::engine::{Batch, EngineError, Family, Look};

/// How far a state is. In the same batch as the state it tells of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Applied {
    pub(super) last: Option<LogId>,
    pub(super) membership: Membership,
    pub(super) generation: u32,
}

impl Applied {
    pub(super) fn read(look: &dyn Look, group: GroupId) -> Result<Self, Fatal> {
        match look.get(Family::Meta, &MetaKey::Applied(group).encode())? {
            Some(bytes) => codec::decode(&bytes)
                .map_err(|e| Fatal(format!("the end of the applied log of {} is not readable: {e}", name(group)))),
            None => Ok(Self::default()),
        }
    }

    pub(super) fn write(&self, batch: &mut Batch, group: GroupId) {
        batch.put(Family::Meta, MetaKey::Applied(group).encode(), codec::encode(self));
    }
}

/// The rows of one generation of a group's state.
#[derive(Clone)]
pub(crate) struct Rows {
    look: Arc<dyn Look>,
    prefix: Vec<u8>,
}

impl Rows {
    pub(super) fn new(look: Arc<dyn Look>, group: GroupId, generation: u32) -> Self {
        Self { look, prefix: keys::state_prefix(group, generation) }
    }

    /// The group's present state, and how far it is. `look` must not change: a view.
    pub(super) fn present(look: Arc<dyn Look>, group: GroupId) -> Result<(Self, Applied), Fatal> {
        let applied = Applied::read(look.as_ref(), group)?;
        Ok((Self::new(look, group, applied.generation), applied))
    }

    fn key(&self, key: &[u8]) -> Vec<u8> {
        [self.prefix.as_slice(), key].concat()
    }

    /// Adds writes to a batch.
    pub(super) fn write(&self, batch: &mut Batch, writes: impl IntoIterator<Item = (Vec<u8>, Option<Vec<u8>>)>) {
        for (key, value) in writes {
            match value {
                Some(value) => batch.put(Family::State, self.key(&key), value),
                None => batch.delete(Family::State, self.key(&key)),
            }
        }
    }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rows")
    }
}

impl Read for Rows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
        Ok(self.look.get(Family::State, &self.key(key))?)
    }

    fn scan(&self, range: Range<Vec<u8>>, reverse: bool, limit: usize) -> Result<Vec<Row>, Fatal> {
        let range = self.key(&range.start)..self.key(&range.end);
        let rows: Result<Vec<Row>, EngineError> = self.look.scan(Family::State, range, reverse, limit);
        Ok(rows?.into_iter().map(|(key, value)| (key[self.prefix.len()..].to_vec(), value)).collect())
    }
}
