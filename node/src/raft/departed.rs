//! Replicas that left this node: their rows go, and what they promised stays.
//!
//! The planner wants a replica elsewhere; the group's leader brings its members there and sends this node nothing more. What is here
//! then is a log and a state that nobody will ask for, and that would be wrong to go on from.
//!
//! Rows go only when nobody counts on them. Placement must not want them here. Then the replica's Raft is stopped, so that it tells
//! nobody any more what it has, and only after that a leader is asked that has a majority confirm it: with this node
//! among the members of its last committed membership, and none under way, all stays. Whoever makes this node a member later begins to
//! ask it after that, and finds a replica that has nothing. (A leader that was once told "I have this" breaks when it hears
//! "I have nothing".)
//!
//! Two things stay, since another replica that left earlier, and does not know, may ask for a vote still:
//!
//! - The vote, and at least that of the leader that was asked: no leader of an earlier term is followed again.
//! - The end of the log ([`MetaKey::Departed`]): no candidate that has less gets a vote here, as if the log were still there.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use openraft::RaftLogReader as _;
use openraft::async_runtime::watch::WatchReceiver as _;
use openraft::raft::VoteRequest;
use openraft::storage::RaftLogStorage as _;
use quorate_proto::{GroupId, codec};
use serde::{Deserialize, Serialize};

use super::group::Group;
use super::groups::RaftGroups;
use super::log::Log;
use super::message::{Attempt, Request, Response};
use super::open::open_replica;
use super::peer::ask;
use super::rows::Applied;
use super::types::{LogId, Types, Vote, name};
use crate::clock::Clock;
use crate::engine::keys::{self, MetaKey};
use crate::engine::{Batch, Engine, EngineError, Family, flush};

/// How long a leader may take to confirm who the members are.
const CONFIRM_LIMIT: Duration = Duration::from_secs(3);

/// Who the members of a group are, as a majority confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Confirmed {
    /// The leader's vote.
    vote: Vote,
    /// With a vote and without.
    members: BTreeSet<u64>,
}

impl RaftGroups {
    /// Deletes the rows of replicas that left this node. Call it now and then.
    pub async fn clear_departed(&self) {
        let departed = |group: &&Group| group.id != GroupId::Catalog && group.may_clear(self.node);
        for group in self.groups.iter().filter(departed) {
            // What it waits for comes later, or never: then the rows stay.
            if let Err(why) = self.clear(group).await {
                tracing::debug!(group = %name(group.id), reason = why, "the rows of a replica that left stay for now");
            }
        }
    }

    async fn clear(&self, group: &Group) -> Result<(), String> {
        // To stop a replica that is a member would be noticed.
        if self.stopping.load(Ordering::Relaxed) || self.is_member(group, &self.confirmed(group).await?) {
            return Ok(());
        }
        group.close();
        drop(group.raft().shutdown().await);
        group.state().end();
        let cleared = self.clear_stopped(group).await;
        let opened = open_replica(&self.base(), group.id, &group.watch).await;
        match opened {
            Ok(replica) => group.reopen(replica),
            Err(why) => {
                let text = format!("{} cannot be opened again: {why}", name(group.id));
                tracing::error!(group = %name(group.id), reason = why, "a replica that left cannot be opened again");
                drop(group.watch.fatal.set(text));
            }
        }
        self.set_candidacy(group);
        if cleared? {
            tracing::info!(group = %name(group.id), "the replica has left this node: its rows are deleted");
        }
        Ok(())
    }

    /// Nothing of the group is written here meanwhile.
    async fn clear_stopped(&self, group: &Group) -> Result<bool, String> {
        let confirmed = self.confirmed(group).await?;
        if self.is_member(group, &confirmed) {
            return Ok(false);
        }
        let told = |e: std::io::Error| e.to_string();
        let mut log = Log::new(std::sync::Arc::clone(&self.engine), group.id);
        let own = log.read_vote().await.map_err(told)?.filter(|own| *own > confirmed.vote);
        let vote = own.unwrap_or(confirmed.vote);
        let applied = Applied::read(self.engine.as_ref(), group.id).map_err(|e| e.to_string())?.last;
        let end = log.get_log_state().await.map_err(told)?.last_log_id.max(applied).max(group.departed());
        let mut batch = Batch::default();
        batch.put(Family::Meta, MetaKey::Vote(group.id).encode(), codec::encode(&vote));
        batch.put(Family::Meta, MetaKey::Departed(group.id).encode(), codec::encode(&end));
        batch.delete(Family::Meta, MetaKey::Purged(group.id).encode());
        batch.delete(Family::Meta, MetaKey::Applied(group.id).encode());
        batch.delete_range(Family::Log, keys::log_range(group.id, 0, None));
        batch.delete_range(Family::State, keys::generations(group.id, 0, None));
        group.set_departed(end);
        self.engine.write(batch).map_err(|e| e.to_string())?;
        flush(self.engine.as_ref()).await.map_err(|e| e.to_string())?;
        Ok(true)
    }

    fn is_member(&self, group: &Group, confirmed: &Confirmed) -> bool {
        group.is_wanted(self.node) || confirmed.members.contains(&self.node)
    }

    /// Asks the replicas elsewhere for the group's leader, and that one who the members are.
    async fn confirmed(&self, group: &Group) -> Result<Confirmed, String> {
        for host in group.hosts_but(self.node) {
            match self.confirmed_there(group, host).await {
                Attempt::Done(confirmed) => return Ok(confirmed),
                Attempt::Again(Some(leader)) if leader != host && leader != self.node => {
                    if let Attempt::Done(confirmed) = self.confirmed_there(group, leader).await {
                        return Ok(confirmed);
                    }
                }
                Attempt::Again(_) | Attempt::Unknown(_) | Attempt::Refused(_) => {}
            }
        }
        Err("no leader confirms who the members are".to_owned())
    }

    async fn confirmed_there(&self, group: &Group, peer: u64) -> Attempt<Confirmed> {
        let asked = ask(self.transport.as_ref(), peer, group.id, &Request::Members);
        match tokio::time::timeout(CONFIRM_LIMIT, asked).await {
            Ok(Ok(Response::Members(attempt))) => attempt,
            Ok(_) | Err(_) => Attempt::Again(None),
        }
    }
}

impl Group {
    /// Whether there is something here that placement does not want here, and that nothing else speaks for.
    fn may_clear(&self, node: u64) -> bool {
        let raft = self.raft();
        let holds = {
            let metrics = raft.metrics();
            let metrics = metrics.borrow_watched();
            metrics.last_log_index.is_some() || metrics.last_applied.is_some()
        };
        holds && !self.is_wanted(node) && !self.leads() && self.running().is_ok()
    }

    /// Who the members are, if this replica leads: a majority confirms that it does, and none of them is changed meanwhile.
    pub(super) async fn confirm_members(&self, clock: &Clock, node: u64) -> Attempt<Confirmed> {
        let barrier = match self.barrier(clock).await {
            Attempt::Done(barrier) => barrier,
            Attempt::Again(leader) => return Attempt::Again(leader),
            Attempt::Unknown(why) => return Attempt::Unknown(why),
            Attempt::Refused(why) => return Attempt::Refused(why),
        };
        // What the leader goes by itself, not figures of it that may be a moment old.
        let raft = self.raft();
        let now = raft.with_raft_state(move |state| {
            let (vote, effective) = (*state.vote_ref(), state.membership_state.effective());
            let leads = vote.committed && vote.leader_id.node_id == node;
            let committed = *effective.log_id() <= Some(barrier.log);
            let members = effective.nodes().map(|(member, _)| *member).collect();
            (leads && committed).then_some(Confirmed { vote, members })
        });
        match now.await {
            Ok(Some(confirmed)) => Attempt::Done(confirmed),
            Ok(None) => Attempt::Again(None),
            Err(e) => Attempt::Unknown(self.stopped(&e)),
        }
    }

    /// Whether a candidate has at least what this replica had when its rows were deleted. Else it is none to vote for: this replica may
    /// have told a leader that it has more.
    pub(super) fn has_enough(&self, candidate: &VoteRequest<Types>) -> bool {
        candidate.last_log_id >= self.departed()
    }

    fn departed(&self) -> Option<LogId> {
        *self.departed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_departed(&self, end: Option<LogId>) {
        *self.departed.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }
}

/// The end of the log that a replica had when its rows were deleted last.
pub(super) fn departed(engine: &dyn Engine, group: GroupId) -> Result<Option<LogId>, EngineError> {
    let Some(bytes) = engine.get(Family::Meta, &MetaKey::Departed(group).encode())? else { return Ok(None) };
    let bad = |e| EngineError::Failed(format!("the end of the deleted log of {} is not readable: {e}", name(group)));
    codec::decode(&bytes).map_err(bad)
}
