//! `Node`: which nodes the cluster has, and where the replicas of its shards are wanted. Numbers are given once: what a
//! removed node once said is never another's.

use std::collections::BTreeSet;

use agentprocess::time::Timestamp;
use quorate_proto::catalog::{CatalogReply, Node, NodeCommand};
use quorate_proto::{Code, Refusal, codec};

use crate::catalog::apply::Judged;
use crate::catalog::keys::Key;
use crate::catalog::read;
use crate::catalog::rows::{DrainRow, NodeRow};
use crate::store::{Fatal, Store};

/// How many nodes a cluster has at most.
const NODES_MAX: usize = 64;

pub(in crate::catalog) fn apply(store: &mut dyn Store, at: Timestamp, command: &NodeCommand) -> Result<Judged, Fatal> {
    let nodes = read::nodes(store)?;
    Ok(match command {
        NodeCommand::Found { nodes: founders, replicas, shards } => {
            if nodes.is_empty() {
                for (number, node) in founders {
                    put(store, *number, node.clone(), false);
                }
                store.put(Key::Replicas.bytes(), codec::encode(replicas));
                for (shard, nodes) in shards {
                    store.put(Key::Placement(*shard).bytes(), codec::encode(nodes));
                }
            }
            Ok(CatalogReply::Node { node: 0 })
        }
        NodeCommand::Join(new) => {
            if let Some((number, row)) = nodes.iter().find(|(_, row)| row.node.instance == new.instance) {
                return Ok(if row.removed { Err(removed(*number)) } else { Ok(CatalogReply::Node { node: *number }) });
            }
            // The numbers of founders are only known from their rows.
            let Some(last) = nodes.last().map(|(number, _)| *number) else { return Ok(Err(not_yet())) };
            if nodes.iter().filter(|(_, row)| !row.removed).count() >= NODES_MAX {
                let message = format!("The cluster has {NODES_MAX} nodes, the most there can be. Remove one first.");
                return Ok(Err(Refusal::new(Code::Conflict, message)));
            }
            put(store, last + 1, new.clone(), false);
            Ok(CatalogReply::Node { node: last + 1 })
        }
        NodeCommand::Move { node, address, zone } => change(store, &nodes, *node, |row| {
            row.node.address.clone_from(address);
            row.node.zone.clone_from(zone);
        }),
        NodeCommand::Place { shard, from, to } => place(store, &nodes, *shard, from, to)?,
        NodeCommand::Remove { .. } | NodeCommand::Drain { .. } | NodeCommand::Resume { .. } if nodes.is_empty() => {
            Err(not_yet())
        }
        NodeCommand::Remove { node } => remove(store, &nodes, *node)?,
        NodeCommand::Drain { node, by, catalog } => {
            drain(store, &nodes, *node, &DrainRow { at, by: by.clone() }, catalog)?
        }
        NodeCommand::Resume { node } => present(&nodes, *node).map(|_| {
            store.delete(Key::Drain(*node).bytes());
            CatalogReply::Node { node: *node }
        }),
    })
}

fn remove(store: &mut dyn Store, nodes: &[(u64, NodeRow)], node: u64) -> Result<Judged, Fatal> {
    let mut others = nodes.iter().filter(|(number, row)| *number != node && !row.removed).peekable();
    if others.peek().is_none() {
        return Ok(Err(Refusal::new(Code::Conflict, "The last node cannot be removed.")));
    }
    let drained = read::drained(store)?;
    if others.all(|(number, _)| drained.contains_key(number)) {
        let message = format!("Node {node} is the only one that is not drained. Resume another first.");
        return Ok(Err(Refusal::new(Code::Conflict, message)));
    }
    let removed = change(store, nodes, node, |row| row.removed = true);
    if removed.is_ok() {
        store.delete(Key::Drain(node).bytes());
    }
    Ok(removed)
}

/// Not when it would leave a group with nobody to lead it. One that is drained already stays so as it is.
fn drain(
    store: &mut dyn Store,
    nodes: &[(u64, NodeRow)],
    node: u64,
    row: &DrainRow,
    catalog: &BTreeSet<u64>,
) -> Result<Judged, Fatal> {
    if let Err(refusal) = present(nodes, node) {
        return Ok(Err(refusal));
    }
    let drained = read::drained(store)?;
    if !drained.contains_key(&node) {
        let leads = |other: &u64| *other != node && !drained.contains_key(other) && present(nodes, *other).is_ok();
        let shards = read::placement(store)?.into_iter().map(|(shard, voters)| (format!("shard {shard}"), voters));
        let mut groups = std::iter::once(("the catalog".to_owned(), catalog.clone())).chain(shards);
        // A group that the node has no part in is none of its matter.
        if let Some((group, voters)) = groups.find(|(_, voters)| voters.contains(&node) && !voters.iter().any(leads)) {
            return Ok(Err(nobody_leads(node, &group, &voters)));
        }
        store.put(Key::Drain(node).bytes(), codec::encode(row));
    }
    Ok(Ok(CatalogReply::Node { node }))
}

fn nobody_leads(node: u64, group: &str, voters: &BTreeSet<u64>) -> Refusal {
    let others: Vec<_> = voters.iter().filter(|other| **other != node).map(u64::to_string).collect();
    let why = match others.as_slice() {
        [] => "no other node votes in it".to_owned(),
        [one] => format!("node {one} is drained as well: resume it first"),
        more => format!("nodes {} are drained as well: resume one of them first", more.join(", ")),
    };
    Refusal::new(Code::Conflict, format!("Node {node} cannot be drained. Nobody would be left to lead {group}: {why}."))
}

fn change(store: &mut dyn Store, nodes: &[(u64, NodeRow)], node: u64, change: impl FnOnce(&mut NodeRow)) -> Judged {
    let mut row = present(nodes, node)?.clone();
    change(&mut row);
    put(store, node, row.node, row.removed);
    Ok(CatalogReply::Node { node })
}

/// The row of a node that is in the cluster.
fn present(nodes: &[(u64, NodeRow)], node: u64) -> Result<&NodeRow, Refusal> {
    let Some((_, row)) = nodes.iter().find(|(number, _)| *number == node) else {
        return Err(Refusal::new(Code::NotFound, format!("There is no node {node}. See quorate cluster status.")));
    };
    if row.removed { Err(removed(node)) } else { Ok(row) }
}

/// One replica at a time, and only to nodes that are there: whatever a planner thought when it proposed this.
fn place(
    store: &mut dyn Store,
    nodes: &[(u64, NodeRow)],
    shard: u16,
    from: &BTreeSet<u64>,
    to: &BTreeSet<u64>,
) -> Result<Judged, Fatal> {
    let refused = |message: String| Ok(Err(Refusal::new(Code::Conflict, message)));
    let Some(wanted) = read::row::<BTreeSet<u64>>(store, &Key::Placement(shard))? else {
        return Ok(Err(Refusal::new(Code::NotFound, format!("There is no shard {shard}."))));
    };
    if wanted != *from {
        return refused(format!("The replicas of shard {shard} are wanted elsewhere meanwhile."));
    }
    let there = |new: &u64| nodes.iter().any(|(number, row)| number == new && !row.removed);
    if let Some(gone) = to.difference(from).find(|new| !there(new)) {
        return refused(format!("Node {gone} is not in the cluster."));
    }
    if to.is_empty() || to.difference(from).count() > 1 || from.difference(to).count() > 1 {
        return refused("One replica is moved at a time, and one stays.".to_owned());
    }
    store.put(Key::Placement(shard).bytes(), codec::encode(to));
    Ok(Ok(CatalogReply::Placed))
}

fn put(store: &mut dyn Store, number: u64, node: Node, removed: bool) {
    store.put(Key::Node(number).bytes(), codec::encode(&NodeRow { node, removed }));
}

fn not_yet() -> Refusal {
    Refusal::new(Code::Retry, "The cluster does not know its founders yet. Ask again in a moment.")
}

fn removed(node: u64) -> Refusal {
    let message = format!("Node {node} was removed. Its folder cannot come back: start it with an empty one.");
    Refusal::new(Code::Conflict, message)
}
