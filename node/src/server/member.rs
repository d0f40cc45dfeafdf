//! Groups of a node alone, or of a member of a cluster with what keeps it among its peers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use quorate_proto::catalog::{CatalogCommand, CatalogReply, NodeCommand};
use quorate_proto::{Command, GroupId, Reply};
use quorate_statemachine::catalog::read::{NodeRow, nodes};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::StartError;
use super::planner::{self, Known};
use crate::api::Api;
use crate::clock::Clock;
use crate::cluster::found::{self, Ask, Place, Plan, Show};
use crate::cluster::founding::{Instance, Stage};
use crate::cluster::placement;
use crate::engine::Engine;
use crate::groups::Groups as _;
use crate::peers::{self, Door, Joiner, Listening, Peers, Security, handler};
use crate::raft::{self, Matter, RaftGroups};

/// How often the cluster is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How a node belongs to a cluster.
pub struct Member {
    /// Where it listens for its peers.
    pub listener: TcpListener,
    /// What it is told of the cluster.
    pub plan: Plan,
    /// Who may listen and speak.
    pub security: Security,
}

/// The groups of a node, and its links when it has peers.
pub(super) struct Groups {
    pub(super) groups: Arc<RaftGroups>,
    pub(super) links: Option<Links>,
}

/// What keeps a node among its peers, until it is dropped.
pub(super) struct Links {
    pub(super) peers: Arc<Peers>,
    pub(super) door: Arc<Door>,
    pub(super) place: Place,
    _listening: Listening,
    _task: AbortOnDropHandle<()>,
}

/// Opens the groups of a node alone.
pub(super) async fn alone(engine: Arc<dyn Engine>, shards: u16, clock: Arc<Clock>) -> Result<Groups, StartError> {
    if found::is_member(engine.as_ref()).map_err(raft::OpenError::from)? {
        return Err(StartError::Member);
    }
    let groups = RaftGroups::start(raft::Options::alone(shards, clock, engine)).await?;
    Ok(Groups { groups, links: None })
}

/// Finds the node's place in its cluster, and opens its groups there.
pub(super) async fn join(
    engine: Arc<dyn Engine>,
    member: Member,
    clock: Arc<Clock>,
    waits_for: watch::Sender<String>,
) -> Result<Groups, StartError> {
    let Member { listener, plan, security } = member;
    let (candidate, shown) = watch::channel(None);
    let door = Door::new(&security, shown)?;
    let listening = door.listen(listener);
    let show = Show { candidate, waits_for };
    let place = found::place(engine.as_ref(), door.as_ref(), &plan, &show, random()?).await?;

    let peers = Peers::new(peers::Options {
        cluster: uuid::Uuid::from_bytes(place.cluster).to_string(),
        node: place.node,
        address: plan.address.clone(),
        clock: Arc::clone(&clock),
        security,
    })?;
    for (number, node) in &place.nodes {
        peers.put(*number, &node.address);
    }
    let groups = RaftGroups::start(raft::Options {
        node: place.node,
        members: BTreeSet::new(),
        placed: founders(&place),
        transport: Arc::clone(&peers) as _,
        ..raft::Options::alone(plan.shards, clock, engine)
    });
    let groups = groups.await?;
    // A founder knows before the catalog does.
    let first = founders(&place);
    groups
        .set_hosts(first.iter().filter(|(group, _)| **group != GroupId::Catalog).map(|(group, hosts)| (*group, hosts)));
    if let Ok(Ok(known)) = groups.peek(GroupId::Catalog, Known::read) {
        groups.set_hosts(known.hosts());
        groups.set_aside(Matter::Drained, known.why_drained(place.node));
    }
    door.admit(Arc::clone(&peers), handler(Arc::clone(&groups)));
    let seat = place.clone();
    let keep = Keep {
        groups: Arc::clone(&groups),
        peers: Arc::clone(&peers),
        door: Arc::clone(&door),
        plan,
        place,
        _show: show,
    };
    let task = AbortOnDropHandle::new(tokio::spawn(keep.run()));
    Ok(Groups { groups, links: Some(Links { peers, door, place: seat, _listening: listening, _task: task }) })
}

/// The first members of each group; none where this node was not among the founders. All founders come to the same.
fn founders(place: &Place) -> BTreeMap<GroupId, BTreeSet<u64>> {
    if !place.founded {
        return BTreeMap::new();
    }
    let zones = zones(place);
    let catalog = (GroupId::Catalog, placement::catalog_voters(&zones));
    let shards = placement::initial(zones, place.replicas.into(), place.shards);
    let shards = shards.into_iter().map(|(shard, replicas)| (GroupId::Shard(shard), replicas));
    std::iter::once(catalog).chain(shards).collect()
}

fn zones(place: &Place) -> BTreeMap<u64, Option<String>> {
    place.nodes.iter().map(|(number, node)| (*number, node.zone.clone())).collect()
}

fn random() -> Result<[Instance; 2], StartError> {
    let mut random = [Instance::default(); 2];
    for bytes in &mut random {
        getrandom::fill(bytes).map_err(|e| StartError::Random(e.to_string()))?;
    }
    Ok(random)
}

/// Keeps the cluster as it should be, as far as this node can tell.
struct Keep {
    groups: Arc<RaftGroups>,
    peers: Arc<Peers>,
    door: Arc<Door>,
    plan: Plan,
    place: Place,
    /// Held: whoever looks at this node is shown what it is as long as it runs.
    _show: Show,
}

impl Keep {
    async fn run(self) {
        loop {
            match self.groups.peek(GroupId::Catalog, Known::read) {
                Ok(Ok(known)) => self.look(&known).await,
                Ok(Err(e)) => tracing::error!(reason = %e, "the nodes of the cluster cannot be read"),
                // The catalog does not run here, which readiness tells.
                Err(_) => {}
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn look(&self, known: &Known) {
        self.groups.set_hosts(known.hosts());
        self.groups.set_aside(Matter::Drained, known.why_drained(self.place.node));
        self.note(&known.nodes).await;
        self.address(known);
        self.find(&known.nodes).await;
        if known.nodes.is_empty() {
            return;
        }
        if known.is_removed(self.place.node) {
            self.groups.leave_leaders().await;
        }
        self.groups.keep_members(&known.wanted()).await;
        self.groups.spread_leaders(&known.leaders()).await;
        planner::act(&self.groups, known).await;
    }

    /// Tells the catalog what it does not know yet: the founders, and where this node is.
    async fn note(&self, nodes: &[(u64, NodeRow)]) {
        let own = nodes.iter().find(|(node, _)| *node == self.place.node);
        let (address, zone) = (&self.plan.address, &self.plan.zone);
        let command = match own {
            None if nodes.is_empty() && self.place.founded => {
                let shards = placement::initial(zones(&self.place), self.place.replicas.into(), self.place.shards);
                NodeCommand::Found { nodes: self.place.nodes.clone(), replicas: self.place.replicas, shards }
            }
            Some((_, row)) if !row.removed && (&row.node.address, &row.node.zone) != (address, zone) => {
                NodeCommand::Move { node: self.place.node, address: address.clone(), zone: zone.clone() }
            }
            Some(_) | None => return,
        };
        let noted = self.groups.propose(GroupId::Catalog, Command::Catalog(CatalogCommand::Node(command))).await;
        match noted {
            Ok(Ok(_)) => {}
            Ok(Err(refusal)) => tracing::warn!(reason = refusal.message, "the catalog does not note this node"),
            Err(unavailable) => tracing::debug!(reason = unavailable.0, "the catalog is not told of this node yet"),
        }
    }

    /// Writes new nodes into the address book, and takes removed ones out once no group needs them any more. Where a known node
    /// is, it says itself.
    fn address(&self, known: &Known) {
        let members = self.groups.stats().into_iter().flat_map(|group| [group.voters, group.learners].concat());
        let members: BTreeSet<_> = members.collect();
        for (number, row) in &known.nodes {
            if row.removed {
                if !members.contains(number) && !known.is_placed(*number) {
                    self.peers.remove(*number);
                }
            } else if !self.peers.knows(*number) {
                self.peers.put(*number, &row.node.address);
            }
        }
    }

    /// Looks for peers that moved while this node could not hear of it: where the catalog, or the settings, say that nodes are.
    async fn find(&self, nodes: &[(u64, NodeRow)]) {
        if self.peers.stats().peers.iter().all(|peer| peer.disconnected.is_none()) {
            return;
        }
        let noted = nodes.iter().map(|(_, row)| &row.node.address);
        let addresses: BTreeSet<_> = self.plan.join.iter().chain(noted).collect();
        for address in addresses.into_iter().filter(|address| **address != self.plan.address) {
            let Some(other) = self.door.candidate(address).await else { continue };
            if let Stage::Member { cluster, node } = other.stage
                && cluster == self.place.cluster
                && self.peers.knows(node)
            {
                self.peers.put(node, &other.member.address);
            }
        }
    }
}

/// Takes a new node in, for whoever shows a valid token.
pub(super) fn joiner<G: crate::groups::Groups>(api: &Arc<Api<G>>, cluster: Place) -> Joiner {
    let api = Arc::clone(api);
    Arc::new(move |token, node| {
        let (api, cluster) = (Arc::clone(&api), cluster.clone());
        Box::pin(async move {
            api.open_join_token(&token).await.map_err(|refusal| refusal.message)?;
            let command = Command::Catalog(CatalogCommand::Node(NodeCommand::Join(node)));
            let reply = api.groups().propose(GroupId::Catalog, command).await.map_err(|e| e.0)?;
            let Reply::Catalog(CatalogReply::Node { node }) = reply.map_err(|refusal| refusal.message)? else {
                return Err("the catalog answered something else".to_owned());
            };
            let rows = api.groups().read_answered(GroupId::Catalog, |state, _| nodes(state)).await.map_err(|e| e.0)?;
            let rows = rows.map_err(|e| e.0)?.into_iter().filter(|(_, row)| !row.removed);
            let nodes = rows.map(|(number, row)| (number, row.node)).collect();
            Ok(Place { node, founded: false, nodes, ..cluster })
        })
    })
}
