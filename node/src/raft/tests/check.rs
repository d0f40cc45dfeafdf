//! Replicas compare their states.

use super::cluster::{Direct, led, open};
use super::*;
use crate::engine::memory::Memory;
use crate::engine::{Batch, Family, Look as _, keys};

/// Has the shard checked by its leader, and waits until the replicas have compared.
async fn check(nodes: &[Arc<RaftGroups>], until: impl Fn() -> bool) {
    for _ in 0..100 {
        for node in nodes {
            node.propose_check(&node.groups[1]).await;
        }
        futures_util::future::join_all(nodes.iter().map(|node| node.make_digests())).await;
        if until() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", nodes.iter().map(|node| node.stats().swap_remove(1)).collect::<Vec<_>>());
}

/// Changes one byte of one row of a replica's state, behind its back.
fn corrupt(engine: &Memory) {
    let rows = engine.scan(Family::State, keys::generations(SHARD, 0, None), false, 999).unwrap();
    let (key, mut value) = rows.into_iter().rfind(|(_, value)| !value.is_empty()).unwrap();
    *value.last_mut().unwrap() ^= 1;
    let mut batch = Batch::default();
    batch.put(Family::State, key, value);
    engine.write(batch).unwrap();
}

/// One row of one replica is wrong: that replica stops, whether it leads or follows, and no other.
async fn the_odd_one_stops(leads: bool) {
    let network = Direct::default();
    let engines: Vec<_> = (0..3).map(|_| Arc::new(Memory::new())).collect();
    let mut nodes = Vec::new();
    for (node, engine) in (1..).zip(&engines) {
        nodes.push(open(&network, node, Arc::clone(engine)).await);
    }
    let leader = led(&nodes).await;
    for index in 0..100 {
        write(&nodes[leader], index).await.unwrap();
    }
    let replica = |node: &Arc<RaftGroups>| node.stats().swap_remove(1);
    check(&nodes, || nodes.iter().all(|node| replica(node).checked > 100)).await;
    assert!(nodes.iter().all(|node| node.ready().is_ok() && !replica(node).differs), "equal replicas go on");

    let odd = if leads { leader } else { (leader + 1) % 3 };
    corrupt(&engines[odd]);
    check(&nodes, || nodes[odd].ready().is_err()).await;
    let why = nodes[odd].ready().unwrap_err();
    assert!(why.starts_with("shard 0 stops on this node: its state as of entry") && why.contains("differs"), "{why}");
    assert!(replica(&nodes[odd]).differs && replica(&nodes[odd]).stopped.is_some_and(|stopped| stopped == why));
    // Nothing of it is served here, and its other groups go on.
    assert!(nodes[odd].peek(SHARD, |_| ()).is_err() && nodes[odd].read(SHARD, |_, _| ()).await.is_err());
    nodes[odd].read(GroupId::Shard(1), |_, _| ()).await.unwrap();

    let others: Vec<_> = (0..3).filter(|node| *node != odd).collect();
    // Each of them may have heard of the odd one first.
    check(&nodes, || others.iter().all(|other| !replica(&nodes[*other]).differs)).await;
    write(&nodes[others[0]], 100).await.unwrap();
    for other in others {
        assert_eq!(written(&nodes[other], 200).await.len(), 101);
        assert!(nodes[other].ready().is_ok() && !replica(&nodes[other]).differs);
    }

    // It is not served after a restart either.
    let number = u64::try_from(odd).unwrap() + 1;
    network.take_out(number);
    nodes[odd].shutdown().await;
    let engine = Arc::new(engines[odd].crashed());
    let again = RaftGroups::start(Options { node: number, ..options(engine) }).await.err().unwrap().to_string();
    assert!(again.contains("shard 0 cannot start: its state as of entry"), "{again}");
    for node in &nodes {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_whose_state_differs_stops() {
    the_odd_one_stops(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_state_differs_stops() {
    the_odd_one_stops(true).await;
}
