//! From an empty data folder to a member of a cluster: looks at the others until [`founding`](super::founding) says so.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use quorate_proto::codec;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::founding::{Candidate, Instance, Member, Proposal, Stage, Step, next};
use crate::engine::keys::MetaKey;
use crate::engine::{Batch, Engine, EngineError, Family, flush};

/// How long to wait before looking again.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What a node is told of the cluster it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where peers reach this node.
    pub address: String,
    /// Where the other nodes may be reached; this node's own address does no harm.
    pub join: Vec<String>,
    /// How many nodes found the cluster.
    pub expect: u16,
    /// How many shards a new cluster gets.
    pub shards: u16,
    /// How many replicas of each shard a new cluster keeps.
    pub replicas: u16,
    /// The zone this node is in, if it is in one.
    pub zone: Option<String>,
    /// What lets this node into a cluster that is there already.
    pub join_token: Option<String>,
}

/// A node's place in its cluster, as its disk keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The cluster's id.
    pub cluster: [u8; 16],
    /// This node's number.
    pub node: u64,
    /// How many shards the cluster has.
    pub shards: u16,
    /// How many replicas of each shard the cluster keeps.
    pub replicas: u16,
    /// Whether it was among the founders; else it joined.
    pub founded: bool,
    /// The nodes of the cluster when it came, by number.
    pub nodes: BTreeMap<u64, Member>,
}

/// Asks whoever listens at an address what it is; `None` when nobody answers.
pub trait Ask: Send + Sync {
    /// Asks once, bounded in time.
    fn candidate<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Candidate>>;

    /// Asks the member at an address to take this node in.
    fn join<'a>(
        &'a self,
        address: &'a str,
        token: &'a str,
        node: &'a Member,
    ) -> BoxFuture<'a, Result<Place, JoinError>>;
}

/// A node is not taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// It may not; asking again does not help.
    Refused(String),
    /// Nobody knows: ask again.
    Later(String),
}

/// Why a node does not get a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoundError {
    /// The store failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What it holds is damaged.
    #[error("the data folder is damaged: {0}")]
    Damaged(String),
    /// No later look will help.
    #[error("{0}")]
    Stop(String),
    /// The store holds a node alone.
    #[error(
        "it holds a node alone, which cannot become a member of a cluster. Start it without cluster settings, or start \
         with an empty data folder"
    )]
    Alone,
}

/// What a disk keeps of founding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    instance: Instance,
    accepted: Option<Proposal>,
    place: Option<Place>,
}

impl Kept {
    fn read(engine: &dyn Engine, fresh: Instance) -> Result<Self, FoundError> {
        match engine.get(Family::Meta, &MetaKey::Founding.encode())? {
            Some(bytes) => codec::decode(&bytes).map_err(|e| FoundError::Damaged(e.to_string())),
            None if engine.get(Family::Meta, &MetaKey::Store.encode())?.is_some() => Err(FoundError::Alone),
            None => Ok(Self { instance: fresh, accepted: None, place: None }),
        }
    }

    async fn write(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        let mut batch = Batch::default();
        batch.put(Family::Meta, MetaKey::Founding.encode(), codec::encode(self));
        engine.write(batch)?;
        flush(engine).await
    }

    fn stage(&self) -> Stage {
        match (&self.place, &self.accepted) {
            (Some(place), _) => Stage::Member { cluster: place.cluster, node: place.node },
            (None, Some(proposal)) => Stage::Accepted(proposal.clone()),
            (None, None) => Stage::Open,
        }
    }
}

/// Whether a store is that of a member of a cluster, or of one that was about to be.
pub fn is_member(engine: &dyn Engine) -> Result<bool, EngineError> {
    Ok(engine.get(Family::Meta, &MetaKey::Founding.encode())?.is_some())
}

/// The place that a stopped node has in its cluster, if it has one.
pub fn kept(engine: &dyn Engine) -> Result<Option<Place>, FoundError> {
    if is_member(engine)? { Ok(Kept::read(engine, Instance::default())?.place) } else { Ok(None) }
}

/// Writes into a batch that a node's place is in another cluster, alone: those that knew it before are no peers any more.
pub fn alone(engine: &dyn Engine, cluster: [u8; 16], batch: &mut Batch) -> Result<(), FoundError> {
    let mut kept = Kept::read(engine, Instance::default())?;
    kept.accepted = None;
    if let Some(place) = &mut kept.place {
        place.cluster = cluster;
        let node = place.node;
        place.nodes.retain(|other, _| *other == node);
    }
    batch.put(Family::Meta, MetaKey::Founding.encode(), codec::encode(&kept));
    Ok(())
}

/// How a node shows what it is and what it waits for.
pub struct Show {
    /// What it is, for whoever asks.
    pub candidate: watch::Sender<Option<Candidate>>,
    /// What it waits for, for operators.
    pub waits_for: watch::Sender<String>,
}

impl Show {
    fn wait(&self, why: String) {
        self.waits_for.send_if_modified(|before| {
            let new = *before != why;
            if new {
                tracing::info!(reason = %why, "no cluster yet");
                *before = why;
            }
            new
        });
    }
}

/// The node's place: the one its disk keeps, else founded with the others. `random` are bytes for its instance and for the id
/// of the cluster it may propose.
pub async fn place(
    engine: &dyn Engine,
    ask: &dyn Ask,
    plan: &Plan,
    show: &Show,
    random: [Instance; 2],
) -> Result<Place, FoundError> {
    let [fresh, cluster] = random;
    let mut kept = Kept::read(engine, fresh)?;
    // An instance must be durable before others hear of it.
    kept.write(engine).await?;
    loop {
        let member = Member { address: plan.address.clone(), instance: kept.instance, zone: plan.zone.clone() };
        let Plan { expect, shards, replicas, .. } = *plan;
        let me = Candidate { member, expect, shards, replicas, stage: kept.stage() };
        show.candidate.send_replace(Some(me.clone()));
        if let Some(place) = kept.place {
            return Ok(place);
        }
        match next(&me, &look(ask, plan, &me).await, cluster) {
            Step::Accept(proposal) => kept.accepted = Some(proposal),
            Step::Found(proposal) => kept.place = Some(found(proposal, &me.member.instance)?),
            Step::Stop(why) => return Err(FoundError::Stop(why)),
            Step::Join { at } => match join(ask, plan, &at, &me.member).await? {
                Ok(place) => kept.place = Some(place),
                Err(why) => {
                    show.wait(why);
                    tokio::time::sleep(LOOK_EVERY).await;
                    continue;
                }
            },
            Step::Wait(why) => {
                show.wait(why);
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            }
        }
        kept.write(engine).await?;
    }
}

fn found(proposal: Proposal, instance: &Instance) -> Result<Place, FoundError> {
    let node = proposal.number(instance);
    let node = node.ok_or_else(|| FoundError::Damaged("it accepted a cluster without itself".to_owned()))?;
    tracing::info!(node, members = proposal.members.len(), "the cluster is founded");
    let Proposal { cluster, shards, replicas, members } = proposal;
    let nodes = (1..).zip(members).collect();
    Ok(Place { cluster, node, shards, replicas, founded: true, nodes })
}

/// Takes a place in a cluster that is there already; or says what is waited for.
async fn join(ask: &dyn Ask, plan: &Plan, at: &str, me: &Member) -> Result<Result<Place, String>, FoundError> {
    let Some(token) = &plan.join_token else {
        return Err(FoundError::Stop(format!(
            "{at} has a cluster already, and this node's data folder is empty. A lost folder is never founded anew. To join \
             as a new node, set cluster.join_token_file (see quorate cluster join-token); then remove the node that was \
             lost, if there is one."
        )));
    };
    match ask.join(at, token, me).await {
        Ok(place) => {
            tracing::info!(node = place.node, %at, "joined the cluster");
            Ok(Ok(place))
        }
        Err(JoinError::Refused(why)) => Err(FoundError::Stop(format!("{at} does not take this node in: {why}"))),
        Err(JoinError::Later(why)) => Ok(Err(format!("waiting for {at} to take this node in: {why}"))),
    }
}

/// Every other node that answers, once each.
async fn look(ask: &dyn Ask, plan: &Plan, me: &Candidate) -> Vec<Candidate> {
    let asked = plan.join.iter().filter(|address| **address != plan.address).map(|address| ask.candidate(address));
    let answers = join_all(asked).await.into_iter().flatten();
    let others = answers.filter(|other| other.member.instance != me.member.instance);
    // Two addresses may be one node.
    others.map(|other| (other.member.instance, other)).collect::<BTreeMap<_, _>>().into_values().collect()
}
