//! A node that is drained leads nothing, and nobody notices.

use serde_json::Value;

use super::*;
use crate::binary::{http, run};
use crate::cluster::PATIENCE;
use crate::load::Load;

/// A command about the cluster, as asked at one node.
fn command(cluster: &Cluster, number: usize, operator: &str, words: &[&str]) -> (i32, String, String) {
    let (token, url) = (cluster.folder.file("operator", operator), cluster.url(number, 1));
    let at = ["--server", &url, "--token-file", token.to_str().unwrap()];
    tokio::task::block_in_place(|| run(&[&["cluster"], words, &at].concat()))
}

/// What one node tells of a node by its number.
async fn told(cluster: &Cluster, number: usize, operator: &str, node: u64) -> Value {
    let said = cluster.status(number, operator).await;
    said["nodes"].as_array().unwrap().iter().find(|told| told["node"] == node).unwrap().clone()
}

/// Waits until a node is in a state and leads so many groups.
async fn is(cluster: &Cluster, number: usize, operator: &str, node: u64, (state, leads): (&str, u64)) {
    let begun = Instant::now();
    loop {
        let said = told(cluster, number, operator, node).await;
        if said["state"] == state && said["leads"] == leads {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "node {node} is to be {state} and to lead {leads}: {said}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_drained_node_leads_nothing_until_it_is_resumed_and_no_call_fails() {
    let mut cluster = Cluster::new(3);
    let (operator, agent) = cluster.serve(3).await;
    let load = Load::start(&cluster, &agent, &[0, 1, 2]);
    let mut nodes = Vec::new();
    for number in 0..3 {
        nodes.push(cluster.number(number, &operator).await);
        is(&cluster, number, &operator, nodes[number], ("ready", 1)).await;
    }
    let [first, second, third] = nodes.as_slice() else { panic!("{nodes:?}") };

    // It is asked at another node. Calls go on at the drained one, too.
    let (status, said, err) = command(&cluster, 1, &operator, &["drain", &first.to_string()]);
    assert!(status == 0 && said.contains("is drained"), "{said}{err}");
    let one = told(&cluster, 2, &operator, *first).await;
    assert_eq!(
        (&one["state"], &one["leads"], &one["drainedBy"]),
        (&json!("drained"), &json!(0), &json!("ops@example.com"))
    );
    let (status, ready) = http("GET", &format!("{}/readyz", cluster.url(0, 1)), "", "").await;
    assert!(status == 503 && ready.to_string().contains("drained since"), "{ready}");
    let (_, table, _) = command(&cluster, 0, &operator, &["status"]);
    assert!(table.contains("drained") && table.contains(&format!("quorate cluster resume {first}")), "{table}");

    // It is drained when it comes back, and takes nothing over when another is lost.
    load.at(&[1, 2]).await;
    cluster.stop(0);
    cluster.start(0);
    is(&cluster, 1, &operator, *first, ("drained", 0)).await;
    load.at(&[0, 2]).await;
    cluster.kill(1);
    while told(&cluster, 2, &operator, *third).await["leads"] != json!(3) {
        assert_eq!(told(&cluster, 0, &operator, *first).await["leads"], json!(0), "not for a moment");
    }
    cluster.start(1);
    cluster.ready(1).await;
    load.at(&[0, 1, 2]).await;
    assert_eq!(told(&cluster, 2, &operator, *first).await["leads"], json!(0));

    // Somebody must be left to lead.
    let (status, _, err) = command(&cluster, 0, &operator, &["drain", &second.to_string()]);
    assert_eq!(status, 0, "{err}");
    let (status, _, err) = command(&cluster, 0, &operator, &["drain", &third.to_string()]);
    assert!(status == 1 && err.contains("Nobody would be left to lead the catalog"), "{err}");
    is(&cluster, 0, &operator, *third, ("ready", 3)).await;
    load.at(&[0, 1]).await;

    // With nobody else, one that is drained leads rather than nobody; it hands over when there is another again.
    cluster.kill(2);
    let begun = Instant::now();
    let call = json!({ "process": "rest", "inputs": { "n": 1 }, "requestId": "alone" });
    assert!(cluster.tool(0, &agent, "start_run", call).await["data"]["run"]["id"].is_string());
    assert!(begun.elapsed() > Duration::from_secs(2), "they wait for others to lead: {:?}", begun.elapsed());
    cluster.start(2);
    cluster.ready(2).await;
    is(&cluster, 2, &operator, *third, ("ready", 3)).await;
    load.at(&[0, 1, 2]).await;

    for node in [first, second] {
        let (status, said, err) = command(&cluster, 2, &operator, &["resume", &node.to_string()]);
        assert!(status == 0 && said.contains("may lead again"), "{said}{err}");
    }
    for (number, node) in nodes.iter().enumerate() {
        is(&cluster, number, &operator, *node, ("ready", 1)).await;
        cluster.ready(number).await;
    }
    assert!(load.end(&cluster, &agent, &[0, 1, 2]).await > 10);
}
