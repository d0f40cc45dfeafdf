//! A node whose clock differs from the majority's does not lead (design §5): one broken clock must not expire the cluster's
//! leases.

use std::sync::Arc;
use std::time::Duration;

use super::Peers;
use crate::clock::Clock;
use crate::raft::{Matter, RaftGroups};

/// How often to look. Much shorter than an election takes, so that no node leads before it has compared.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Compares a node's clock with those of its peers.
pub struct ClockWatch {
    /// The node's links.
    pub peers: Arc<Peers>,
    /// Its groups.
    pub groups: Arc<RaftGroups>,
    /// Its clock.
    pub clock: Arc<Clock>,
    /// How far it may differ from the majority's, in milliseconds.
    pub skew_ms_max: u64,
}

impl ClockWatch {
    /// Looks without end.
    pub async fn run(self) {
        loop {
            self.look();
            self.groups.step_aside().await;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn look(&self) {
        let why = match self.peers.clock_ahead_ms() {
            // It cannot lead either: a majority that votes for it would have been compared with.
            None => Some("its clock has not been compared with those of a majority of the nodes".to_owned()),
            Some(ahead) => self.judge(ahead),
        };
        self.groups.set_aside(Matter::Clock, why);
    }

    /// What is wrong with a clock that goes so far ahead of the majority's.
    fn judge(&self, ahead: i64) -> Option<String> {
        let right = |ahead: i64| ahead.unsigned_abs() <= self.skew_ms_max;
        let set_by = self.clock.set_by_ms();
        // What the system says: entries are stamped with a clock that did not take that up yet.
        let system = ahead.saturating_add(set_by);
        if set_by != 0 && right(system) {
            tracing::warn!(
                by_ms = set_by,
                "the system's clock was set, and now agrees with the other nodes': it is followed"
            );
            self.clock.follow();
            return None;
        }
        let wrong = if right(system) { ahead } else { system };
        (!right(wrong)).then(|| {
            let (far, way) = (wrong.unsigned_abs(), if wrong > 0 { "ahead of" } else { "behind" });
            format!("its clock is {far} ms {way} the majority's, more than the {} that are allowed", self.skew_ms_max)
        })
    }
}
