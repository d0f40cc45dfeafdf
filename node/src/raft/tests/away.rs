//! A replica that is away for long.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use quorate_proto::codec;

use super::super::Unreached;
use super::super::message::Request;
use super::cluster::{Direct, led, open};
use super::*;
use crate::engine::memory::Memory;
use crate::engine::{Family, Look as _, keys};

fn held(engine: &Memory) -> usize {
    engine.scan(Family::Log, keys::log_range(SHARD, 0, None), false, usize::MAX).unwrap().len()
}

/// Logs do not wait for one that is away; it is sent a snapshot when it comes back, while writes go on.
#[tokio::test(flavor = "multi_thread")]
async fn logs_stay_bounded_while_a_replica_is_away_and_it_comes_back_under_load() {
    let network = Direct::default();
    let engines: Vec<_> = (0..3).map(|_| Arc::new(Memory::new())).collect();
    let mut nodes = Vec::new();
    for (node, engine) in (1..).zip(&engines) {
        nodes.push(open(&network, node, Arc::clone(engine)).await);
    }
    let leader = led(&nodes).await;
    let away = (leader + 1) % 3;
    let number = u64::try_from(away).unwrap() + 1;
    write(&nodes[leader], 0).await.unwrap();
    network.take_out(number);
    nodes[away].shutdown().await;
    for index in 1..600 {
        write(&nodes[leader], index).await.unwrap();
    }
    for _ in 0..100 {
        if held(&engines[leader]) <= 150 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(held(&engines[leader]) <= 150, "{} entries are held with a snapshot every 64", held(&engines[leader]));

    // It comes back while writes go on, and none of them waits for it.
    let writer = Arc::clone(&nodes[leader]);
    let load = tokio::spawn(async move {
        let mut longest = Duration::ZERO;
        for index in 600..1000 {
            let began = std::time::Instant::now();
            write(&writer, index).await.unwrap();
            longest = longest.max(began.elapsed());
        }
        longest
    });
    nodes[away] = open(&network, number, Arc::new(engines[away].crashed())).await;
    let longest = load.await.unwrap();
    assert!(longest < Duration::from_secs(1), "a write took {longest:?}");
    assert_eq!(written(&nodes[away], 1001).await.len(), 1000);
    assert_eq!(digest_of(&nodes[away], SHARD).await, digest_of(&nodes[leader], SHARD).await);
    for node in &nodes {
        node.shutdown().await;
    }
}

/// Counts the chunks of snapshots, and loses one: its request or its response, and with it the link.
struct Cut {
    direct: Direct,
    cuts: Arc<Mutex<Cuts>>,
    taken: Arc<AtomicUsize>,
}

/// What becomes of the chunks that are still to come: nothing, or the loss of a request or a response.
type Cuts = Vec<Option<bool>>;

impl Transport for Cut {
    fn call(&self, peer: u64, group: GroupId, request: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
        let chunk = group == SHARD && matches!(codec::decode(&request), Ok(Request::Chunk { .. }));
        let cut = if chunk { self.cuts.lock().unwrap().pop().flatten() } else { None };
        let lost = move || Unreached { peer, sent: true, why: "cut".to_owned() };
        if cut == Some(true) {
            return Box::pin(async move { Err(lost()) });
        }
        let (answer, taken) = (self.direct.call(peer, group, request), Arc::clone(&self.taken));
        Box::pin(async move {
            let answer = answer.await;
            taken.fetch_add(usize::from(chunk), Ordering::Relaxed);
            if cut == Some(false) { Err(lost()) } else { answer }
        })
    }
}

/// A transfer that breaks, twice, goes on where it was, under load.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_is_cut_goes_on() {
    let network = Direct::default();
    let (cuts, taken) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
    let start = async |node: u64, engine: Arc<Memory>| {
        let (cuts, taken) = (Arc::clone(&cuts), Arc::clone(&taken));
        let (transport, members) = (Arc::new(Cut { direct: network.of(node), cuts, taken }), BTreeSet::from([1, 2, 3]));
        let opened = RaftGroups::start(Options { node, members, transport, ..options(engine) }).await.unwrap();
        network.put(node, &opened);
        opened
    };
    let mut nodes = Vec::new();
    let engines: Vec<_> = (0..3).map(|_| Arc::new(Memory::new())).collect();
    for (node, engine) in (1..).zip(&engines) {
        nodes.push(start(node, Arc::clone(engine)).await);
    }
    let leader = led(&nodes).await;
    let away = (leader + 1) % 3;
    let number = u64::try_from(away).unwrap() + 1;
    network.take_out(number);
    nodes[away].shutdown().await;
    // Ten megabytes, which are 34 chunks; then as many small ones as the log keeps no more.
    for index in 0..100 {
        let store = ShardCommand::StoreChunk { file: file(), index, bytes: vec![7; 100 << 10] };
        nodes[leader].propose(SHARD, Command::Shard(store)).await.unwrap().unwrap();
    }
    for index in 100..250 {
        write(&nodes[leader], index).await.unwrap();
    }
    // Until then it could be sent the log itself.
    for _ in 0..500 {
        if nodes[leader].stats()[1].purged > 110 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(nodes[leader].stats()[1].purged > 110, "{:?}", nodes[leader].stats()[1]);
    // Popped from the end: the tenth chunk is lost, and of the twentieth the response.
    let mut script: Cuts = vec![None; 40];
    (script[20], script[30]) = (Some(false), Some(true));
    *cuts.lock().unwrap() = script;

    nodes[away] = start(number, Arc::new(engines[away].crashed())).await;
    for index in 250..400 {
        write(&nodes[leader], index).await.unwrap();
    }
    assert_eq!(written(&nodes[away], 401).await.len(), 400);
    assert_eq!(digest_of(&nodes[away], SHARD).await, digest_of(&nodes[leader], SHARD).await);
    let taken = taken.load(Ordering::Relaxed);
    assert!((30..40).contains(&taken), "{taken} chunks were taken of one snapshot");
    for node in &nodes {
        node.shutdown().await;
    }
}
