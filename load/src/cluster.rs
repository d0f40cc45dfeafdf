//! A cluster of `quorate serve` processes, each with a folder and addresses of its own.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Error;
use crate::ground::Ground;
use crate::process::Process;
use crate::tools::Tools;

/// How long nodes may take until all of them are ready.
const READY_LIMIT: Duration = Duration::from_mins(1);
/// Between two looks.
const POLL: Duration = Duration::from_millis(20);
/// Leases outlast every test: the checks count on it.
const LEASE_S: u32 = 86_400;

/// The cluster. Its processes end when it is dropped.
pub struct Cluster {
    nodes: Vec<Node>,
    operator: String,
    http: reqwest::Client,
    /// The command line of the binary.
    pub tools: Tools,
    /// What the nodes stand on. Dropped after them.
    pub ground: Ground,
}

struct Node {
    process: Process,
    mcp: String,
    admin: String,
}

impl Cluster {
    /// Nodes that have not been started; `data` is the folder of all.
    pub fn new(binary: &Path, data: &Path, size: usize, ground: Ground) -> Result<Self, Error> {
        let tools = Tools { binary: binary.to_owned(), data: data.to_owned() };
        let auth = tools.auth()?;
        // Held together, so that no two are equal.
        let held = (0..3 * size).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
        let ports = held.iter().map(|l| Ok(l.local_addr()?.port())).collect::<Result<Vec<_>, Error>>()?;
        let address = |node: usize, which: usize| match &ground.network {
            Some(network) => format!("{}:{}", network.address(node), ports[3 * node + which]),
            None => format!("127.0.0.1:{}", ports[3 * node + which]),
        };
        let join: Vec<_> = (0..size).map(|node| address(node, 2)).collect();
        let mut nodes = Vec::new();
        for node in 0..size {
            let mcp = format!("http://{}", address(node, 0));
            let folder = ground.disks.as_ref().map_or(data, |disks| disks.folder(node)).join(format!("node-{node}"));
            let settings = json!({
                "data_dir": folder, "listen": address(node, 0), "admin_listen": address(node, 1),
                "public_url": mcp, "lease_s": LEASE_S, "auth": auth["auth"], "log": { "format": "text" },
                "cluster": { "listen": address(node, 2), "bootstrap_expect": size, "join": join, "insecure": true, "operated_by": "demo" },
            });
            let file = data.join(format!("node-{node}.yaml"));
            std::fs::write(&file, settings.to_string())?;
            let mut words: Vec<std::ffi::OsString> =
                ground.network.iter().flat_map(|network| network.prefix(node)).map(Into::into).collect();
            words.extend([tools.binary.clone().into(), "serve".into(), "--config".into(), file.into()]);
            let process = Process::new(words, data.join(format!("node-{node}.log")));
            nodes.push(Node { process, mcp: format!("{mcp}/mcp"), admin: format!("http://{}", address(node, 1)) });
        }
        let operator = tools.operator_token()?;
        Ok(Self { nodes, operator, http: crate::client::http(size)?, tools, ground })
    }

    /// Starts all nodes and waits until they are ready.
    pub async fn start(&mut self) -> Result<(), Error> {
        for node in &mut self.nodes {
            node.process.start()?;
        }
        self.ready().await
    }

    /// How many nodes there are.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The process of a node.
    pub fn process(&mut self, node: usize) -> &mut Process {
        &mut self.nodes[node].process
    }

    /// The MCP addresses.
    pub fn mcp(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.mcp.clone()).collect()
    }

    /// Imports a process file and publishes it: its name, and `--role ROLE=GROUP` for each role.
    pub fn publish(&self, file: &Path, words: &[&str]) -> Result<(), Error> {
        self.tools.publish(&self.nodes[0].admin, &self.operator, file, words)
    }

    /// Waits until all nodes are ready.
    pub async fn ready(&mut self) -> Result<(), Error> {
        let until = Instant::now() + READY_LIMIT;
        for number in 0..self.nodes.len() {
            self.ready_by(number, until).await?;
        }
        Ok(())
    }

    /// Waits until a node is ready, up to a moment.
    pub async fn ready_by(&mut self, number: usize, until: Instant) -> Result<(), Error> {
        while let Err(why) = self.is_ready(number).await {
            self.nodes[number].process.check().map_err(|e| format!("node {number}: {e}"))?;
            if Instant::now() > until {
                return Err(format!("node {number} does not become ready: {why}").into());
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    async fn is_ready(&self, node: usize) -> Result<(), Error> {
        let url = format!("{}/readyz", self.nodes[node].admin);
        let said = self.http.get(url).timeout(Duration::from_secs(5)).send().await?;
        if said.status().is_success() { Ok(()) } else { Err(said.text().await?.into()) }
    }

    /// The node that leads most groups.
    pub async fn busiest(&self) -> Result<usize, Error> {
        let (mut busiest, mut most) = (0, 0);
        for (number, _) in self.nodes.iter().enumerate() {
            let status = self.status(number).await?;
            let nodes = status["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
            let own = nodes.iter().find(|node| node["node"] == status["asked"]);
            let leads = own.and_then(|node| node["leads"].as_u64()).ok_or("a node does not tell what it leads")?;
            if leads > most {
                (busiest, most) = (number, leads);
            }
        }
        Ok(busiest)
    }

    async fn status(&self, node: usize) -> Result<Value, Error> {
        let url = format!("{}/admin/v1/cluster", self.nodes[node].admin);
        let asked = self.http.get(url).bearer_auth(&self.operator).timeout(Duration::from_secs(10));
        Ok(asked.send().await?.error_for_status()?.json().await?)
    }
}
