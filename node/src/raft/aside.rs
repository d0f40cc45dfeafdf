//! A node that should not lead: it says why, hands over what it leads, and takes nothing over.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::group::Group;
use super::groups::RaftGroups;

/// How long a group must have been without a leader before a drained node would lead it: more than others take to do so.
const NEED: Duration = Duration::from_secs(3);

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
    /// An operator drained it.
    Drained,
}

/// When a node stands for election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stands {
    /// At no time.
    Never,
    /// When nobody else leads for a while: a majority that is there must not be without a leader.
    InNeed,
    /// As any other: what can befall all nodes at once must not leave them without a leader.
    Always,
}

impl Matter {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Clock, Self::Store, Self::Space, Self::Slow, Self::Drained];

    /// What it is called in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Store => "store",
            Self::Space => "space",
            Self::Slow => "slow",
            Self::Drained => "drained",
        }
    }

    /// When a node with that stands for election.
    fn stands(self) -> Stands {
        match self {
            Self::Clock | Self::Store => Stands::Never,
            Self::Drained => Stands::InNeed,
            Self::Space | Self::Slow => Stands::Always,
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

/// When a node with all that against it stands for election.
fn stands(all: &BTreeMap<Matter, String>) -> Stands {
    all.keys().map(|matter| matter.stands()).min().unwrap_or(Stands::Always)
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
        // Held until all groups know: of two changes the later one counts.
        for group in &self.groups {
            group.stand(stands(&asides));
        }
    }

    /// Lets Raft know whether this node stands for election in a group.
    pub(super) fn set_candidacy(&self, group: &Group) {
        let asides = self.asides.all();
        group.stand(stands(&asides));
    }

    /// Lets a drained node stand for election where nobody else leads, and only there.
    async fn stand_in(&self) {
        let in_need = stands(&self.asides.all()) == Stands::InNeed;
        for group in self.groups.iter().filter(|_| in_need) {
            group.needed.store(group.silent().await >= NEED, Ordering::Relaxed);
            self.set_candidacy(group);
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

    /// Hands over what this node leads, as long as it should not lead. Call it now and then.
    pub async fn step_aside(&self) {
        self.stand_in().await;
        if self.asides.told().is_some() {
            self.leave_all().await;
        }
    }
}

impl Group {
    fn stand(&self, stands: Stands) {
        let elect = match stands {
            Stands::Never => false,
            Stands::InNeed => self.needed.load(Ordering::Relaxed),
            Stands::Always => true,
        };
        self.raft().runtime_config().elect(elect);
    }

    /// For how long this replica has heard of no leader and no election.
    async fn silent(&self) -> Duration {
        // One that does not run takes part in no election anyway.
        let heard = self.raft().with_raft_state(openraft::RaftState::vote_last_modified).await.ok().flatten();
        heard.map_or(Duration::ZERO, |heard| openraft::Instant::elapsed(&heard))
    }
}
