//! A node that is to have no replica writes and reads where there is one.

use std::sync::atomic::{AtomicUsize, Ordering};

use quorate_statemachine::store::Row;

use super::cluster::{Direct, led, three};
use super::*;

/// All rows of the shard, from the end where `reverse`.
async fn rows(groups: &RaftGroups, reverse: bool) -> Vec<Row> {
    let all = move |rows: &dyn quorate_statemachine::store::Read, _| {
        rows.scan(vec![]..vec![255], reverse, usize::MAX).unwrap()
    };
    groups.read(SHARD, all).await.unwrap()
}

/// Three nodes, and where the leader, another replica and the node without one are in them.
async fn without_one(network: &Direct) -> (Vec<Arc<RaftGroups>>, [usize; 3]) {
    let nodes = three(network).await;
    let leader = led(&nodes).await;
    let (other, away) = ((leader + 1) % 3, (leader + 2) % 3);
    let hosts: BTreeSet<_> = [leader, other].map(|at| nodes[at].node()).into();
    for node in &nodes {
        node.set_hosts([(SHARD, &hosts)]);
    }
    (nodes, [leader, other, away])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_a_replica_writes_and_reads_as_the_others() {
    let (nodes, [leader, other, away]) = without_one(&Direct::default()).await;
    for index in 0..20 {
        // More than a response holds, all together.
        let bytes = vec![u8::try_from(index).unwrap(); 200_000];
        let large = Command::Shard(ShardCommand::StoreChunk { file: file(), index: index + 100, bytes });
        nodes[leader].propose(SHARD, large).await.unwrap().unwrap();
        write(&nodes[away], index).await.unwrap();
        assert_eq!(written(&nodes[away], 30).await.len(), usize::try_from(index).unwrap() + 1, "it sees what it wrote");
    }
    write(&nodes[other], 20).await.unwrap();
    assert_eq!(written(&nodes[away], 30).await, (0..=20).collect::<Vec<_>>(), "and what others wrote");
    for reverse in [false, true] {
        assert_eq!(rows(&nodes[away], reverse).await, rows(&nodes[leader], reverse).await);
    }
    let few = |groups: Arc<RaftGroups>| async move {
        let few = |rows: &dyn quorate_statemachine::store::Read, _| rows.scan(vec![]..vec![255], true, 11).unwrap();
        groups.read(SHARD, few).await.unwrap()
    };
    assert_eq!(few(Arc::clone(&nodes[away])).await, few(Arc::clone(&nodes[leader])).await);
    assert!(nodes[away].ready().is_ok());
    assert!(nodes[away].stats().iter().all(|stats| stats.group != SHARD), "it has no replica to tell of");
    for node in &nodes {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_begins_anew_when_the_replica_goes_away() {
    let network = Direct::default();
    let (nodes, [_, other, away]) = without_one(&network).await;
    write(&nodes[away], 7).await.unwrap();
    let mut again = 0;
    // They are asked in turn, so one of two reads is at the one that goes.
    for _ in 0..2 {
        let (runs, goes) = (Arc::new(AtomicUsize::new(0)), network.clone());
        let (counted, number) = (Arc::clone(&runs), nodes[other].node());
        let read = move |rows: &dyn quorate_statemachine::store::Read, _| {
            if counted.fetch_add(1, Ordering::Relaxed) == 0 {
                goes.take_out(number);
            }
            file_chunk(rows, file(), 7)
        };
        let found = nodes[away].read(SHARD, read).await.unwrap().unwrap();
        assert!(found.is_some());
        again += runs.load(Ordering::Relaxed) - 1;
        network.put(number, &nodes[other]);
    }
    assert_eq!(again, 1);
    for node in &nodes {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_replica_nothing_is_known_in_time() {
    let network = Direct::default();
    let transport = Arc::new(network);
    let (engine, budget) = (Arc::new(crate::engine::memory::Memory::new()), Duration::from_millis(200));
    let alone = RaftGroups::start(Options { transport, budget, ..options(engine) }).await.unwrap();
    // Its own replica leads: where it is wanted does not matter then.
    alone.set_hosts([(SHARD, &BTreeSet::from([2, 3]))]);
    write(&alone, 1).await.unwrap();
    alone.shutdown().await;

    let (engine, transport) = (Arc::new(crate::engine::memory::Memory::new()), Arc::new(Direct::default()));
    let joins = Options { node: 4, members: BTreeSet::new(), transport, budget, ..options(engine) };
    let joined = RaftGroups::start(joins).await.unwrap();
    joined.set_hosts([(SHARD, &BTreeSet::from([2, 3]))]);
    assert!(write(&joined, 1).await.is_err());
    assert!(joined.read(SHARD, |_, _| ()).await.is_err());
    joined.shutdown().await;
}
