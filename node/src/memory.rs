//! The groups of a cluster as stores in memory, each command applied at once: for scenario tests and fuzzers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentprocess::time::Timestamp;
use quorate_proto::{Command, Entry, GroupId, Outcome};
use quorate_statemachine::Machine;
use quorate_statemachine::store::{Fatal, Memory, Overlay, Read, Store};

use crate::clock::Clock;
use crate::groups::{Groups, Unavailable};

/// All groups of a cluster in one process, without a log.
pub struct MemoryGroups {
    shards: u16,
    clock: Arc<Clock>,
    machine: Machine,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stores: BTreeMap<GroupId, Memory>,
    /// The first fatal error: from then on nothing is answered, as a stopped replica would not.
    stopped: Option<Fatal>,
}

impl MemoryGroups {
    /// Empty groups, stamped by `clock`.
    pub fn new(shards: u16, clock: Arc<Clock>) -> Self {
        Self { shards, clock, machine: Machine::default(), state: Mutex::default() }
    }

    /// A copy of a group's state.
    pub fn state(&self, group: GroupId) -> Memory {
        self.lock().stores.get(&group).cloned().unwrap_or_default()
    }

    /// Puts a group's state in place: what a test prepared, or damaged.
    pub fn set_state(&self, group: GroupId, store: Memory) {
        self.lock().stores.insert(group, store);
    }

    /// The error that stopped the groups, if one did. Tests assert that there is none.
    pub fn stopped(&self) -> Option<Fatal> {
        self.lock().stopped.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Writes land in one batch after apply, so what a panic left behind is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, group: GroupId, command: Command) -> Result<Outcome, Unavailable> {
        let mut state = self.lock();
        if let Some(fatal) = &state.stopped {
            return Err(Unavailable(fatal.to_string()));
        }
        let entry = Entry { at: self.clock.now(), origin: 1, command };
        let store = state.stores.entry(group).or_default();
        let mut overlay = Overlay::new(store);
        match self.machine.apply(&mut overlay, &entry) {
            Ok(outcome) => {
                for (key, value) in overlay.into_writes().0 {
                    match value {
                        Some(value) => store.put(key, value),
                        None => store.delete(key),
                    }
                }
                Ok(outcome)
            }
            Err(fatal) => {
                state.stopped = Some(fatal.clone());
                Err(Unavailable(fatal.to_string()))
            }
        }
    }
}

impl Groups for MemoryGroups {
    fn shards(&self) -> u16 {
        self.shards
    }

    async fn propose(&self, group: GroupId, command: Command) -> Result<Outcome, Unavailable> {
        self.apply(group, command)
    }

    async fn read<T, F>(&self, group: GroupId, read: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        let state = self.lock();
        if let Some(fatal) = &state.stopped {
            return Err(Unavailable(fatal.to_string()));
        }
        let empty = Memory::default();
        Ok(read(state.stores.get(&group).unwrap_or(&empty), self.clock.now()))
    }
}
