//! Clients that call all the time, at nodes that may change: every call must succeed, and see what was answered before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::RwLock;
use tokio::task::JoinHandle;

use crate::binary::tool;
use crate::cluster::Cluster;

/// How many clients there are.
const CLIENTS: usize = 3;
/// How long a client waits between two rounds of calls.
const PAUSE: Duration = Duration::from_millis(20);
/// A call that takes longer is told, for whoever looks.
const SLOW: Duration = Duration::from_secs(1);

/// Clients that call until the end.
pub struct Load {
    /// The addresses of all nodes, and those that are called now.
    urls: Vec<String>,
    targets: Arc<RwLock<Vec<String>>>,
    ends: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    /// Clients of these nodes.
    pub fn start(cluster: &Cluster, token: &str, nodes: &[usize]) -> Self {
        let urls: Vec<_> = (0..cluster.nodes.len()).map(|node| format!("{}/mcp", cluster.url(node, 0))).collect();
        let targets = Arc::new(RwLock::new(nodes.iter().map(|node| urls[*node].clone()).collect()));
        let (ends, turn) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let client = |number| {
            let client = Client { number, token: token.to_owned(), turn: Arc::clone(&turn) };
            tokio::spawn(client.run(Arc::clone(&targets), Arc::clone(&ends)))
        };
        Self { clients: (0..CLIENTS).map(client).collect(), urls, targets, ends }
    }

    /// Calls these nodes from now on; calls at others have ended when this returns.
    pub async fn at(&self, nodes: &[usize]) {
        assert!(self.clients.iter().all(|client| !client.is_finished()), "a call failed");
        *self.targets.write().await = nodes.iter().map(|node| self.urls[*node].clone()).collect();
    }

    /// Ends the calls, looks whether each of these nodes has every run, and tells how many there are.
    pub async fn end(self, cluster: &Cluster, token: &str, nodes: &[usize]) -> usize {
        self.ends.store(true, Ordering::Relaxed);
        let mut runs = Vec::new();
        for client in self.clients {
            runs.extend(client.await.unwrap());
        }
        for (at, run) in runs.iter().enumerate() {
            let said = cluster.tool(nodes[at % nodes.len()], token, "get_run", json!({ "runId": run })).await;
            assert_eq!(said["data"]["run"]["id"], json!(run), "{said}");
        }
        runs.len()
    }
}

struct Client {
    number: usize,
    token: String,
    /// All clients go round the nodes together.
    turn: Arc<AtomicUsize>,
}

impl Client {
    /// Starts runs, and looks for each at another node; the runs it started.
    async fn run(self, targets: Arc<RwLock<Vec<String>>>, ends: Arc<AtomicBool>) -> Vec<String> {
        let mut runs: Vec<String> = Vec::new();
        while !ends.load(Ordering::Relaxed) {
            let targets = targets.read().await;
            let next = || targets[self.turn.fetch_add(1, Ordering::Relaxed) % targets.len()].clone();
            let request = format!("load-{}-{}", self.number, runs.len());
            let start = json!({ "process": "rest", "inputs": { "n": 1 }, "requestId": request });
            let (at, started) = self.call(next(), "start_run", start).await;
            let run = started["data"]["run"]["id"].as_str().unwrap_or_else(|| panic!("{request} at {at}: {started}"));
            let (at, seen) = self.call(next(), "get_run", json!({ "runId": run })).await;
            assert_eq!(seen["data"]["run"]["id"], json!(run), "{request} at {at}: {seen}");
            let (at, listed) = self.call(next(), "list_runs", json!({ "limit": 20 })).await;
            let listed_runs = listed["data"]["items"].as_array().unwrap_or_else(|| panic!("{at}: {listed}"));
            assert!(!listed_runs.is_empty(), "{at}: {listed}");
            runs.push(run.to_owned());
            drop(targets);
            tokio::time::sleep(PAUSE).await;
        }
        runs
    }

    async fn call(&self, at: String, name: &str, arguments: serde_json::Value) -> (String, serde_json::Value) {
        let begun = Instant::now();
        let said = tool(&json!({ "mcp": [at] }), &self.token, name, arguments).await;
        if begun.elapsed() > SLOW {
            eprintln!("{name} at {at} took {:?}", begun.elapsed());
        }
        (at, said)
    }
}
