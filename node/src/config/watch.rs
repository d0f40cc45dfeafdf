//! What a node watches about itself and its peers.

use serde::Deserialize;

/// What a node watches about itself and its peers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Watch {
    /// How often the replicas of each group compare their states, in seconds.
    pub digest_every_s: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self { digest_every_s: 3600 }
    }
}

impl Watch {
    /// Each number with its place and its bounds, both ends allowed.
    pub(super) fn numbers(&self) -> [(&'static str, u64, (u64, u64)); 1] {
        [("watch.digest_every_s", self.digest_every_s, (1, 30 * 24 * 3600))]
    }
}
