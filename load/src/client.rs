//! One identity's MCP connection: a `tools/call` is one POST (stateless, 2025-11-25).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// What came of one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// `{ok: true}`: the data.
    Done(Value),
    /// `{ok: false}`: the code and the whole error.
    Refused(String, Value),
    /// No answer, or one that is not an envelope: whether it took effect is unknown.
    Unknown(String),
}

/// A client with one bearer token, of a server or of all nodes of a cluster.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    urls: Arc<[String]>,
    home: usize,
    token: String,
}

/// The HTTP client that all identities share, so that connections are.
pub fn http(connections: usize) -> Result<reqwest::Client, reqwest::Error> {
    // Fails when one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().pool_max_idle_per_host(connections).connect_timeout(CONNECT_LIMIT).build()
}

/// How long connecting may take: a node that is cut off answers nothing.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Client {
    /// A client of the MCP endpoints `urls`, which calls the one at `home` first; `http` is shared so that connections are.
    pub fn new(http: reqwest::Client, urls: Vec<String>, home: usize, token: impl Into<String>) -> Self {
        Self { http, urls: urls.into(), home, token: token.into() }
    }

    /// The same client at one of its endpoints alone.
    #[must_use]
    pub fn only(&self, node: usize) -> Self {
        Self { urls: self.urls.get(node..=node).unwrap_or_default().into(), home: 0, ..self.clone() }
    }

    /// Calls a tool once, at home.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Answer {
        self.call_at(self.home, tool, arguments).await
    }

    async fn call_at(&self, node: usize, tool: &str, arguments: &Value) -> Answer {
        let Some(url) = self.urls.get(node % self.urls.len().max(1)) else {
            return Answer::Unknown("this client has no server".to_owned());
        };
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        let sent = self
            .http
            .post(url)
            .bearer_auth(&self.token)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .timeout(Duration::from_secs(30))
            .json(&body)
            .send()
            .await;
        let reply = match sent {
            Ok(response) if response.status().is_success() => response.json::<Value>().await,
            Ok(response) => return Answer::Unknown(format!("HTTP {}", response.status())),
            Err(e) => Err(e),
        };
        match reply {
            Ok(reply) => read(&reply["result"]["structuredContent"], &reply),
            Err(e) => Answer::Unknown(e.to_string()),
        }
    }

    /// The same client, at home so many nodes further on.
    #[must_use]
    pub fn moved(&self, by: usize) -> Self {
        self.at(self.home + by)
    }

    /// The same client, at home at a node.
    #[must_use]
    pub fn at(&self, node: usize) -> Self {
        Self { home: node, ..self.clone() }
    }

    /// Calls a write until its outcome is known: an unknown outcome or `retry` repeats the same `requestId`,
    /// the former at the next node, until it is to be given up. Tells the node that answered last.
    pub async fn settle(&self, tool: &str, arguments: &Value, give_up: impl Fn() -> bool) -> (Answer, usize) {
        let mut node = self.home;
        loop {
            let answer = self.call_at(node, tool, arguments).await;
            let again = match &answer {
                Answer::Done(_) => false,
                Answer::Refused(code, _) => code == "retry",
                Answer::Unknown(_) => true,
            };
            if !again || give_up() {
                return (answer, node % self.urls.len().max(1));
            }
            node += usize::from(matches!(answer, Answer::Unknown(_)));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn read(envelope: &Value, whole: &Value) -> Answer {
    match envelope["ok"].as_bool() {
        Some(true) => Answer::Done(envelope["data"].clone()),
        Some(false) => {
            let code = envelope["error"]["code"].as_str().unwrap_or_default().to_owned();
            Answer::Refused(code, envelope["error"].clone())
        }
        None => Answer::Unknown(format!("not an envelope: {whole}")),
    }
}
