//! Who leads: even over the nodes, and away from a node that is about to stop.
//!
//! Each group has a voter it prefers, by its number alone, so that no node needs to be asked: the leader itself hands
//! leadership there once that voter has what it has.

use std::time::Duration;

use openraft::async_runtime::watch::WatchReceiver as _;
use quorate_proto::GroupId;

use super::group::Group;
use super::groups::RaftGroups;

/// How far behind a voter may be that is made the leader, in entries.
const BEHIND_MAX: u64 = 64;
/// How long a voter may have been silent that is made the leader.
const SILENT_MAX: Duration = Duration::from_millis(500);
/// How long a group may take to be led elsewhere.
const HANDOVER_LIMIT: Duration = Duration::from_secs(2);
/// How long to wait before looking again.
const POLL: Duration = Duration::from_millis(10);

impl RaftGroups {
    /// Hands each group that this node leads to the voter it prefers, where that one can take it. Returns how many.
    pub async fn spread_leaders(&self) -> usize {
        let mut handed = 0;
        for group in self.groups.iter().filter(|group| group.leads()) {
            let voters = group.voters();
            let Some(preferred) = preferred(group.id, &voters) else { continue };
            if preferred != self.node && self.can_lead(group, preferred) {
                handed += usize::from(hand_over(group, preferred).await);
            }
        }
        handed
    }

    /// Hands over every group that this node leads, and waits until others lead them or none can. For a node that stops.
    pub async fn leave_leaders(&self) {
        let hand = |group| async move {
            let able = |voter: &u64| *voter != self.node && self.can_lead(group, *voter);
            if let Some(voter) = group.voters().into_iter().find(able) {
                hand_over(group, voter).await;
                let gone = async {
                    while group.leads() {
                        tokio::time::sleep(POLL).await;
                    }
                };
                drop(tokio::time::timeout(HANDOVER_LIMIT, gone).await);
            }
        };
        futures_util::future::join_all(self.groups.iter().filter(|group| group.leads()).map(hand)).await;
    }

    /// Whether a voter hears this leader and has almost all of its log.
    fn can_lead(&self, group: &Group, voter: u64) -> bool {
        let metrics = group.raft.metrics();
        let metrics = metrics.borrow_watched();
        let (Some(replication), Some(heard)) = (&metrics.replication, &metrics.heartbeat) else { return false };
        let matched = replication.get(&voter).and_then(|log| log.as_ref()).map_or(0, |log| log.index());
        let behind = metrics.last_log_index.unwrap_or(0).saturating_sub(matched);
        let silent = heard.get(&voter).and_then(|at| at.as_ref()).map(|at| at.elapsed());
        behind <= BEHIND_MAX && silent.is_some_and(|silent| silent <= SILENT_MAX)
    }
}

async fn hand_over(group: &Group, voter: u64) -> bool {
    match group.raft.trigger().transfer_leader(voter).await {
        Ok(()) => true,
        Err(e) => {
            tracing::warn!(group = %super::types::name(group.id), to = voter, reason = %e, "leadership stays");
            false
        }
    }
}

/// The voter that leads a group when all is well: they take turns, by the group's number.
fn preferred(group: GroupId, voters: &[u64]) -> Option<u64> {
    let turn = match group {
        GroupId::Catalog => 0,
        GroupId::Shard(number) => usize::from(number),
    };
    voters.get(turn % voters.len().max(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voters_take_turns() {
        let leaders: Vec<_> = (0..6).map(|shard| preferred(GroupId::Shard(shard), &[1, 4, 7])).collect();
        assert_eq!(leaders, [1, 4, 7, 1, 4, 7].map(Some));
        assert_eq!(preferred(GroupId::Catalog, &[]), None);
    }
}
