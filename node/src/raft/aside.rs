//! A node that should not lead: it says why, hands over what it leads, and takes nothing over.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::groups::RaftGroups;

/// What a node can have against its leading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matter {
    /// Its clock differs from that of a majority, or was not compared yet.
    Clock,
    /// Its store failed.
    Store,
    /// Its disk has little space left.
    Space,
    /// Its disk is slow.
    Slow,
}

impl Matter {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Clock, Self::Store, Self::Space, Self::Slow];

    /// What it is called in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Store => "store",
            Self::Space => "space",
            Self::Slow => "slow",
        }
    }

    /// Whether a node with that is no candidate either. What can befall all nodes at once must not leave them without a leader.
    fn bars_election(self) -> bool {
        match self {
            Self::Clock | Self::Store => true,
            Self::Space | Self::Slow => false,
        }
    }
}

/// What a node has against its leading, and why.
#[derive(Debug, Default)]
pub(super) struct Asides {
    all: Mutex<BTreeMap<Matter, String>>,
    /// Space left on its disk, in bytes, as it was told last.
    free_bytes: Mutex<Option<u64>>,
}

impl Asides {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Matter, String>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why no run may begin and no file be uploaded through this node, when that is so.
    pub(super) fn no_space(&self) -> Option<String> {
        self.all().get(&Matter::Space).cloned()
    }

    /// All of it in one line, if there is anything.
    pub(super) fn told(&self) -> Option<String> {
        let all: Vec<_> = self.all().values().cloned().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

impl RaftGroups {
    /// Says what is against this node's leading in a matter, or that nothing is any more. Readiness tells it.
    pub fn set_aside(&self, matter: Matter, why: Option<String>) {
        let mut asides = self.asides.all();
        match (asides.get(&matter), &why) {
            (None, Some(why)) => tracing::warn!(matter = matter.name(), reason = %why, "this node should not lead"),
            (Some(_), None) => tracing::info!(matter = matter.name(), "this node may lead again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        match why {
            Some(why) => asides.insert(matter, why),
            None => asides.remove(&matter),
        };
        let elect = !asides.keys().any(|matter| matter.bars_election());
        for group in &self.groups {
            group.raft.runtime_config().elect(elect);
        }
    }

    /// Notes how much space is left on the node's disk, in bytes.
    pub fn note_free(&self, bytes: Option<u64>) {
        *self.asides.free_bytes.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }

    /// Space left on the node's disk, in bytes, as far as it was noted.
    pub fn disk_free_bytes(&self) -> Option<u64> {
        *self.asides.free_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is against this node's leading.
    pub fn asides(&self) -> Vec<Matter> {
        self.asides.all().keys().copied().collect()
    }

    /// Hands over what this node leads, as long as it should not lead.
    pub async fn step_aside(&self) {
        if self.asides.told().is_some() {
            self.leave_all().await;
        }
    }
}
