//! The planner: wants the replicas of the shards elsewhere, one at a time, and explains itself. The node that leads the catalog
//! acts; any node explains.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use quorate_proto::catalog::{CatalogCommand, NodeCommand};
use quorate_proto::{Command, GroupId};
use quorate_statemachine::catalog::read::{self, DrainRow, NodeRow};
use quorate_statemachine::store::{Fatal, Read};

use crate::admin::{ClusterPlan, NextStep, NodePlan, Plan, ShardPlan};
use crate::cluster::placement::{self, Members, Move, Next, Place, Replicas, View};
use crate::groups::{Groups as _, Unavailable};
use crate::raft::{NodeStats, RaftGroups, Wanted};

/// What the catalog says of nodes and placement.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// All nodes, removed ones too.
    pub(super) nodes: Vec<(u64, NodeRow)>,
    /// How many replicas each shard is to have.
    pub(super) replicas: u16,
    /// Where they are wanted.
    pub(super) placement: BTreeMap<u16, Replicas>,
    /// Which nodes are to lead nothing.
    pub(super) drained: BTreeMap<u64, DrainRow>,
}

impl Known {
    pub(super) fn read(state: &dyn Read) -> Result<Self, Fatal> {
        let (nodes, replicas) = (read::nodes(state)?, read::replicas(state)?.unwrap_or(0));
        Ok(Self { nodes, replicas, placement: read::placement(state)?, drained: read::drained(state)? })
    }

    /// The nodes of the cluster, with their zones.
    pub(super) fn zones(&self) -> BTreeMap<u64, Option<String>> {
        let present = self.nodes.iter().filter(|(_, row)| !row.removed);
        present.map(|(node, row)| (*node, row.node.zone.clone())).collect()
    }

    /// Whoever may have something to tell of the shards' groups.
    pub(super) fn asked(&self) -> BTreeSet<u64> {
        let placed = self.placement.values().flatten().copied();
        self.zones().into_keys().chain(placed).collect()
    }

    pub(super) fn is_removed(&self, node: u64) -> bool {
        self.nodes.iter().any(|(number, row)| *number == node && row.removed)
    }

    /// The nodes of each shard's replicas.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (GroupId, &Replicas)> {
        self.placement.iter().map(|(shard, replicas)| (GroupId::Shard(*shard), replicas))
    }

    /// Whether a replica of a shard is wanted on a node.
    pub(super) fn is_placed(&self, node: u64) -> bool {
        self.placement.values().any(|replicas| replicas.contains(&node))
    }

    /// Where the members of each group are wanted. A node that was removed follows the catalog until no shard is wanted there
    /// any more: it must learn who takes its place.
    pub(super) fn wanted(&self) -> BTreeMap<GroupId, Wanted> {
        let zones = self.zones();
        let present: BTreeSet<_> = zones.keys().copied().collect();
        let voters = placement::catalog_voters(&zones);
        let leaving = self.nodes.iter().map(|(node, _)| *node).filter(|node| self.is_placed(*node));
        let learners = present.iter().copied().chain(leaving).filter(|node| !voters.contains(node)).collect();
        let shards = self.placement.iter().map(|(shard, replicas)| {
            (GroupId::Shard(*shard), Wanted { voters: replicas.clone(), learners: BTreeSet::new() })
        });
        std::iter::once((GroupId::Catalog, Wanted { voters, learners })).chain(shards).collect()
    }

    /// Why a node is to lead nothing, if it is drained.
    pub(super) fn why_drained(&self, node: u64) -> Option<String> {
        let DrainRow { at, by } = self.drained.get(&node)?;
        Some(format!("drained since {at} by {by}: it leads nothing until quorate cluster resume {node}"))
    }

    /// Who leads each group when all is well.
    pub(super) fn leaders(&self) -> BTreeMap<GroupId, u64> {
        let leads = |node: &u64| !self.is_removed(*node) && !self.drained.contains_key(node);
        let voters = self
            .wanted()
            .into_iter()
            .map(|(group, wanted)| (group, wanted.voters.into_iter().filter(leads).collect::<Replicas>()));
        placement::leaders(&voters.collect())
    }

    /// What the planner goes by when each node tells this.
    fn view(&self, told: &[(u64, Result<NodeStats, String>)]) -> View {
        let reached = |node| told.iter().any(|(number, told)| *number == node && told.is_ok());
        let drained = |node| self.drained.contains_key(&node);
        let place = |(node, zone)| (node, Place { zone, reached: reached(node), drained: drained(node) });
        View {
            nodes: self.zones().into_iter().map(place).collect(),
            replicas: usize::from(self.replicas),
            wanted: self.placement.clone(),
            members: members(told),
        }
    }

    /// What the planner goes by when all is well.
    fn well(&self) -> View {
        let drained = |node| self.drained.contains_key(&node);
        let place = |(node, zone)| (node, Place { zone, reached: true, drained: drained(node) });
        let all = |replicas: &Replicas| Members { voters: replicas.clone(), learners: Replicas::new() };
        View {
            nodes: self.zones().into_iter().map(place).collect(),
            replicas: usize::from(self.replicas),
            wanted: self.placement.clone(),
            members: self.placement.iter().map(|(shard, replicas)| (*shard, all(replicas))).collect(),
        }
    }
}

/// The members of the shards' groups, as their leaders tell; of two that say they lead, the one of the later term does.
fn members(told: &[(u64, Result<NodeStats, String>)]) -> BTreeMap<u16, Members> {
    let mut found: BTreeMap<u16, (u64, Members)> = BTreeMap::new();
    let stats = told.iter().filter_map(|(_, told)| told.as_ref().ok()).flat_map(|told| &told.groups);
    for group in stats.filter(|group| group.leads) {
        let GroupId::Shard(shard) = group.group else { continue };
        if found.get(&shard).is_none_or(|(term, _)| *term < group.term) {
            let (voters, learners) = (group.voters.iter().copied().collect(), group.learners.iter().copied().collect());
            found.insert(shard, (group.term, Members { voters, learners }));
        }
    }
    found.into_iter().map(|(shard, (_, members))| (shard, members)).collect()
}

/// Takes the next step, if this node leads the catalog.
pub(super) async fn act(groups: &RaftGroups, known: &Known) {
    // Nodes are only asked when there is something to do.
    if !groups.leads(GroupId::Catalog) || placement::next(&known.well()) == Next::Nothing {
        return;
    }
    let told = groups.statuses(known.asked()).await;
    match placement::next(&known.view(&told)) {
        Next::Nothing => {}
        Next::Wait(why) => tracing::debug!(reason = why, "the planner waits"),
        Next::Move(Move { shard, from, to, why }) => {
            let command = NodeCommand::Place { shard, from: from.clone(), to: to.clone() };
            let placed = groups.propose(GroupId::Catalog, Command::Catalog(CatalogCommand::Node(command))).await;
            match placed {
                Ok(Ok(_)) => tracing::info!(shard, ?from, ?to, reason = why, "replicas are wanted elsewhere"),
                Ok(Err(refusal)) => tracing::warn!(shard, reason = refusal.message, "the catalog refuses the planner"),
                Err(unavailable) => tracing::debug!(shard, reason = unavailable.0, "the catalog does not answer"),
            }
        }
    }
}

/// Explains what is wanted, on any node.
pub(super) fn plan(groups: &Arc<RaftGroups>) -> Plan {
    let groups = Arc::clone(groups);
    Arc::new(move || {
        let groups = Arc::clone(&groups);
        Box::pin(async move { explained(&groups).await }) as BoxFuture<'static, _>
    })
}

async fn explained(groups: &RaftGroups) -> Result<ClusterPlan, Unavailable> {
    let known = groups.read(GroupId::Catalog, |state, _| Known::read(state)).await?.map_err(|e| Unavailable(e.0))?;
    let told = groups.statuses(known.asked()).await;
    let view = known.view(&told);
    let of = |members: Option<&Members>| members.map(|members| members.voters.iter().copied().collect());
    let shards = view.wanted.iter().map(|(shard, wanted)| ShardPlan {
        shard: *shard,
        wanted: wanted.iter().copied().collect(),
        voters: of(view.members.get(shard)),
    });
    let count = |node: u64| view.wanted.values().filter(|replicas| replicas.contains(&node)).count();
    let nodes = view.nodes.iter().map(|(node, place)| NodePlan {
        node: *node,
        zone: place.zone.clone(),
        reached: place.reached,
        drained: place.drained,
        replicas: count(*node),
    });
    Ok(ClusterPlan {
        replication_factor: known.replicas,
        next: step(&view),
        nodes: nodes.collect(),
        shards: shards.collect(),
    })
}

fn step(view: &View) -> NextStep {
    let none = |kind: &str, why: String| NextStep { kind: kind.to_owned(), why, shard: None, add: None, drop: None };
    match placement::next(view) {
        Next::Nothing if view.nodes.is_empty() => none("nothing", "this node is alone".to_owned()),
        Next::Nothing => none("nothing", "every replica is where it is wanted".to_owned()),
        Next::Wait(why) => none("wait", why),
        Next::Move(Move { shard, from, to, why }) => NextStep {
            kind: "move".to_owned(),
            why,
            shard: Some(shard),
            add: to.difference(&from).next().copied(),
            drop: from.difference(&to).next().copied(),
        },
    }
}
