//! Which nodes the cluster has.

use quorate_proto::Code;
use quorate_proto::catalog::{Node, NodeCommand};

use super::*;
use crate::catalog::read;

fn node(life: u8) -> Node {
    Node { address: format!("n{life}:7000"), instance: [life; 16] }
}

fn say(world: &mut World, command: NodeCommand) -> Result<u64, Code> {
    match world.run(&CatalogCommand::Node(command)) {
        Ok(CatalogReply::Node { node }) => Ok(node),
        other => Err(other.unwrap_err().code),
    }
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
    let founders: BTreeMap<_, _> = [(1, node(1)), (2, node(2))].into();
    assert_eq!(say(&mut world, NodeCommand::Found(founders)), Ok(0));
    assert_eq!(say(&mut world, NodeCommand::Found([(7, node(7))].into())), Ok(0), "founded once");
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
    say(&mut world, NodeCommand::Found([(1, node(1)), (2, node(2))].into())).unwrap();
    assert_eq!(say(&mut world, NodeCommand::Move { node: 2, address: "m:1".to_owned() }), Ok(2));
    assert_eq!(there(&world)[1], (2, "m:1".to_owned(), false));
    assert_eq!(say(&mut world, NodeCommand::Move { node: 9, address: "m:1".to_owned() }), Err(Code::NotFound));
    assert_eq!(say(&mut world, NodeCommand::Remove { node: 1 }), Ok(1));
    assert_eq!(say(&mut world, NodeCommand::Remove { node: 1 }), Err(Code::Conflict));
    assert_eq!(say(&mut world, NodeCommand::Move { node: 1, address: "m:1".to_owned() }), Err(Code::Conflict));
    assert_eq!(say(&mut world, NodeCommand::Remove { node: 2 }), Err(Code::Conflict), "the last one stays");
}
