//! What the planner wants, in tables; and that it comes to an end wherever it begins.

use std::collections::BTreeMap;

use proptest::prelude::*;
use quorate_proto::GroupId;

use super::placement::{Members, Move, Next, Place, Replicas, View, catalog_voters, initial, leaders, next};

fn set(nodes: &[u64]) -> Replicas {
    nodes.iter().copied().collect()
}

/// Nodes with their zones, as in `1a 2a 3b 4`: 4 has none. One with a `!` does not answer, one with a `-` is drained.
fn nodes(text: &str) -> BTreeMap<u64, Place> {
    let node = |word: &str| {
        let (reached, word) = (!word.ends_with('!'), word.trim_end_matches('!'));
        let (drained, word) = (word.ends_with('-'), word.trim_end_matches('-'));
        let (number, zone) = word.split_at(word.find(|c: char| c.is_alphabetic()).unwrap_or(word.len()));
        let zone = (!zone.is_empty()).then(|| zone.to_owned());
        (number.parse().unwrap_or(0), Place { zone, reached, drained })
    };
    text.split_whitespace().map(node).collect()
}

fn zones(text: &str) -> BTreeMap<u64, Option<String>> {
    nodes(text).into_iter().map(|(node, place)| (node, place.zone)).collect()
}

/// Three replicas each, wanted there, and all groups as wanted.
fn view(there: &str, wanted: &[&[u64]]) -> View {
    let wanted: BTreeMap<u16, Replicas> = (0..).zip(wanted.iter().map(|nodes| set(nodes))).collect();
    let members = wanted.iter().map(|(shard, nodes)| (*shard, members(nodes))).collect();
    View { nodes: nodes(there), replicas: 3, wanted, members }
}

fn members(voters: &Replicas) -> Members {
    Members { voters: voters.clone(), learners: Replicas::new() }
}

/// Shard, new replicas and reason; or why it waits.
fn said(next: Next) -> (Option<(u16, Vec<u64>)>, String) {
    match next {
        Next::Nothing => (None, String::new()),
        Next::Wait(why) => (None, why),
        Next::Move(Move { shard, to, why, .. }) => (Some((shard, to.into_iter().collect())), why),
    }
}

#[test]
fn the_next_move_and_why() {
    for (there, wanted, to, why) in [
        ("1 2 3", &[&[1, 2, 3][..], &[1, 2, 3]][..], None, ""),
        // A new node takes from those that have most.
        ("1 2 3 4", &[&[1, 2, 3], &[1, 2, 3]], Some((0, vec![2, 3, 4])), "node 1 has 2 replicas and node 4 has 0"),
        ("1 2 3 4", &[&[2, 3, 4], &[1, 2, 3]], None, ""),
        // A node was removed: another takes its place, or nobody when all have a replica.
        ("1 2 4", &[&[1, 2, 3]], Some((0, vec![1, 2, 4])), "node 3 was removed"),
        ("1 2", &[&[1, 2, 3]], Some((0, vec![1, 2])), "node 3 was removed"),
        ("1 2 4!", &[&[1, 2, 3]], None, "shard 0 is to leave node 3, and no other node answers"),
        ("4!", &[&[3]], None, "shard 0 is to leave node 3, and no other node answers"),
        // One that is drained keeps what it has, and gets more only where nobody else could have it.
        ("1- 2 3", &[&[1, 2, 3]], None, ""),
        ("1 2 3 4-", &[&[1, 2, 3], &[1, 2, 3]], None, ""),
        ("1a 2a 3b 4c-", &[&[1, 2, 3]], None, ""),
        ("1 2 4- 5", &[&[1, 2, 3], &[1, 2, 5], &[1, 2, 5]], Some((0, vec![1, 2, 5])), "node 3 was removed"),
        ("1 2 4-", &[&[1, 2, 3]], Some((0, vec![1, 2, 4])), "node 3 was removed"),
        // What is removed comes before what is uneven.
        ("1 2 3 4 5", &[&[1, 2, 3], &[1, 2, 3], &[1, 2, 6]], Some((2, vec![1, 2, 4])), "node 6 was removed"),
        // A third node brings the third replica.
        ("1 2 3", &[&[1, 2]], Some((0, vec![1, 2, 3])), "shard 0 has 2 replicas of 3"),
        ("1 2 3!", &[&[1, 2]], None, "shard 0 has 2 replicas of 3, and no other node answers"),
        ("1 2 3 4", &[&[1, 2, 3, 4]], Some((0, vec![1, 2, 3])), "shard 0 has 4 replicas, more than 3"),
        ("1a 2a 3b 4c", &[&[1, 2, 3, 4]], Some((0, vec![1, 3, 4])), "shard 0 has 4 replicas, more than 3"),
        // Zones are kept apart, as far as there are zones.
        (
            "1a 2a 3b 4c",
            &[&[1, 2, 3]],
            Some((0, vec![2, 3, 4])),
            "zone a has more than one replica of shard 0: from node 1 to node 4",
        ),
        ("1a 2a 3b 4b", &[&[1, 2, 3]], None, ""),
        ("1a 2b 3c 4a", &[&[1, 2, 3], &[1, 2, 3]], Some((0, vec![2, 3, 4])), "node 1 has 2 replicas and node 4 has 0"),
        // Even more so when the new node would even things out in the wrong zone only.
        ("1a 2b 3c 4c 5c", &[&[1, 2, 3], &[1, 2, 4], &[1, 2, 5]], None, ""),
        // What can wait waits for a node that does not answer; what cannot does not.
        (
            "1 2 3! 4",
            &[&[1, 2, 3], &[1, 2, 3]],
            None,
            "node 3 does not answer, and what is to do can wait: node 1 has 2 replicas and node 4 has 0",
        ),
        ("1 2! 4", &[&[1, 2, 3]], Some((0, vec![1, 2, 4])), "node 3 was removed"),
    ] {
        let view = view(there, wanted);
        assert_eq!(said(next(&view)), (to, why.to_owned()), "{there} {wanted:?}");
    }
}

#[test]
fn one_replica_moves_at_a_time() {
    let mut view = view("1 2 3 4 5", &[&[1, 2, 4], &[1, 2, 3], &[1, 2, 3]]);
    view.members.insert(0, members(&set(&[1, 2, 3])));
    assert_eq!(said(next(&view)), (None, "shard 0 brings in node 4".to_owned()));
    view.members.insert(0, members(&set(&[1, 2, 3, 4])));
    assert_eq!(said(next(&view)), (None, "shard 0 lets node 3 go".to_owned()));
    view.members.remove(&0);
    assert_eq!(said(next(&view)), (None, "shard 0 has no leader".to_owned()));
    // Whom it brings in is removed meanwhile: it would wait for ever.
    view.nodes.remove(&4);
    assert_eq!(said(next(&view)), (Some((0, vec![1, 2, 5])), "node 4 was removed".to_owned()));
    // Another shard's turn comes later.
    view.nodes.remove(&3);
    view.members.insert(0, members(&set(&[1, 2, 3])));
    assert_eq!(said(next(&view)), (Some((0, vec![1, 2, 5])), "node 4 was removed".to_owned()));
}

#[test]
fn an_odd_number_votes_in_the_catalog_in_different_zones_first() {
    for (there, voters) in [
        ("1", &[1][..]),
        ("1 2", &[1, 2]),
        ("1 2 3", &[1, 2, 3]),
        ("1 2 3 4", &[1, 2, 3]),
        ("1 2 3 4 5 6", &[1, 2, 3, 4, 5]),
        ("1a 2a 3b 4c", &[1, 3, 4]),
        ("1a 2a 3b 4b", &[1, 2, 3]),
        ("1a 2a 3a 4b 5b 6c", &[1, 2, 4, 5, 6]),
    ] {
        assert_eq!(catalog_voters(&zones(there)), set(voters), "{there}");
    }
}

#[test]
fn leaders_are_even() {
    let groups = |voters: &[&[u64]]| -> BTreeMap<GroupId, Replicas> {
        (0..).map(GroupId::Shard).zip(voters.iter().map(|voters| set(voters))).collect()
    };
    let counts = |voters: &[&[u64]]| {
        let mut counts: BTreeMap<u64, usize> = voters.iter().copied().flatten().map(|node| (*node, 0)).collect();
        let groups = groups(voters);
        for (group, leader) in leaders(&groups) {
            assert!(groups[&group].contains(&leader));
            *counts.entry(leader).or_default() += 1;
        }
        counts.into_values().collect::<Vec<_>>()
    };
    assert_eq!(counts(&[&[1, 2, 3], &[1, 2, 3], &[1, 2, 3]]), [1, 1, 1]);
    assert_eq!(counts(&[&[1, 2, 3], &[1, 2, 3], &[1, 2, 3], &[1, 2, 3]]), [2, 1, 1]);
    // Who could lead others, too, leaves the first to one that cannot.
    assert_eq!(counts(&[&[1, 2], &[1, 3], &[1], &[1]]), [2, 1, 1]);
    assert_eq!(leaders(&groups(&[&[]])), BTreeMap::new());
}

#[test]
fn founders_spread_the_shards() {
    assert_eq!(initial(zones("1 2 3"), 3, 2), [(0, set(&[1, 2, 3])), (1, set(&[1, 2, 3]))].into());
    assert_eq!(initial(zones("1 2"), 3, 1), [(0, set(&[1, 2]))].into());
    for (there, shards) in [("1 2 3 4 5", 8), ("1a 2a 3b 4b 5c 6c", 8), ("1a 2a 3a 4b 5b 6c", 7)] {
        let wanted = initial(zones(there), 3, shards);
        for nodes in wanted.values() {
            assert_eq!(nodes.len(), 3);
            let seen: std::collections::BTreeSet<_> = nodes.iter().map(|node| zones(there)[node].clone()).collect();
            assert!(seen.len() == 3 || !there.contains('a'), "{there}: {wanted:?}");
        }
        let view = View { nodes: nodes(there), replicas: 3, members: grouped(&wanted), wanted };
        assert_eq!(next(&view), Next::Nothing, "{there}: {:?}", view.wanted);
    }
}

fn grouped(wanted: &BTreeMap<u16, Replicas>) -> BTreeMap<u16, Members> {
    wanted.iter().map(|(shard, nodes)| (*shard, members(nodes))).collect()
}

proptest! {
    /// Wherever replicas are, and whatever nodes there are, move after move it comes to an end at which every shard has its
    /// replicas on nodes that are there; no move is larger than one replica or leaves none.
    #[test]
    fn it_comes_to_an_end(
        zones in prop::collection::vec(0..4_u8, 1..8),
        wanted in prop::collection::vec(prop::collection::btree_set(1..10_u64, 1..5), 1..6),
        replicas in 1..5_usize,
    ) {
        let zone = |zone: u8| (zone > 0).then(|| zone.to_string());
        let nodes = (1..).zip(zones.into_iter().map(|z| Place { zone: zone(z), reached: true, drained: false })).collect::<BTreeMap<_, _>>();
        let wanted: BTreeMap<u16, Replicas> = (0..).zip(wanted).collect();
        let mut view = View { nodes, replicas, members: grouped(&wanted), wanted };
        let mut moves = 0;
        loop {
            match next(&view) {
                Next::Nothing => break,
                Next::Move(Move { shard, from, to, .. }) => {
                    prop_assert_eq!(&from, &view.wanted[&shard]);
                    prop_assert!(!to.is_empty() && from.difference(&to).count() <= 1 && to.difference(&from).count() <= 1);
                    view.wanted.insert(shard, to.clone());
                    view.members.insert(shard, members(&to));
                }
                // The one replica is on a node that is not there.
                Next::Wait(why) => prop_assert!(false, "{}", why),
            }
            moves += 1;
            prop_assert!(moves < 1000, "it has no end: {:?}", view);
        }
        for nodes in view.wanted.values() {
            prop_assert_eq!(nodes.len(), replicas.min(view.nodes.len()));
            prop_assert!(nodes.iter().all(|node| view.nodes.contains_key(node)));
        }
    }
}
