//! A node whose state went wrong on its disk: found by comparing, stopped, and replaced as the operators' guide says.
#![cfg(all(feature = "http", feature = "rocks"))]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/binary.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod binary;
#[path = "support/cluster.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod cluster;

use std::path::Path;
use std::time::{Duration, Instant};

use binary::http;
use cluster::{Cluster, PATIENCE, begin};
use quorate::engine::rocks::Rocks;
use quorate::engine::{Batch, Engine as _, Family, Look as _, flush, keys};
use quorate_proto::GroupId;
use serde_json::json;

/// Changes the last byte of the last row that a shard has in a folder that no node holds open.
async fn corrupt(folder: &Path, shard: u16) {
    let engine = Rocks::open(&folder.join("store")).unwrap();
    let rows =
        engine.scan(Family::State, keys::generations(GroupId::Shard(shard), 0, None), false, usize::MAX).unwrap();
    let (key, mut value) = rows.into_iter().rfind(|(_, value)| !value.is_empty()).unwrap();
    *value.last_mut().unwrap() ^= 1;
    let mut batch = Batch::default();
    batch.put(Family::State, key, value);
    engine.write(batch).unwrap();
    flush(&engine).await.unwrap();
    engine.close().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_differs_stops_and_is_replaced() {
    let mut cluster = Cluster::of(4, 3);
    for number in 0..4 {
        cluster.set_in("watch", number, "digest_every_s", &json!(1));
    }
    let (operator, agent) = cluster.serve(3).await;
    let mut runs = Vec::new();
    for request in 0..8 {
        runs.push(begin(&cluster, 0, &agent, &format!("r{request}")).await);
    }
    let odd = cluster.number(1, &operator).await;
    cluster.stop(1);
    corrupt(&cluster.folder.0.join("node-1"), 0).await;
    cluster.start(1);

    // It says so wherever one looks, and serves nothing of that shard.
    let (begun, url) = (Instant::now(), format!("{}/readyz", cluster.url(1, 1)));
    let client = quorate::http::client::client(Duration::from_secs(5)).unwrap();
    let why = loop {
        let said = match client.get(&url).send().await {
            Ok(said) => said.text().await.unwrap(),
            Err(_) => String::new(),
        };
        if said.contains("differs from that of a majority") {
            break said;
        }
        assert!(begun.elapsed() < PATIENCE, "{said}\n{}", cluster.told(1));
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(
        why.contains("shard 0 stops on this node: its state as of entry") && why.contains("replace this node"),
        "{why}"
    );
    assert!(cluster.told(1).contains("differs from that of a majority"), "{}", cluster.told(1));
    let (_, figures) = http("GET", &format!("{}/metrics", cluster.url(1, 1)), "", "").await;
    let figures = figures.as_str().unwrap();
    let stopped = |name| figures.lines().any(|line| line.starts_with(name) && line.ends_with(" 1"));
    assert!(stopped("quorate_group_stopped{") && stopped("quorate_group_differs{"), "{figures}");
    // The others have everything.
    for run in &runs {
        let said = cluster.tool(0, &agent, "get_run", json!({ "runId": run })).await;
        assert_eq!(said["data"]["run"]["id"], json!(run), "{said}");
    }
    cluster.kill(1);

    // Another node takes its place, then it is removed.
    cluster.let_in(3, &operator).await;
    cluster.start(3);
    cluster.ready(3).await;
    cluster.remove(0, &operator, odd).await;
    let new = cluster.number(3, &operator).await;
    let mut stay = vec![1, 2, 3, new];
    stay.retain(|node| *node != odd);
    cluster.settled(0, &operator, &stay).await;
    for run in &runs {
        let said = cluster.tool(3, &agent, "get_run", json!({ "runId": run })).await;
        assert_eq!(said["data"]["run"]["id"], json!(run), "{said}");
    }
}
