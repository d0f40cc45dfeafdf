//! Founding a cluster, once: every member accepts one proposal, durably, before any of them acts on it.
//!
//! A node without a cluster shows what it is to all who ask ([`Candidate`]) and looks at the others. The first by address
//! proposes when it sees exactly as many as are expected, by accepting; the others accept what they see. Whoever sees
//! that all members accepted has a founded cluster. A node accepts once in the life of its disk, and all must: so there is
//! never a second cluster of a part of them, and a member whose disk was wiped sees that the others have one.

use serde::{Deserialize, Serialize};

/// Names one life of a node's disk: chosen at random when the disk is first used.
pub type Instance = [u8; 16];
/// A member of a [`Proposal`].
pub use quorate_proto::catalog::Node as Member;

/// A cluster that is to be, or is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The cluster's id, chosen at random by who proposes.
    pub cluster: [u8; 16],
    /// How many shards it has.
    pub shards: u16,
    /// How many replicas each shard is to have.
    pub replicas: u16,
    /// Its members in the order of their addresses; the first is node 1.
    pub members: Vec<Member>,
}

impl Proposal {
    /// The number of a member; members count from 1.
    pub fn number(&self, instance: &Instance) -> Option<u64> {
        let at = self.members.iter().position(|m| m.instance == *instance)?;
        u64::try_from(at).ok().and_then(|at| at.checked_add(1))
    }
}

/// How far a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// It has accepted nothing.
    Open,
    /// It has accepted this, and can accept nothing else.
    Accepted(Proposal),
    /// It is a member of a cluster.
    Member {
        /// The cluster's id.
        cluster: [u8; 16],
        /// Its number there.
        node: u64,
    },
}

/// What a node shows of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its address, and the life of its disk.
    pub member: Member,
    /// How many nodes it expects to found a cluster with, itself included.
    pub expect: u16,
    /// How many shards it is told to found with.
    pub shards: u16,
    /// How many replicas of each.
    pub replicas: u16,
    /// How far it is.
    pub stage: Stage,
}

/// What a node does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Looks again later; says what it waits for.
    Wait(String),
    /// Accepts, durably, and looks again.
    Accept(Proposal),
    /// The cluster is founded.
    Found(Proposal),
    /// Others have a cluster, and this node's folder is empty: it joins as a new node where it may, else it stops.
    Join {
        /// Where one of them is reached.
        at: String,
    },
    /// No later look will help; says what will.
    Stop(String),
}

/// What `me` does when it sees `others`; `cluster` is the id it would choose.
pub fn next(me: &Candidate, others: &[Candidate], cluster: [u8; 16]) -> Step {
    match &me.stage {
        Stage::Accepted(mine) => accepted(mine, me, others),
        Stage::Open => open(me, others, cluster),
        Stage::Member { .. } => Step::Stop("this node is a member of a cluster already".to_owned()),
    }
}

fn accepted(mine: &Proposal, me: &Candidate, others: &[Candidate]) -> Step {
    let agrees = |member: &Member| {
        member.instance == me.member.instance
            || others.iter().any(|other| {
                other.member.instance == member.instance
                    && match &other.stage {
                        Stage::Accepted(theirs) => theirs == mine,
                        Stage::Member { cluster, .. } => *cluster == mine.cluster,
                        Stage::Open => false,
                    }
            })
    };
    let missing: Vec<_> = mine.members.iter().filter(|m| !agrees(m)).map(|m| m.address.as_str()).collect();
    // One that acts on it has seen all the others accept.
    let begun = others.iter().any(|o| matches!(o.stage, Stage::Member { cluster, .. } if cluster == mine.cluster));
    if begun || missing.is_empty() {
        return Step::Found(mine.clone());
    }
    Step::Wait(format!("waiting until these accept the cluster too: {}", missing.join(", ")))
}

fn open(me: &Candidate, others: &[Candidate], cluster: [u8; 16]) -> Step {
    let proposed = others.iter().find_map(|other| match &other.stage {
        Stage::Accepted(proposal) => Some((other, proposal)),
        Stage::Open | Stage::Member { .. } => None,
    });
    if let Some((other, proposal)) = proposed {
        return match proposal.number(&me.member.instance) {
            Some(_) => Step::Accept(proposal.clone()),
            None => Step::Stop(format!(
                "{} founds a cluster that this node is not in. Name the same bootstrap_expect and join addresses on \
                 all nodes; when this node's data was wiped meanwhile, wipe that of the others too: nothing is lost, \
                 their cluster was never founded.",
                other.member.address
            )),
        };
    }
    if let Some(other) = others.iter().find(|other| matches!(other.stage, Stage::Member { .. })) {
        return Step::Join { at: other.member.address.clone() };
    }
    let told = |node: &Candidate| (node.expect, node.shards, node.replicas);
    if let Some(other) = others.iter().find(|other| told(other) != told(me)) {
        return Step::Stop(format!(
            "{} is told bootstrap_expect {}, shards {} and replication_factor {}, this node {}, {} and {}. Give all nodes the \
             same.",
            other.member.address, other.expect, other.shards, other.replicas, me.expect, me.shards, me.replicas
        ));
    }
    let mut members: Vec<_> = others.iter().chain([me]).map(|candidate| candidate.member.clone()).collect();
    members.sort();
    let (seen, expected) = (members.len(), usize::from(me.expect));
    if seen > expected {
        return Step::Stop(format!("{seen} nodes want to found a cluster of {expected}. Correct bootstrap_expect."));
    }
    if seen < expected {
        return Step::Wait(format!("waiting for {expected} nodes, {seen} are here"));
    }
    match members.first() {
        Some(first) if *first == me.member => {
            Step::Accept(Proposal { cluster, shards: me.shards, replicas: me.replicas, members })
        }
        Some(first) => Step::Wait(format!("waiting for {} to propose the cluster", first.address)),
        None => Step::Wait("waiting".to_owned()),
    }
}
