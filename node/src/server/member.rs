//! Groups of a node alone, or of a member of a cluster with what keeps it among its peers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::StartError;
use crate::clock::Clock;
use crate::cluster::found::{self, Ask, Place, Plan, Show};
use crate::cluster::founding::{Instance, Stage};
use crate::engine::Engine;
use crate::peers::{self, Door, Listening, Peers, Security, handler};
use crate::raft::{self, RaftGroups};

/// How often leaders are looked at, and peers that are not connected.
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
    _listening: Listening,
    _tasks: [AbortOnDropHandle<()>; 2],
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
    for (node, address) in &place.founders {
        peers.put(*node, address);
    }
    let groups = RaftGroups::start(raft::Options {
        node: place.node,
        members: place.founders.keys().copied().collect::<BTreeSet<_>>(),
        transport: Arc::clone(&peers) as _,
        ..raft::Options::alone(plan.shards, clock, engine)
    });
    let groups = groups.await?;
    door.admit(Arc::clone(&peers), handler(Arc::clone(&groups)));
    let spread = spread(Arc::clone(&groups));
    let find = find(door, plan, place, show, Arc::clone(&peers));
    let tasks = [AbortOnDropHandle::new(tokio::spawn(spread)), AbortOnDropHandle::new(tokio::spawn(find))];
    Ok(Groups { groups, links: Some(Links { peers, _listening: listening, _tasks: tasks }) })
}

fn random() -> Result<[Instance; 2], StartError> {
    let mut random = [Instance::default(); 2];
    for bytes in &mut random {
        getrandom::fill(bytes).map_err(|e| StartError::Random(e.to_string()))?;
    }
    Ok(random)
}

/// Keeps leaders even over the nodes.
async fn spread(groups: Arc<RaftGroups>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        groups.spread_leaders().await;
    }
}

/// Looks for peers that moved while this node could not hear of it: at the addresses the node was told.
async fn find(door: Arc<Door>, plan: Plan, place: Place, show: Show, peers: Arc<Peers>) {
    // Held: whoever looks at this node is shown what it is as long as it runs.
    let _show = show;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if peers.stats().peers.iter().all(|peer| peer.disconnected.is_none()) {
            continue;
        }
        for address in plan.join.iter().filter(|address| **address != plan.address) {
            let Some(other) = door.candidate(address).await else { continue };
            if let Stage::Member { cluster, node } = other.stage
                && cluster == place.cluster
                && place.founders.contains_key(&node)
            {
                peers.put(node, &other.member.address);
            }
        }
    }
}
