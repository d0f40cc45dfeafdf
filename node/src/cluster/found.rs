//! From an empty data folder to a member of a cluster: looks at the others until [`founding`](super::founding) says so.

use std::collections::BTreeMap;
use std::sync::Arc;
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
/// How often what a node waits for is said again.
const SAY_EVERY: Duration = Duration::from_secs(10);

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
    /// Where its founders were reached, by number.
    pub founders: BTreeMap<u64, String>,
}

/// Asks whoever listens at an address what it is; `None` when nobody answers.
pub trait Ask: Send + Sync {
    /// Asks once, bounded in time.
    fn candidate(&self, address: &str) -> BoxFuture<'_, Option<Candidate>>;
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
            (Some(place), _) => Stage::Member(place.cluster),
            (None, Some(proposal)) => Stage::Accepted(proposal.clone()),
            (None, None) => Stage::Open,
        }
    }
}

/// The node's place: the one its disk keeps, else founded with the others. What this node is meanwhile is in `show`,
/// for whoever asks it. `random` are bytes for its instance and for the id of the cluster it may propose.
pub async fn place(
    engine: &Arc<dyn Engine>,
    ask: &dyn Ask,
    plan: &Plan,
    show: &watch::Sender<Option<Candidate>>,
    random: [Instance; 2],
) -> Result<Place, FoundError> {
    let [fresh, cluster] = random;
    let mut kept = Kept::read(engine.as_ref(), fresh)?;
    // An instance must be durable before others hear of it.
    kept.write(engine.as_ref()).await?;
    let mut said = None;
    loop {
        let member = Member { address: plan.address.clone(), instance: kept.instance };
        let me = Candidate { member, expect: plan.expect, shards: plan.shards, stage: kept.stage() };
        show.send_replace(Some(me.clone()));
        if let Some(place) = kept.place {
            return Ok(place);
        }
        let others = look(ask, plan, &me).await;
        match next(&me, &others, cluster) {
            Step::Accept(proposal) => {
                kept.accepted = Some(proposal);
                kept.write(engine.as_ref()).await?;
            }
            Step::Found(proposal) => {
                let node = proposal.number(&me.member.instance);
                let node = node.ok_or_else(|| FoundError::Damaged("it accepted a cluster without itself".to_owned()))?;
                let founders = (1..).zip(proposal.members.iter().map(|member| member.address.clone())).collect();
                kept.place = Some(Place { cluster: proposal.cluster, node, shards: proposal.shards, founders });
                kept.write(engine.as_ref()).await?;
                tracing::info!(node, members = proposal.members.len(), "the cluster is founded");
            }
            Step::Stop(why) => return Err(FoundError::Stop(why)),
            Step::Wait(why) => {
                let now = tokio::time::Instant::now();
                let again = said.as_ref().is_none_or(|(what, at)| *what != why || now >= *at + SAY_EVERY);
                if again {
                    tracing::info!(reason = %why, "no cluster yet");
                    said = Some((why, now));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
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
