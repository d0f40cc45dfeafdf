//! A cluster of `quorate serve` processes over loopback, and what tests ask of it.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::binary::{Folder, Server, http, run, tool};

/// How long nodes may take to become ready.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The nodes of one cluster, each with a folder of its own.
pub struct Cluster {
    pub folder: Folder,
    /// MCP, administration and peer port of each node.
    ports: Vec<[u16; 3]>,
    pub nodes: Vec<Option<Server>>,
}

impl Cluster {
    /// Settings for so many nodes, which found the cluster together; none runs yet.
    pub fn new(size: usize) -> Self {
        Self::of(size, size)
    }

    /// Settings for so many nodes, of which the first `founders` found the cluster.
    pub fn of(size: usize, founders: usize) -> Self {
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
                    "listen": format!("127.0.0.1:{peer}"), "bootstrap_expect": founders, "join": join, "insecure": true,
                    "operated_by": "demo",
                },
            });
            folder.file(&format!("node-{number}.yaml"), &settings.to_string());
        }
        Self { folder, ports, nodes: (0..size).map(|_| None).collect() }
    }

    /// Starts the first nodes, waits until all of them are ready, and publishes [`REST`]. The tokens of an operator and an agent.
    pub async fn serve(&mut self, nodes: usize) -> (String, String) {
        for number in 0..nodes {
            self.start(number);
        }
        for number in 0..nodes {
            self.ready(number).await;
        }
        let (operator, agent) =
            (self.token(&["--human", "ops@example.com", "--operator"]), self.token(&["--agent", "a1"]));
        publish(self, 0, &operator).await;
        (operator, agent)
    }

    pub fn start(&mut self, number: usize) {
        let settings = self.folder.0.join(format!("node-{number}.yaml"));
        let logs = self.folder.0.join(format!("log-{number}"));
        std::fs::create_dir_all(&logs).unwrap();
        self.nodes[number] = Some(Server::start(&logs, &["serve", "--config", settings.to_str().unwrap()]));
    }

    pub fn kill(&mut self, number: usize) {
        self.nodes[number] = None;
    }

    /// Asks the node to stop, and waits until it has.
    pub fn stop(&mut self, number: usize) {
        let mut node = self.nodes[number].take().unwrap();
        node.signal("TERM");
        assert_eq!(node.end(), Some(0), "{}", node.told());
    }

    pub fn url(&self, number: usize, which: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[number][which])
    }

    pub fn told(&self, number: usize) -> String {
        self.nodes[number].as_ref().map_or(String::new(), Server::told)
    }

    /// Waits until a node answers that it is ready.
    pub async fn ready(&self, number: usize) {
        let (begun, url) = (Instant::now(), format!("{}/readyz", self.url(number, 1)));
        let client = quorate::http::client::client(Duration::from_secs(5)).unwrap();
        while !client.get(&url).send().await.is_ok_and(|said| said.status().is_success()) {
            assert!(begun.elapsed() < PATIENCE, "node {number} is not ready: {}", self.told(number));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub fn token(&self, who: &[&str]) -> String {
        let data = self.folder.0.to_str().unwrap();
        let (status, token, err) = run(&[&["token", "--data", data], who].concat());
        assert_eq!(status, 0, "{err}");
        token.trim().to_owned()
    }

    pub async fn tool(&self, number: usize, token: &str, name: &str, arguments: Value) -> Value {
        let dev = json!({ "mcp": [format!("{}/mcp", self.url(number, 0))] });
        tool(&dev, token, name, arguments).await
    }

    /// Gives a node a token that lets it in.
    pub async fn let_in(&self, number: usize, operator: &str) {
        let url = format!("{}/admin/v1/cluster/join-tokens", self.url(0, 1));
        let (status, said) = http("POST", &url, operator, r#"{"ttl":"5m"}"#).await;
        assert_eq!(status, 200, "{said}");
        let file = self.folder.file("join-token", said["token"].as_str().unwrap());
        self.set(number, "join_token_file", &json!(file));
    }

    /// Changes a setting of a node's `cluster`, for its next start.
    pub fn set(&self, number: usize, name: &str, value: &Value) {
        self.set_in("cluster", number, name, value);
    }

    /// Changes a setting in a section of a node's settings, for its next start.
    pub fn set_in(&self, section: &str, number: usize, name: &str, value: &Value) {
        let place = self.folder.0.join(format!("node-{number}.yaml"));
        let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&place).unwrap()).unwrap();
        settings[section][name] = value.clone();
        std::fs::write(place, settings.to_string()).unwrap();
    }

    /// The numbers of the nodes in a state, as one node tells.
    pub async fn numbers(&self, number: usize, operator: &str, state: &str) -> Vec<u64> {
        let said = self.status(number, operator).await;
        let nodes = said["nodes"].as_array().unwrap().iter().filter(|node| node["state"] == state);
        nodes.map(|node| node["node"].as_u64().unwrap()).collect()
    }

    /// Waits until these nodes are the cluster's, every group votes where it is wanted, and nothing is left to do.
    pub async fn settled(&self, number: usize, operator: &str, nodes: &[u64]) {
        let (begun, url) = (Instant::now(), format!("{}/admin/v1/cluster/plan", self.url(number, 1)));
        loop {
            let (told, plan) = http("GET", &url, operator, "").await;
            let said = self.status(number, operator).await;
            let there: Vec<_> = plan["nodes"].as_array().into_iter().flatten().map(|n| n["node"].clone()).collect();
            let known: Vec<_> = said["nodes"].as_array().unwrap().iter().map(|n| n["node"].clone()).collect();
            let votes = |group: &Value| group["voters"] == group["wanted"];
            let settled = told == 200
                && plan["next"]["kind"] == "nothing"
                && json!(there) == json!(nodes)
                && json!(known) == json!(nodes)
                && said["groups"].as_array().unwrap().iter().all(votes);
            if settled {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{plan}\n{said}\n{}", self.told(number));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// What the planner says at one node.
    pub async fn plan(&self, number: usize, operator: &str) -> Value {
        let (status, said) = http("GET", &format!("{}/admin/v1/cluster/plan", self.url(number, 1)), operator, "").await;
        assert_eq!(status, 200, "{said}");
        said
    }

    /// Takes a node out, as asked at another one.
    pub async fn remove(&self, number: usize, operator: &str, node: u64) {
        let url = format!("{}/admin/v1/cluster/nodes/{node}", self.url(number, 1));
        let (status, said) = http("DELETE", &url, operator, "").await;
        assert_eq!(status, 200, "{said}");
    }

    /// The number a node has in the cluster.
    pub async fn number(&self, number: usize, operator: &str) -> u64 {
        self.status(number, operator).await["asked"].as_u64().unwrap()
    }

    pub async fn status(&self, number: usize, operator: &str) -> Value {
        let (status, said) = http("GET", &format!("{}/admin/v1/cluster", self.url(number, 1)), operator, "").await;
        assert_eq!(status, 200, "{said}");
        said
    }
}

pub const REST: &str = "---\nname: rest\ndescription: d\ninputs: {n: number}\nsteps:\n  - { id: a, wait: 1d }\n  - { id: z, finish: ok }\n---\n";

pub async fn publish(cluster: &Cluster, number: usize, operator: &str) {
    let admin = cluster.url(number, 1);
    let (status, said) = http("POST", &format!("{admin}/admin/v1/drafts"), operator, REST).await;
    assert_eq!(status, 200, "{said}");
    let (status, said) =
        http("POST", &format!("{admin}/admin/v1/processes/rest/publish"), operator, r#"{"roles":{}}"#).await;
    assert!(status < 300, "{status} {said}");
}

/// Starts a run under a request id at one node; its id.
pub async fn begin(cluster: &Cluster, number: usize, token: &str, request: &str) -> String {
    let call = json!({ "process": "rest", "inputs": { "n": 1 }, "requestId": request });
    let said = cluster.tool(number, token, "start_run", call).await;
    said["data"]["run"]["id"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
}
