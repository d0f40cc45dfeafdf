//! Who leads: even over the nodes, and away from a node that is about to stop.
//!
//! Each group has a voter that is to lead it, which all nodes know from the catalog, so that none needs to be asked: the leader
//! itself hands leadership there once that voter has what it has and would take it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use openraft::async_runtime::watch::WatchReceiver as _;
use quorate_proto::GroupId;

use super::group::Group;
use super::groups::RaftGroups;
use super::message::{Request, Response};
use super::peer::ask;
use super::types::{LogId, name};

/// How far behind a voter may be that is made the leader, in entries.
const BEHIND_MAX: u64 = 64;
/// How long a voter may have been silent that is made the leader.
const SILENT_MAX: Duration = Duration::from_millis(500);
/// How long a voter may take to say whether it would lead.
const ASK_LIMIT: Duration = Duration::from_millis(500);
/// How long a group may take to be led elsewhere.
const HANDOVER_LIMIT: Duration = Duration::from_secs(2);
/// How long to wait before looking again.
const POLL: Duration = Duration::from_millis(10);

impl RaftGroups {
    /// Hands each group that this node leads to the voter that is to lead it, where that one can take it.
    pub async fn spread_leaders(&self, leaders: &BTreeMap<GroupId, u64>) {
        for group in self.groups.iter().filter(|group| group.leads()) {
            let preferred = leaders.get(&group.id).copied().filter(|preferred| *preferred != self.node);
            if let Some(preferred) = preferred
                && group.voters().contains(&preferred)
                && self.can_lead(group, preferred).await
            {
                hand_over(group, preferred).await;
            }
        }
    }

    /// Hands over every group that this node leads, and waits until others lead them or none can. From now on it takes no
    /// leadership: for a node that is about to stop, or was removed.
    pub async fn leave_leaders(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.leave_all().await;
    }

    /// Hands over every group that this node leads and another can take.
    pub(super) async fn leave_all(&self) {
        futures_util::future::join_all(self.groups.iter().filter(|group| group.leads()).map(|group| self.leave(group)))
            .await;
    }

    pub(super) async fn leave(&self, group: &Group) {
        for voter in group.voters().into_iter().filter(|voter| *voter != self.node) {
            if self.can_lead(group, voter).await {
                hand_over(group, voter).await;
                let gone = async {
                    while group.leads() {
                        tokio::time::sleep(POLL).await;
                    }
                };
                drop(tokio::time::timeout(HANDOVER_LIMIT, gone).await);
                return;
            }
        }
    }

    /// Whether a voter hears this leader, has almost all of its log, and would lead.
    async fn can_lead(&self, group: &Group, voter: u64) -> bool {
        if !follows(group, voter) {
            return false;
        }
        let asked = ask(self.transport.as_ref(), voter, group.id, &Request::WouldLead);
        matches!(tokio::time::timeout(ASK_LIMIT, asked).await, Ok(Ok(Response::WouldLead(true))))
    }
}

/// Whether a member of a group hears this leader and has almost all of its log.
pub(super) fn follows(group: &Group, member: u64) -> bool {
    let metrics = group.raft().metrics();
    let metrics = metrics.borrow_watched();
    let (Some(replication), Some(heard)) = (&metrics.replication, &metrics.heartbeat) else { return false };
    let matched = replication.get(&member).and_then(Option::as_ref).map_or(0, LogId::index);
    let behind = metrics.last_log_index.unwrap_or(0).saturating_sub(matched);
    let silent = heard.get(&member).and_then(|at| at.as_ref()).map(|at| openraft::Instant::elapsed(&**at));
    behind <= BEHIND_MAX && silent.is_some_and(|silent| silent <= SILENT_MAX)
}

async fn hand_over(group: &Group, voter: u64) {
    match group.raft().trigger().transfer_leader(voter).await {
        Ok(()) => tracing::info!(group = %name(group.id), to = voter, "leadership is handed over"),
        Err(e) => tracing::warn!(group = %name(group.id), to = voter, reason = %e, "leadership stays"),
    }
}
