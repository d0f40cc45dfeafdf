//! Founding under random views, stops and wiped disks.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::founding::{Candidate, Member, Stage, Step, next};

fn candidate(number: u16, expect: u16, life: u8) -> Candidate {
    let member = Member {
        address: format!("n{number}:7000"),
        instance: [u8::try_from(number).unwrap() << 4 | life; 16],
        zone: None,
    };
    Candidate { member, expect, shards: 4, replicas: 3, stage: Stage::Open }
}

/// One node looks at those it can reach and does what it should.
fn look(nodes: &mut [Candidate], at: usize, reached: u8, id: u8) {
    let others: Vec<_> =
        (0..nodes.len()).filter(|i| *i != at && reached & (1 << i) != 0).map(|i| nodes[i].clone()).collect();
    if matches!(nodes[at].stage, Stage::Member { .. }) {
        return;
    }
    match next(&nodes[at], &others, [id; 16]) {
        Step::Accept(proposal) => {
            assert_eq!(nodes[at].stage, Stage::Open, "a node accepts once");
            nodes[at].stage = Stage::Accepted(proposal);
        }
        Step::Found(proposal) => {
            let node = proposal.number(&nodes[at].member.instance).unwrap();
            nodes[at].stage = Stage::Member { cluster: proposal.cluster, node };
        }
        Step::Wait(_) | Step::Stop(_) | Step::Join { .. } => (),
    }
}

fn clusters(nodes: &[Candidate]) -> BTreeSet<[u8; 16]> {
    let founded = nodes.iter().filter_map(|node| match node.stage {
        Stage::Member { cluster, .. } => Some(cluster),
        Stage::Open | Stage::Accepted(_) => None,
    });
    founded.collect()
}

proptest! {
    /// Whoever is reached when, and whatever disk is wiped when: never two clusters at a time.
    #[test]
    fn never_two_clusters(
        size in 1..=5_u16,
        steps in prop::collection::vec((0..5_usize, any::<u8>(), 0..40_u8), 0..200),
    ) {
        let mut nodes: Vec<_> = (1..=size).map(|n| candidate(n, size, 0)).collect();
        let mut life = 0;
        for (id, (at, reached, wipe)) in (0_u8..).zip(steps) {
            let at = at % nodes.len();
            if wipe == 0 && life < 15 {
                life += 1;
                nodes[at] = candidate(u16::try_from(at).unwrap() + 1, size, life);
            } else {
                look(&mut nodes, at, reached, id);
            }
            prop_assert!(clusters(&nodes).len() <= 1);
        }
    }

    /// Started in any order, with any views on the way: once all reach each other, all are members of one cluster.
    #[test]
    fn all_become_members(size in 1..=5_u16, steps in prop::collection::vec((0..5_usize, any::<u8>()), 0..30)) {
        let mut nodes: Vec<_> = (1..=size).map(|n| candidate(n, size, 0)).collect();
        for (id, (at, reached)) in (0_u8..).zip(steps) {
            let at = at % nodes.len();
            look(&mut nodes, at, reached, id);
        }
        for round in 200..204 {
            for at in 0..nodes.len() {
                look(&mut nodes, at, u8::MAX, round);
            }
        }
        prop_assert_eq!(clusters(&nodes).len(), 1);
        let all = nodes.iter().all(|node| matches!(node.stage, Stage::Member { .. }));
        prop_assert!(all);
    }
}

fn stop(me: &Candidate, others: &[Candidate]) -> String {
    match next(me, others, [9; 16]) {
        Step::Stop(why) => why,
        other @ (Step::Wait(_) | Step::Accept(_) | Step::Found(_) | Step::Join { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn a_wiped_member_does_not_found_a_second_cluster() {
    let mut member = candidate(1, 3, 0);
    member.stage = Stage::Member { cluster: [7; 16], node: 1 };
    assert_eq!(next(&candidate(2, 3, 1), &[member], [9; 16]), Step::Join { at: "n1:7000".to_owned() });
}

#[test]
fn different_settings_are_told() {
    let why = stop(&candidate(1, 3, 0), &[candidate(2, 5, 0)]);
    assert!(why.contains("bootstrap_expect 5, shards 4 and replication_factor 3, this node 3, 4 and 3."), "{why}");
    let five = Candidate { replicas: 5, ..candidate(2, 3, 0) };
    assert!(stop(&candidate(1, 3, 0), &[five]).contains("replication_factor 5"));
}

#[test]
fn too_many_nodes_are_told() {
    let why = stop(&candidate(1, 2, 0), &[candidate(2, 2, 0), candidate(3, 2, 0)]);
    assert!(why.contains("3 nodes want to found a cluster of 2"), "{why}");
}

#[test]
fn numbers_follow_addresses() {
    let (me, other) = (candidate(1, 2, 0), candidate(2, 2, 0));
    let Step::Accept(proposal) = next(&me, std::slice::from_ref(&other), [9; 16]) else { panic!("no proposal") };
    assert_eq!(proposal.number(&me.member.instance), Some(1));
    assert_eq!(proposal.number(&other.member.instance), Some(2));
    assert_eq!(proposal.number(&[0; 16]), None);
}
