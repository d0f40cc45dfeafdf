//! The nodes of a cluster change while clients call: none of their calls fails.
#![cfg(all(feature = "http", feature = "rocks"))]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/binary.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod binary;
#[path = "support/cluster.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod cluster;
#[path = "support/load.rs"]
mod load;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use binary::http;
use cluster::Cluster;
use load::Load;
use serde_json::{Value, json};

/// Three nodes become five; one loses its disk and is replaced; two of the founders go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_come_are_replaced_and_go_and_no_call_fails() {
    let mut cluster = Cluster::of(5, 3);
    let (operator, agent) = cluster.serve(3).await;
    let load = Load::start(&cluster, &agent, &[0, 1, 2]);

    for number in [3, 4] {
        cluster.let_in(number, &operator).await;
        cluster.start(number);
        cluster.ready(number).await;
    }
    cluster.settled(0, &operator, &[1, 2, 3, 4, 5]).await;
    load.at(&[0, 1, 2, 3, 4]).await;
    // Three replicas of each shard, spread over the five: most nodes lack one of the two shards.
    let plan = cluster.plan(3, &operator).await;
    let replicas: Vec<_> = plan["nodes"].as_array().unwrap().iter().map(|n| n["replicas"].as_u64().unwrap()).collect();
    assert_eq!((replicas.iter().sum::<u64>(), replicas.iter().max()), (6, Some(&2)), "{plan}");
    // A replica that moved left nothing behind.
    let begun = Instant::now();
    let told = |cluster: &Cluster| (0..3).any(|number| cluster.told(number).contains("its rows are deleted"));
    while !told(&cluster) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", cluster.told(0));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    // What a node has no replica of, it reads in few round trips, also lists.
    let (mut reads, mut trips) = (0, 0);
    for number in 0..5 {
        let (_, figures) = http("GET", &format!("{}/metrics", cluster.url(number, 1)), "", "").await;
        let figure = |name| {
            let line = figures.as_str().unwrap().lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().parse::<u64>().unwrap()
        };
        reads += figure("quorate_far_reads_total");
        trips += figure("quorate_far_trips_total");
    }
    assert!(reads > 10 && trips <= 6 * reads, "{trips} round trips for {reads} reads");

    // The last one's disk is gone.
    let lost = cluster.number(4, &operator).await;
    load.at(&[0, 1, 2, 3]).await;
    cluster.kill(4);
    std::fs::remove_dir_all(cluster.folder.0.join("node-4")).unwrap();
    cluster.let_in(4, &operator).await;
    cluster.start(4);
    cluster.ready(4).await;
    cluster.remove(1, &operator, lost).await;
    let new = cluster.number(4, &operator).await;
    let mut stay: Vec<u64> = vec![1, 2, 3, 4, 5, new];
    stay.retain(|node| *node != lost);
    cluster.settled(0, &operator, &stay).await;
    load.at(&[0, 1, 2, 3, 4]).await;

    // Back to three, without two of the founders.
    load.at(&[0, 3, 4]).await;
    for number in [1, 2] {
        let gone = cluster.number(number, &operator).await;
        cluster.remove(0, &operator, gone).await;
        stay.retain(|node| *node != gone);
        cluster.settled(0, &operator, &stay).await;
        cluster.kill(number);
    }
    let calls = load.end(&cluster, &agent, &[0, 3, 4]).await;
    assert!(calls > 30, "{calls} calls are no load");
}

/// The zones of each shard's voters.
fn zones(plan: &Value) -> Vec<Vec<String>> {
    let zones: BTreeMap<_, _> =
        plan["nodes"].as_array().unwrap().iter().map(|n| (n["node"].as_u64(), &n["zone"])).collect();
    let of = |shard: &Value| {
        let voters = shard["voters"].as_array().unwrap().iter();
        let mut zones: Vec<_> = voters.map(|node| zones[&node.as_u64()].as_str().unwrap().to_owned()).collect();
        zones.sort();
        zones
    };
    plan["shards"].as_array().unwrap().iter().map(of).collect()
}

/// Two nodes change places, as when racks are moved: each shard has its replicas in three zones before and after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zones_move_and_no_call_fails() {
    let mut cluster = Cluster::of(4, 4);
    for (number, zone) in ["a", "b", "c", "c"].into_iter().enumerate() {
        cluster.set(number, "zone", &json!(zone));
    }
    let (operator, agent) = cluster.serve(4).await;
    cluster.settled(0, &operator, &[1, 2, 3, 4]).await;
    assert_eq!(zones(&cluster.plan(1, &operator).await), [["a", "b", "c"], ["a", "b", "c"]]);

    let all = [0, 1, 2, 3];
    let load = Load::start(&cluster, &agent, &all);
    for (number, zone) in [(3, "b"), (1, "c")] {
        let others: Vec<_> = all.into_iter().filter(|other| *other != number).collect();
        load.at(&others).await;
        cluster.stop(number);
        cluster.set(number, "zone", &json!(zone));
        cluster.start(number);
        cluster.ready(number).await;
        load.at(&all).await;
    }
    // The planner hears of it within a moment, and has work then.
    let number = cluster.number(1, &operator).await;
    loop {
        let plan = cluster.plan(0, &operator).await;
        let node = plan["nodes"].as_array().unwrap().iter().find(|node| node["node"] == json!(number)).unwrap();
        if node["zone"] == "c" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    cluster.settled(2, &operator, &[1, 2, 3, 4]).await;
    assert_eq!(zones(&cluster.plan(0, &operator).await), [["a", "b", "c"], ["a", "b", "c"]]);
    load.end(&cluster, &agent, &all).await;
}
