//! The state machine of every group of a node.

use std::sync::Arc;

use quorate_proto::{Command, Entry, Outcome, Reply};

use crate::catalog;
use crate::shard;
use crate::shard::Definitions;
use crate::store::{Fatal, Store};

/// Applies entries. Holds nothing that could influence an outcome.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Parsed definitions, shared by all groups of a node.
    pub definitions: Arc<Definitions>,
}

impl Machine {
    /// Applies one entry to a group's state and says what the caller is told.
    ///
    /// `Fatal` stops the replica: the state is not what this build wrote, or the entry is not for this group.
    pub fn apply(&self, store: &mut dyn Store, entry: &Entry) -> Result<Outcome, Fatal> {
        match &entry.command {
            Command::Shard(command) => shard::apply(store, &self.definitions, entry.at, command),
            Command::Catalog(command) => catalog::apply(store, entry.at, command),
            // What it asks for is no matter of the state.
            Command::Check => Ok(Ok(Reply::Done)),
        }
    }
}
