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

use cluster::{Cluster, publish};
use load::Load;

/// Three nodes become five; one loses its disk and is replaced; two of the founders go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_come_are_replaced_and_go_and_no_call_fails() {
    let mut cluster = Cluster::of(5, 3);
    for number in 0..3 {
        cluster.start(number);
    }
    for number in 0..3 {
        cluster.ready(number).await;
    }
    let (operator, agent) =
        (cluster.token(&["--human", "ops@example.com", "--operator"]), cluster.token(&["--agent", "a1"]));
    publish(&cluster, 0, &operator).await;
    let load = Load::start(&cluster, &agent, &[0, 1, 2]);

    for number in [3, 4] {
        cluster.let_in(number, &operator).await;
        cluster.start(number);
        cluster.ready(number).await;
    }
    cluster.members(0, &operator, &[1, 2, 3, 4, 5]).await;
    load.at(&[0, 1, 2, 3, 4]).await;

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
    cluster.members(0, &operator, &stay).await;
    load.at(&[0, 1, 2, 3, 4]).await;

    // Back to three, without two of the founders.
    load.at(&[0, 3, 4]).await;
    for number in [1, 2] {
        let gone = cluster.number(number, &operator).await;
        cluster.remove(0, &operator, gone).await;
        stay.retain(|node| *node != gone);
        cluster.members(0, &operator, &stay).await;
        cluster.kill(number);
    }
    let calls = load.end(&cluster, &agent, &[0, 3, 4]).await;
    assert!(calls > 100, "{calls} calls are no load");
}
