//! An etcd of as many nodes, on loopback, to compare with: puts over its HTTP gateway.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Error;
use crate::failover::{Subject, Trouble, Writer};
use crate::process::Process;

/// How long nodes may take until all of them are ready.
const READY_LIMIT: Duration = Duration::from_mins(1);

/// The cluster. Its processes end when it is dropped.
pub struct Etcd {
    nodes: Vec<Process>,
    client: Puts,
}

/// A client of all nodes.
#[derive(Clone)]
pub struct Puts {
    http: reqwest::Client,
    urls: Vec<String>,
}

/// What `etcd --version` says first; fails where there is none.
pub fn version() -> Result<String, Error> {
    let said = std::process::Command::new("etcd").arg("--version").output()?;
    let said = String::from_utf8_lossy(&said.stdout);
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

impl Etcd {
    /// Starts nodes in a folder.
    pub async fn start(data: &Path, size: usize, connections: usize) -> Result<Self, Error> {
        let held = (0..2 * size).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
        let urls = held.iter().map(|l| Ok(format!("http://{}", l.local_addr()?))).collect::<Result<Vec<_>, Error>>()?;
        drop(held);
        let (clients, peers) = urls.split_at(size);
        let all: Vec<_> = peers.iter().enumerate().map(|(node, url)| format!("n{node}={url}")).collect();
        let mut nodes = Vec::new();
        for node in 0..size {
            let folder = data.join(format!("etcd-{node}"));
            let mut words = vec!["etcd".to_owned(), "--name".to_owned(), format!("n{node}")];
            words.extend(["--data-dir".to_owned(), folder.to_string_lossy().into_owned()]);
            for (option, value) in [
                ("--listen-client-urls", &clients[node]),
                ("--advertise-client-urls", &clients[node]),
                ("--listen-peer-urls", &peers[node]),
                ("--initial-advertise-peer-urls", &peers[node]),
                ("--initial-cluster", &all.join(",")),
            ] {
                words.extend([option.to_owned(), value.clone()]);
            }
            let mut process = Process::new(words, data.join(format!("etcd-{node}.log")));
            process.start()?;
            nodes.push(process);
        }
        let client = Puts { http: crate::client::http(connections)?, urls: clients.to_vec() };
        let mut etcd = Self { nodes, client };
        etcd.ready().await?;
        Ok(etcd)
    }

    /// The client addresses.
    pub fn urls(&self) -> &[String] {
        &self.client.urls
    }

    /// A client of all nodes.
    pub fn writer(&self) -> Puts {
        self.client.clone()
    }
}

impl Subject for Etcd {
    fn size(&self) -> usize {
        self.nodes.len()
    }

    fn process(&mut self, node: usize) -> &mut Process {
        &mut self.nodes[node]
    }

    async fn ready(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        for (node, url) in self.client.urls.iter().enumerate() {
            let url = format!("{url}/health");
            while !self.client.http.get(&url).send().await.is_ok_and(|said| said.status().is_success()) {
                self.nodes[node].check()?;
                if began.elapsed() > READY_LIMIT {
                    return Err(format!("etcd's node {node} is not healthy after {READY_LIMIT:?}").into());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(())
    }

    async fn busiest(&self) -> Result<usize, Error> {
        for (node, url) in self.client.urls.iter().enumerate() {
            let asked = self.client.http.post(format!("{url}/v3/maintenance/status")).json(&json!({}));
            let status: Value = asked.send().await?.json().await?;
            if status["leader"].is_string() && status["leader"] == status["header"]["member_id"] {
                return Ok(node);
            }
        }
        Err("no node of etcd leads".into())
    }
}

impl Writer for Puts {
    async fn write(&self, node: usize, client: usize, number: usize) -> Result<(), Trouble> {
        // Digits are base64 of something, which is all a key must be here; the value is 256 bytes.
        let put = json!({"key": format!("{client:04}{number:08}"), "value": format!("{}AA==", "A".repeat(340))});
        let sent = self.http.post(format!("{}/v3/kv/put", self.urls[node])).timeout(Duration::from_secs(30)).json(&put);
        match sent.send().await {
            Ok(said) if said.status().is_success() => {
                said.bytes().await.map(drop).map_err(|e| Trouble::Broken(e.to_string()))
            }
            Ok(said) => Err(Trouble::Said(format!("{}: {}", said.status(), said.text().await.unwrap_or_default()))),
            Err(e) => Err(Trouble::Broken(e.to_string())),
        }
    }
}
