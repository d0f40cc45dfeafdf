//! How the cluster is, gathered from its nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_proto::GroupId;

use super::planner::Known;
use crate::admin::{Cluster, ClusterStatus, GroupStatus, NodeStatus, ReplicaStatus};
use crate::peers::{PeerStats, Peers};
use crate::raft::{GroupStats, NodeStats, RaftGroups, Wanted};

type Told = (u64, Result<NodeStats, String>);

/// Asks all nodes at each call.
pub(super) fn cluster(groups: &Arc<RaftGroups>, peers: Option<&Arc<Peers>>) -> Cluster {
    let (groups, peers) = (Arc::clone(groups), peers.cloned());
    Arc::new(move || {
        let (groups, peers) = (Arc::clone(&groups), peers.clone());
        Box::pin(async move {
            // A status tells what it can: without the catalog's rows, what the groups themselves know.
            let known = groups.peek(GroupId::Catalog, Known::read).ok().and_then(Result::ok);
            let nodes = known.iter().flat_map(Known::asked);
            let told = groups.statuses(nodes).await;
            gathered(groups.node(), told, peers.as_deref(), known.as_ref())
        })
    })
}

fn gathered(asked: u64, told: Vec<Told>, peers: Option<&Peers>, known: Option<&Known>) -> ClusterStatus {
    let zones = known.map(Known::zones).unwrap_or_default();
    let wanted = known.map(Known::wanted).unwrap_or_default();
    let links: BTreeMap<_, _> =
        peers.map(Peers::stats).into_iter().flat_map(|stats| stats.peers).map(by_number).collect();
    let skews = peers.map(Peers::skews).unwrap_or_default();
    // Those of which no replica tells anything, too.
    let mut replicas: BTreeMap<GroupId, Vec<(u64, GroupStats)>> =
        wanted.keys().map(|group| (*group, Vec::new())).collect();
    let mut nodes = Vec::new();
    for (node, told) in told {
        let disk = told.as_ref().ok().map(|told| (told.disk_free_bytes, told.flush_us));
        let (state, reason, groups) = match told {
            Ok(NodeStats { not_ready: None, groups, .. }) => ("ready", None, groups),
            Ok(NodeStats { not_ready, groups, .. }) => ("not_ready", not_ready, groups),
            Err(why) => ("unreachable", Some(why), Vec::new()),
        };
        let drained = known.and_then(|known| known.drained.get(&node));
        let leads = groups.iter().filter(|group| group.leads).count();
        let state = match (state, drained) {
            ("unreachable", _) | (_, None) => state,
            // One that was told of it is not ready.
            ("not_ready", Some(_)) if leads == 0 => "drained",
            (_, Some(_)) => "draining",
        };
        nodes.push(NodeStatus {
            node,
            address: links.get(&node).map(|link| link.address.clone()),
            zone: zones.get(&node).cloned().flatten(),
            state: state.to_owned(),
            // A node that was not told yet says nothing of it itself.
            reason: reason.or_else(|| known?.why_drained(node)),
            drained_since: drained.map(|drained| drained.at.to_string()),
            drained_by: drained.map(|drained| drained.by.clone()),
            leads,
            clock_ahead_ms: skews.get(&node).map(|skew| skew.ahead_ms),
            disk_free_bytes: disk.and_then(|(free, _)| free),
            flush_us: disk.map(|(_, flush)| flush),
        });
        for stats in groups {
            replicas.entry(stats.group).or_default().push((node, stats));
        }
    }
    ClusterStatus {
        asked,
        nodes,
        groups: replicas.into_iter().map(|(group, replicas)| of_group(group, &replicas, wanted.get(&group))).collect(),
    }
}

fn by_number(link: PeerStats) -> (u64, PeerStats) {
    (link.peer, link)
}

/// Of two that say they lead, the one of the later term does.
fn of_group(group: GroupId, replicas: &[(u64, GroupStats)], wanted: Option<&Wanted>) -> GroupStatus {
    let leader = replicas.iter().filter(|(_, stats)| stats.leads).max_by_key(|(_, stats)| stats.term);
    let furthest = leader.or_else(|| replicas.iter().max_by_key(|(_, stats)| (stats.term, stats.last)));
    let (term, last) = furthest.map_or((0, 0), |(_, stats)| (stats.term, stats.last));
    let of =
        |members: fn(&GroupStats) -> &Vec<u64>| furthest.map(|(_, stats)| members(stats).clone()).unwrap_or_default();
    let replica = |(node, stats): &(u64, GroupStats)| ReplicaStatus {
        node: *node,
        applied: stats.applied,
        behind: last.saturating_sub(stats.applied),
        checked: stats.checked,
        differs: stats.differs,
        stopped: stats.stopped.clone(),
    };
    GroupStatus {
        group: super::stats::group_name(group),
        leader: leader.map(|(node, _)| *node),
        term,
        voters: of(|stats| &stats.voters),
        learners: of(|stats| &stats.learners),
        wanted: wanted.map(|wanted| wanted.voters.iter().copied().collect()).unwrap_or_default(),
        last,
        replicas: replicas.iter().map(replica).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_whose_replicas_are_silent_has_no_leader() {
        let placement = [(4, [2, 3].into())].into();
        let known = Known { nodes: Vec::new(), replicas: 3, placement, drained: BTreeMap::new() };
        let told = vec![(1, Err("away".to_owned()))];
        let status = gathered(1, told, None, Some(&known));
        let shard = status.groups.iter().find(|group| group.group == "4");
        assert!(shard.is_some_and(|shard| shard.leader.is_none() && shard.wanted == [2, 3]), "{status:?}");
    }
}
