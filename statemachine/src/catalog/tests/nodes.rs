//! Which nodes the cluster has.

use std::collections::BTreeSet;

use quorate_proto::Code;
use quorate_proto::catalog::{Node, NodeCommand};

use super::*;
use crate::catalog::read;

fn node(life: u8) -> Node {
    Node { address: format!("n{life}:7000"), instance: [life; 16], zone: None }
}

fn say(world: &mut World, command: NodeCommand) -> Result<u64, Code> {
    match world.run(&CatalogCommand::Node(command)) {
        Ok(CatalogReply::Node { node }) => Ok(node),
        Ok(CatalogReply::Placed) => Ok(0),
        other => Err(other.unwrap_err().code),
    }
}

fn found(nodes: &[u8]) -> NodeCommand {
    let nodes: BTreeMap<_, _> = nodes.iter().map(|number| (u64::from(*number), node(*number))).collect();
    let all: BTreeSet<_> = nodes.keys().copied().collect();
    NodeCommand::Found { nodes, replicas: 3, shards: [(0, all.clone()), (1, all)].into() }
}

fn there(world: &World) -> Vec<(u64, String, bool)> {
    let nodes = read::nodes(&world.state).unwrap();
    nodes.into_iter().map(|(number, row)| (number, row.node.address, row.removed)).collect()
}

#[test]
fn a_number_is_given_once() {
    let mut world = World::default();
    for early in [NodeCommand::Join(node(3)), NodeCommand::Remove { node: 1 }] {
        assert_eq!(say(&mut world, early), Err(Code::Retry), "nobody knows the founders yet");
    }
    assert_eq!(say(&mut world, found(&[1, 2])), Ok(0));
    assert_eq!(say(&mut world, found(&[7])), Ok(0), "founded once");
    assert_eq!(read::replicas(&world.state), Ok(Some(3)));
    assert_eq!(say(&mut world, NodeCommand::Join(node(3))), Ok(3));
    assert_eq!(say(&mut world, NodeCommand::Join(node(3))), Ok(3), "the same disk asks again");
    assert_eq!(say(&mut world, NodeCommand::Join(node(2))), Ok(2), "a founder has its number");
    assert_eq!(say(&mut world, NodeCommand::Remove { node: 3 }), Ok(3));
    assert_eq!(say(&mut world, NodeCommand::Join(node(3))), Err(Code::Conflict), "its disk cannot come back");
    assert_eq!(say(&mut world, NodeCommand::Join(node(4))), Ok(4), "3 is not given again");
    let expected = [(1, "n1:7000", false), (2, "n2:7000", false), (3, "n3:7000", true), (4, "n4:7000", false)];
    assert_eq!(there(&world), expected.map(|(n, address, removed)| (n, address.to_owned(), removed)));
}

#[test]
fn a_node_moves_and_is_removed_once() {
    let mut world = World::default();
    say(&mut world, found(&[1, 2])).unwrap();
    let moved = |node| NodeCommand::Move { node, address: "m:1".to_owned(), zone: Some("a".to_owned()) };
    assert_eq!(say(&mut world, moved(2)), Ok(2));
    assert_eq!(there(&world)[1], (2, "m:1".to_owned(), false));
    assert_eq!(read::nodes(&world.state).unwrap()[1].1.node.zone.as_deref(), Some("a"));
    assert_eq!(say(&mut world, moved(9)), Err(Code::NotFound));
    assert_eq!(say(&mut world, NodeCommand::Remove { node: 1 }), Ok(1));
    assert_eq!(say(&mut world, NodeCommand::Remove { node: 1 }), Err(Code::Conflict));
    assert_eq!(say(&mut world, moved(1)), Err(Code::Conflict));
    assert_eq!(say(&mut world, NodeCommand::Remove { node: 2 }), Err(Code::Conflict), "the last one stays");
}

#[test]
fn replicas_are_wanted_elsewhere_one_at_a_time() {
    let mut world = World::default();
    say(&mut world, found(&[1, 2, 3])).unwrap();
    say(&mut world, NodeCommand::Join(node(4))).unwrap();
    say(&mut world, NodeCommand::Join(node(5))).unwrap();
    say(&mut world, NodeCommand::Remove { node: 5 }).unwrap();
    let place = |shard, from: &[u64], to: &[u64]| NodeCommand::Place {
        shard,
        from: from.iter().copied().collect(),
        to: to.iter().copied().collect(),
    };
    let before = [1, 2, 3];
    assert_eq!(say(&mut world, place(9, &before, &[1, 2, 4])), Err(Code::NotFound), "no such shard");
    assert_eq!(say(&mut world, place(1, &before, &[1, 2, 5])), Err(Code::Conflict), "5 was removed");
    assert_eq!(say(&mut world, place(1, &before, &[1, 4])), Err(Code::Conflict), "two go");
    assert_eq!(say(&mut world, place(1, &before, &[])), Err(Code::Conflict), "none stays");
    assert_eq!(say(&mut world, place(1, &before, &[1, 2, 4])), Ok(0));
    assert_eq!(say(&mut world, place(1, &before, &[1, 2, 4])), Err(Code::Conflict), "it was thought elsewhere");
    assert_eq!(say(&mut world, place(1, &[1, 2, 4], &[1, 4])), Ok(0));
    let wanted = read::placement(&world.state).unwrap();
    assert_eq!(wanted, [(0, [1, 2, 3].into()), (1, [1, 4].into())].into());
}

#[test]
fn a_node_is_drained_until_it_is_resumed_or_removed() {
    let mut world = World::default();
    let drain = |node, catalog: &[u64]| NodeCommand::Drain {
        node,
        by: "ops".to_owned(),
        catalog: catalog.iter().copied().collect(),
    };
    let drained = |world: &World| read::drained(&world.state).unwrap().into_keys().collect::<Vec<_>>();
    for early in [drain(1, &[1]), NodeCommand::Resume { node: 1 }] {
        assert_eq!(say(&mut world, early), Err(Code::Retry), "nobody knows the founders yet");
    }
    say(&mut world, found(&[1, 2, 3])).unwrap();
    let all = [1, 2, 3];
    assert_eq!(say(&mut world, drain(9, &all)), Err(Code::NotFound));
    assert_eq!(say(&mut world, NodeCommand::Resume { node: 9 }), Err(Code::NotFound));
    assert_eq!(say(&mut world, NodeCommand::Resume { node: 1 }), Ok(1), "it may lead as it is");
    assert_eq!(say(&mut world, drain(1, &all)), Ok(1));
    let first = read::drained(&world.state).unwrap();
    assert_eq!(first.get(&1).map(|row| row.by.as_str()), Some("ops"));
    assert_eq!(say(&mut world, drain(2, &all)), Ok(2));
    assert_eq!(say(&mut world, drain(3, &all)), Err(Code::Conflict), "nobody would be left");
    assert_eq!(
        say(&mut world, NodeCommand::Remove { node: 3 }),
        Err(Code::Conflict),
        "only drained ones would be left"
    );
    assert_eq!(say(&mut world, drain(1, &all)), Ok(1), "it is already");
    assert_eq!(read::drained(&world.state).unwrap().get(&1), first.get(&1), "and since then");

    // A node that joins may lead nothing yet of what the others vote in.
    assert_eq!(say(&mut world, NodeCommand::Join(node(4))), Ok(4));
    assert_eq!(say(&mut world, drain(3, &all)), Err(Code::Conflict));
    assert_eq!(say(&mut world, drain(4, &all)), Ok(4), "it leads nothing anyway");
    assert_eq!(say(&mut world, NodeCommand::Resume { node: 4 }), Ok(4));
    let place = |shard, from: &[u64], to: &[u64]| NodeCommand::Place {
        shard,
        from: from.iter().copied().collect(),
        to: to.iter().copied().collect(),
    };
    for shard in 0..2 {
        assert_eq!(say(&mut world, place(shard, &all, &[1, 2, 4])), Ok(0));
    }
    assert_eq!(say(&mut world, drain(3, &all)), Err(Code::Conflict), "the catalog needs it");
    assert_eq!(say(&mut world, drain(3, &[1, 2, 4])), Ok(3));

    assert_eq!(drained(&world), [1, 2, 3]);
    assert_eq!(say(&mut world, NodeCommand::Resume { node: 2 }), Ok(2));
    assert_eq!(say(&mut world, NodeCommand::Remove { node: 1 }), Ok(1));
    assert_eq!(drained(&world), [3], "a node that was removed is not drained");
    assert_eq!(say(&mut world, drain(1, &all)), Err(Code::Conflict));
}
