//! Nodes of a cluster as processes of their own: they found it in any start order, once; survive a loss; are replaced.
#![cfg(all(feature = "http", feature = "rocks"))]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/binary.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod binary;
#[path = "support/cluster.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod cluster;

#[path = "support/load.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod load;

#[path = "cluster/disk.rs"]
mod disk;
#[path = "cluster/drain.rs"]
mod drain;
#[path = "cluster/recover.rs"]
mod recover;

use std::time::{Duration, Instant};

use binary::{Folder, Server, dev_json, tool};
use cluster::{Cluster, begin, publish};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_found_a_cluster_once_and_one_that_is_lost_is_replaced() {
    let mut cluster = Cluster::new(3);
    // The last one first, and one later than the others: they wait, and say so.
    cluster.start(2);
    cluster.start(0);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let client = quorate::http::client::client(Duration::from_secs(5)).unwrap();
    let waits = client.get(format!("{}/readyz", cluster.url(0, 1))).send().await.unwrap();
    assert_eq!(waits.status(), 503);
    assert_eq!(waits.text().await.unwrap(), "not ready: waiting for 3 nodes, 2 are here\n");
    assert_eq!(client.get(format!("{}/livez", cluster.url(0, 1))).send().await.unwrap().status(), 200);
    cluster.start(1);
    for number in 0..3 {
        cluster.ready(number).await;
    }
    let (operator, agent) =
        (cluster.token(&["--human", "ops@example.com", "--operator"]), cluster.token(&["--agent", "a1"]));
    publish(&cluster, 1, &operator).await;
    let first = begin(&cluster, 0, &agent, "one").await;
    for number in 0..3 {
        assert_eq!(begin(&cluster, number, &agent, "one").await, first, "one run, wherever it is asked");
        let run = cluster.tool(number, &agent, "get_run", json!({ "runId": first })).await;
        assert_eq!(run["data"]["run"]["id"], json!(first), "{run}");
    }

    // One is lost with everything it had in memory.
    cluster.kill(2);
    let second = begin(&cluster, 0, &agent, "two").await;
    let status = cluster.status(1, &operator).await;
    let nodes: Vec<_> = status["nodes"].as_array().unwrap().iter().map(|n| n["state"].as_str().unwrap()).collect();
    assert_eq!(nodes.iter().filter(|state| **state == "unreachable").count(), 1, "{status}");
    cluster.start(2);
    cluster.ready(2).await;
    assert_eq!(begin(&cluster, 2, &agent, "two").await, second);

    // Its disk is lost: it does not found a second cluster, and says what to do.
    cluster.kill(2);
    std::fs::remove_dir_all(cluster.folder.0.join("node-2")).unwrap();
    cluster.start(2);
    let mut wiped = cluster.nodes[2].take().unwrap();
    assert_eq!(wiped.end(), Some(1));
    assert!(wiped.told().contains("A lost folder is never founded anew"), "{}", wiped.told());

    // With a token it joins as another node, and takes the place of the one that is lost.
    let lost = cluster.numbers(0, &operator, "unreachable").await;
    let [lost] = lost.as_slice() else { panic!("{lost:?}") };
    cluster.let_in(2, &operator).await;
    cluster.start(2);
    cluster.remove(1, &operator, *lost).await;
    cluster.settled(0, &operator, &[1, 2, 3, 4].into_iter().filter(|node| node != lost).collect::<Vec<_>>()).await;
    cluster.ready(2).await;
    assert_eq!(begin(&cluster, 2, &agent, "two").await, second);

    // It counts: without one of the others, it and the last one go on.
    cluster.kill(0);
    let third = begin(&cluster, 2, &agent, "three").await;
    for number in 1..3 {
        for run in [&first, &second, &third] {
            let said = cluster.tool(number, &agent, "get_run", json!({ "runId": run })).await;
            assert_eq!(said["data"]["run"]["id"], json!(run), "{said}");
        }
    }
    cluster.start(0);
    cluster.ready(0).await;
    cluster.stop(0);
    cluster.stop(1);
}

/// While nodes are restarted one after another, calls at the others all go through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_call() {
    let mut cluster = Cluster::new(3);
    let (operator, agent) = cluster.serve(3).await;
    let mut calls = 0;
    for number in 0..3 {
        let others = [(number + 1) % 3, (number + 2) % 3];
        let mut node = cluster.nodes[number].take().unwrap();
        node.signal("TERM");
        let stopped = tokio::task::spawn_blocking(move || assert_eq!(node.end(), Some(0), "{}", node.told()));
        while !stopped.is_finished() {
            for other in others {
                begin(&cluster, other, &agent, &format!("call-{calls}")).await;
                calls += 1;
            }
        }
        stopped.await.unwrap();
        cluster.start(number);
        cluster.ready(number).await;
    }
    let status = cluster.status(0, &operator).await;
    assert!(status["groups"].as_array().unwrap().iter().all(|group| group["leader"].is_u64()), "{status}");
}

/// Five in any start order, each with a replica of every shard; without two of them, the others go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_processes_found_a_cluster_and_go_on_without_two() {
    let mut cluster = Cluster::new(5);
    for number in [4, 1, 3, 0, 2] {
        cluster.set(number, "replication_factor", &json!(5));
        cluster.start(number);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for number in 0..5 {
        cluster.ready(number).await;
    }
    let (operator, agent) =
        (cluster.token(&["--human", "ops@example.com", "--operator"]), cluster.token(&["--agent", "a1"]));
    publish(&cluster, 3, &operator).await;
    let first = begin(&cluster, 0, &agent, "one").await;
    for number in 0..5 {
        assert_eq!(begin(&cluster, number, &agent, "one").await, first, "one run, wherever it is asked");
    }
    cluster.kill(1);
    cluster.kill(4);
    let second = begin(&cluster, 0, &agent, "two").await;
    for number in [0, 2, 3] {
        for run in [&first, &second] {
            let said = cluster.tool(number, &agent, "get_run", json!({ "runId": run })).await;
            assert_eq!(said["data"]["run"]["id"], json!(run), "{said}");
        }
    }
}

/// Five nodes in one process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_runs_five_nodes() {
    let folder = Folder::new();
    let _server = Server::dev(&folder.0, &["--nodes", "5", "--shards", "2"]);
    let dev = dev_json(&folder.0);
    let urls = dev["mcp"].as_array().unwrap();
    assert_eq!(urls.len(), 5);
    let token = dev["tokens"]["agent-1"].as_str().unwrap();
    for url in urls {
        let said = tool(&json!({ "mcp": [url] }), token, "list_processes", json!({})).await;
        assert!(!said["data"]["items"].as_array().unwrap().is_empty(), "{said}");
    }
}
