//! What a node watches about itself and its peers.

use serde::Deserialize;

/// What a node watches about itself and its peers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Watch {
    /// How often the replicas of each group compare their states, in seconds.
    pub digest_every_s: u64,
    /// How far a leader's clock may differ from the majority's, in milliseconds (design §5).
    pub clock_skew_ms_max: u64,
    /// How much space the disk of the data folder must have left for new runs and uploads, in bytes.
    pub disk_free_bytes_min: u64,
    /// How long a flush may take on a node that leads, in milliseconds.
    pub flush_ms_max: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self { digest_every_s: 3600, clock_skew_ms_max: 500, disk_free_bytes_min: 1 << 30, flush_ms_max: 500 }
    }
}

impl Watch {
    /// Each number with its place and its bounds, both ends allowed.
    pub(super) fn numbers(&self) -> [(&'static str, u64, (u64, u64)); 4] {
        [
            ("watch.digest_every_s", self.digest_every_s, (1, 30 * 24 * 3600)),
            ("watch.clock_skew_ms_max", self.clock_skew_ms_max, (50, 60_000)),
            ("watch.disk_free_bytes_min", self.disk_free_bytes_min, (16 << 20, 1 << 50)),
            ("watch.flush_ms_max", self.flush_ms_max, (10, 60_000)),
        ]
    }
}
