//! `Node`: which nodes the cluster has. Numbers are given once: what a removed node once said is never another's.

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
        NodeCommand::Found(founders) => {
            if nodes.is_empty() {
                for (number, node) in founders {
                    put(store, *number, node.clone(), false);
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
        NodeCommand::Move { node, address } => change(store, &nodes, *node, |row| {
            row.node.address.clone_from(address);
        }),
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
