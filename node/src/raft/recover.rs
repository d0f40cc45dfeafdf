//! A majority is lost for good: a stopped node becomes the only voter of all groups, with what it has.
//!
//! For each group an entry goes behind its log that makes the node alone the members, in a term after any that it voted in.
//! Everything before it counts as committed then, whether it was or not: an outcome that nobody was told may be either.

use std::collections::BTreeSet;
use std::sync::Arc;

use openraft::storage::RaftLogStorage as _;
use openraft::vote::RaftLeaderId as _;
use openraft::{EntryPayload, RaftLogReader as _};
use quorate_proto::{GroupId, codec};
use quorate_statemachine::catalog::read::{NodeRow, nodes};
use quorate_statemachine::store::Fatal;

use super::check::condemned;
use super::log::{Log, write_entry};
use super::open::{OpenError, Store};
use super::rows::{Applied, Rows};
use super::types::{LogEntry, LogId, Types, Vote, name};
use crate::engine::keys::MetaKey;
use crate::engine::{Batch, Engine, Family};

/// What a stopped node has of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The group.
    pub group: GroupId,
    /// Who votes in it, as far as the node knows.
    pub voters: BTreeSet<u64>,
    /// The term of the last entry of its log, and its index.
    pub last: (u64, u64),
}

/// What a stopped node's store is, and what it has of each group.
pub async fn holdings(engine: &Arc<dyn Engine>) -> Result<(Store, Vec<Holding>), OpenError> {
    let bytes = engine.get(Family::Meta, &MetaKey::Store.encode())?;
    let bytes = bytes.ok_or_else(|| OpenError::Damaged("the data folder holds nothing".to_owned()))?;
    let store: Store = codec::decode(&bytes).map_err(|e| OpenError::Damaged(e.to_string()))?;
    let mut all = Vec::new();
    for group in std::iter::once(GroupId::Catalog).chain((0..store.shards).map(GroupId::Shard)) {
        let damaged = |why: String| OpenError::Damaged(format!("{}: {why}", name(group)));
        if let Some(why) = condemned(engine.as_ref(), group)? {
            return Err(damaged(why));
        }
        let last = last(engine, group).await.map_err(damaged)?;
        let last = last.ok_or_else(|| damaged("nothing of it is here".to_owned()))?;
        let voters = voters(engine, group).await.map_err(damaged)?;
        all.push(Holding { group, voters, last: (last.committed_leader_id().term, last.index()) });
    }
    Ok((store, all))
}

/// The nodes of the cluster, as far as a stopped node knows.
pub fn known_nodes(engine: &dyn Engine) -> Result<Vec<(u64, NodeRow)>, Fatal> {
    nodes(&Rows::present(engine.view()?, GroupId::Catalog)?.0)
}

async fn last(engine: &Arc<dyn Engine>, group: GroupId) -> Result<Option<LogId>, String> {
    let applied = Applied::read(engine.as_ref(), group).map_err(|e| e.to_string())?.last;
    let state = Log::new(Arc::clone(engine), group).get_log_state().await.map_err(|e| e.to_string())?;
    Ok(state.last_log_id.max(applied))
}

async fn voters(engine: &Arc<dyn Engine>, group: GroupId) -> Result<BTreeSet<u64>, String> {
    let applied = Applied::read(engine.as_ref(), group).map_err(|e| e.to_string())?;
    let mut membership = applied.membership.membership().clone();
    let from = applied.last.map_or(0, |last| last.index() + 1);
    let entries = Log::new(Arc::clone(engine), group).try_get_log_entries(from..).await;
    for entry in entries.map_err(|e| e.to_string())? {
        if let EntryPayload::Membership(later) = entry.payload {
            membership = later;
        }
    }
    Ok(membership.voter_ids().collect())
}

/// Writes into a batch what makes a node the only voter of all groups.
pub async fn alone(engine: &Arc<dyn Engine>, node: u64, all: &[Holding], batch: &mut Batch) -> Result<(), OpenError> {
    for Holding { group, last: (term, index), .. } in all {
        let damaged = |why: String| OpenError::Damaged(format!("{}: {why}", name(*group)));
        let vote = Log::new(Arc::clone(engine), *group).read_vote().await.map_err(|e| damaged(e.to_string()))?;
        let term = vote.map_or(0, |vote| vote.leader_id.term).max(*term) + 1;
        let leader: openraft::alias::LeaderIdOf<Types> = openraft::vote::RaftLeaderId::new(term, node);
        let members = openraft::Membership::new_with_defaults(vec![BTreeSet::from([node])], []);
        let log_id = LogId::new(leader.to_committed(), index + 1);
        let entry = LogEntry { log_id, payload: EntryPayload::Membership(members) };
        let (key, value) = write_entry(*group, &entry);
        batch.put(Family::Log, key, value);
        batch.put(Family::Meta, MetaKey::Vote(*group).encode(), codec::encode(&Vote::new(term, node)));
    }
    Ok(())
}
