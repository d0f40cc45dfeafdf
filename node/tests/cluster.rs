//! Nodes of a cluster as processes of their own: they found it in any start order, once; survive a loss; are replaced.
#![cfg(all(feature = "http", feature = "rocks"))]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/binary.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod binary;

#[path = "cluster/disk.rs"]
mod disk;
#[path = "cluster/recover.rs"]
mod recover;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use binary::{Folder, Server, http, run, tool};
use serde_json::{Value, json};

/// How long nodes may take to become ready.
const PATIENCE: Duration = Duration::from_mins(1);

/// The nodes of one cluster, each with a folder of its own.
struct Cluster {
    folder: Folder,
    /// MCP, administration and peer port of each node.
    ports: Vec<[u16; 3]>,
    nodes: Vec<Option<Server>>,
}

impl Cluster {
    /// Settings for so many nodes; none runs yet.
    fn new(size: usize) -> Self {
        let folder = Folder::new();
        let (status, auth, err) = run(&["token", "--auth", "--data", folder.0.to_str().unwrap()]);
        assert_eq!(status, 0, "{err}");
        let auth: Value = serde_json::from_str(&auth).unwrap();
        // Held together, so that no two are equal.
        let listeners: Vec<_> = (0..3 * size).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let all: Vec<u16> = listeners.iter().map(|l| l.local_addr().unwrap().port()).collect();
        let ports: Vec<[u16; 3]> = all.chunks(3).map(|ports| ports.try_into().unwrap()).collect();
        let join: Vec<_> = ports.iter().map(|ports| format!("127.0.0.1:{}", ports[2])).collect();
        for (number, [mcp, admin, peer]) in ports.iter().enumerate() {
            let data = folder.0.join(format!("node-{number}"));
            let settings = json!({
                "data_dir": data, "listen": format!("127.0.0.1:{mcp}"), "admin_listen": format!("127.0.0.1:{admin}"),
                "public_url": format!("http://127.0.0.1:{mcp}"), "shards": 2, "operator_group": "g_ops",
                "auth": auth["auth"], "log": { "format": "text" },
                "cluster": {
                    "listen": format!("127.0.0.1:{peer}"), "bootstrap_expect": size, "join": join, "insecure": true,
                },
            });
            folder.file(&format!("node-{number}.yaml"), &settings.to_string());
        }
        Self { folder, ports, nodes: (0..size).map(|_| None).collect() }
    }

    fn start(&mut self, number: usize) {
        let settings = self.folder.0.join(format!("node-{number}.yaml"));
        let logs = self.folder.0.join(format!("log-{number}"));
        std::fs::create_dir_all(&logs).unwrap();
        self.nodes[number] = Some(Server::start(&logs, &["serve", "--config", settings.to_str().unwrap()]));
    }

    fn kill(&mut self, number: usize) {
        self.nodes[number] = None;
    }

    /// Asks the node to stop, and waits until it has.
    fn stop(&mut self, number: usize) {
        let mut node = self.nodes[number].take().unwrap();
        node.signal("TERM");
        assert_eq!(node.end(), Some(0), "{}", node.told());
    }

    fn url(&self, number: usize, which: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[number][which])
    }

    fn told(&self, number: usize) -> String {
        self.nodes[number].as_ref().map_or(String::new(), Server::told)
    }

    /// Waits until a node answers that it is ready.
    async fn ready(&self, number: usize) {
        let (begun, url) = (Instant::now(), format!("{}/readyz", self.url(number, 1)));
        let client = quorate::http::client::client(Duration::from_secs(5)).unwrap();
        while !client.get(&url).send().await.is_ok_and(|said| said.status().is_success()) {
            assert!(begun.elapsed() < PATIENCE, "node {number} is not ready: {}", self.told(number));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn token(&self, who: &[&str]) -> String {
        let data = self.folder.0.to_str().unwrap();
        let (status, token, err) = run(&[&["token", "--data", data], who].concat());
        assert_eq!(status, 0, "{err}");
        token.trim().to_owned()
    }

    async fn tool(&self, number: usize, token: &str, name: &str, arguments: Value) -> Value {
        let dev = json!({ "mcp": [format!("{}/mcp", self.url(number, 0))] });
        tool(&dev, token, name, arguments).await
    }

    /// Gives a node a token that lets it in.
    async fn let_in(&self, number: usize, operator: &str) {
        let url = format!("{}/admin/v1/cluster/join-tokens", self.url(0, 1));
        let (status, said) = http("POST", &url, operator, r#"{"ttl":"5m"}"#).await;
        assert_eq!(status, 200, "{said}");
        let file = self.folder.file("join-token", said["token"].as_str().unwrap());
        let place = self.folder.0.join(format!("node-{number}.yaml"));
        let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&place).unwrap()).unwrap();
        settings["cluster"]["join_token_file"] = json!(file);
        std::fs::write(place, settings.to_string()).unwrap();
    }

    /// The numbers of the nodes in a state, as one node tells.
    async fn numbers(&self, number: usize, operator: &str, state: &str) -> Vec<u64> {
        let said = self.status(number, operator).await;
        let nodes = said["nodes"].as_array().unwrap().iter().filter(|node| node["state"] == state);
        nodes.map(|node| node["node"].as_u64().unwrap()).collect()
    }

    /// Waits until these nodes vote in every group, and nobody else.
    async fn members(&self, number: usize, operator: &str, nodes: &[u64]) {
        let begun = Instant::now();
        loop {
            let said = self.status(number, operator).await;
            let there = |group: &Value| group["voters"] == json!(nodes) && group["learners"] == json!([]);
            if said["groups"].as_array().unwrap().iter().all(there) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{said}: {}", self.told(number));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn status(&self, number: usize, operator: &str) -> Value {
        let (status, said) = http("GET", &format!("{}/admin/v1/cluster", self.url(number, 1)), operator, "").await;
        assert_eq!(status, 200, "{said}");
        said
    }
}

const REST: &str = "---\nname: rest\ndescription: d\ninputs: {n: number}\nsteps:\n  - { id: a, wait: 1d }\n  - { id: z, finish: ok }\n---\n";

async fn publish(cluster: &Cluster, number: usize, operator: &str) {
    let admin = cluster.url(number, 1);
    let (status, said) = http("POST", &format!("{admin}/admin/v1/drafts"), operator, REST).await;
    assert_eq!(status, 200, "{said}");
    let (status, said) =
        http("POST", &format!("{admin}/admin/v1/processes/rest/publish"), operator, r#"{"roles":{}}"#).await;
    assert!(status < 300, "{status} {said}");
}

/// Starts a run under a request id at one node; its id.
async fn begin(cluster: &Cluster, number: usize, token: &str, request: &str) -> String {
    let call = json!({ "process": "rest", "inputs": { "n": 1 }, "requestId": request });
    let said = cluster.tool(number, token, "start_run", call).await;
    said["data"]["run"]["id"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
}

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
    let url = format!("{}/admin/v1/cluster/nodes/{lost}", cluster.url(1, 1));
    let (status, said) = http("DELETE", &url, &operator, "").await;
    assert_eq!(status, 200, "{said}");
    cluster.members(0, &operator, &[1, 2, 3, 4].into_iter().filter(|node| node != lost).collect::<Vec<_>>()).await;
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
    for number in 0..3 {
        cluster.start(number);
    }
    for number in 0..3 {
        cluster.ready(number).await;
    }
    let (operator, agent) =
        (cluster.token(&["--human", "ops@example.com", "--operator"]), cluster.token(&["--agent", "a1"]));
    publish(&cluster, 0, &operator).await;
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
