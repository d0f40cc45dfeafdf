//! `Node`: which nodes the cluster has, and where the replicas of its shards are wanted. Numbers are given once: what a
//! removed node once said is never another's.

use std::collections::BTreeSet;

use quorate_proto::catalog::{CatalogReply, Node, NodeCommand};
use quorate_proto::{Code, Refusal, codec};

use crate::catalog::apply::Judged;
use crate::catalog::keys::Key;
use crate::catalog::read;
use crate::catalog::rows::NodeRow;
use crate::store::{Fatal, Store};

/// How many nodes a cluster has at most.
const NODES_MAX: usize = 64;

pub(in crate::catalog) fn apply(store: &mut dyn Store, command: &NodeCommand) -> Result<Judged, Fatal> {
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
        NodeCommand::Remove { .. } if nodes.is_empty() => Err(not_yet()),
        NodeCommand::Remove { node } => {
            let others = nodes.iter().any(|(number, row)| number != node && !row.removed);
            if !others {
                return Ok(Err(Refusal::new(Code::Conflict, "The last node cannot be removed.")));
            }
            change(store, &nodes, *node, |row| row.removed = true)
        }
    })
}

fn change(store: &mut dyn Store, nodes: &[(u64, NodeRow)], node: u64, change: impl FnOnce(&mut NodeRow)) -> Judged {
    let Some((_, row)) = nodes.iter().find(|(number, _)| *number == node) else {
        return Err(Refusal::new(Code::NotFound, format!("There is no node {node}. See quorate cluster status.")));
    };
    if row.removed {
        return Err(removed(node));
    }
    let mut row = row.clone();
    change(&mut row);
    put(store, node, row.node, row.removed);
    Ok(CatalogReply::Node { node })
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
