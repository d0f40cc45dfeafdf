//! The real world: the binary `quorate dev` over MCP, with a clock that stands; one node, or several that are called by turns.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentprocess::json::{Object, Value};
use agentprocess::time::{Span, Timestamp};
use tokio::runtime::Runtime;

use crate::json::{at, list, parse, text};
use crate::world::{ACTORS, Published, Settings, World};

/// How long nothing must arrive before all notifications are taken to have come: the outbox is looked at twice a second.
const QUIET: Duration = Duration::from_secs(2);

/// A server of its own, in its own process and folder.
pub struct McpWorld {
    server: Child,
    folder: PathBuf,
    /// Addresses of each node.
    mcp: Vec<String>,
    admin: Vec<String>,
    tokens: BTreeMap<String, String>,
    http: reqwest::Client,
    runtime: Runtime,
    calls: AtomicU64,
    received: Arc<Mutex<Vec<String>>>,
}

impl McpWorld {
    /// Starts a server; `name` makes its folder.
    pub fn new(name: &str, settings: Settings) -> Self {
        Self::of_nodes(1, name, settings)
    }

    /// Starts so many nodes in one process. Each call goes to another one than the call before.
    pub fn of_nodes(nodes: u16, name: &str, settings: Settings) -> Self {
        let folder = format!("scenarios-{name}-{nodes}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let notify = listen(Arc::clone(&received));
        let log = std::fs::File::create(folder.join("server.log")).unwrap();
        let server = Command::new(env!("CARGO_BIN_EXE_quorate"))
            .args([
                "dev",
                "--listen",
                "127.0.0.1:0",
                "--test-clock",
                "--shards",
                &settings.shards.to_string(),
                "--nodes",
                &nodes.to_string(),
                "--notify-url",
                &notify,
            ])
            .arg("--data")
            .arg(folder.join("data"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let http = quorate::http::client::client(Duration::from_mins(1)).unwrap();
        let mut world = Self {
            server,
            folder,
            mcp: Vec::new(),
            admin: Vec::new(),
            tokens: BTreeMap::new(),
            http,
            runtime,
            calls: AtomicU64::new(0),
            received,
        };
        world.await_start();
        for (actor, org, human, groups) in ACTORS {
            let token = world.token(actor, org, *human, groups);
            world.tokens.insert((*actor).to_owned(), token);
        }
        world
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn await_start(&mut self) {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            if let Ok(said) = std::fs::read_to_string(self.data().join("dev.json"))
                && let Ok(said) = parse(&said)
            {
                let urls = |which| list(&said, which).iter().map(|url| url.as_str().unwrap().to_owned()).collect();
                (self.mcp, self.admin) = (urls("mcp"), urls("admin"));
                if self.admin.iter().all(|node| self.is_ready(node)) {
                    return;
                }
            }
            let ended = self.server.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "the server did not start: {ended:?}, {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_ready(&self, node: &str) -> bool {
        let asked = self.runtime.block_on(async { self.http.get(format!("{node}/readyz")).send().await });
        asked.is_ok_and(|said| said.status().is_success())
    }

    /// The address of the node whose turn it is, and the number of the call.
    fn turn<'a>(&self, nodes: &'a [String]) -> (&'a str, u64) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        (&nodes[usize::try_from(call).unwrap() % nodes.len()], call)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("server.log")).unwrap_or_default()
    }

    fn token(&self, actor: &str, org: &str, human: bool, groups: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.args(["token", "--org", org_name(org), "--data"]).arg(self.data());
        if human {
            command.arg("--human").arg(self.identity(actor));
        } else {
            command.arg("--agent").arg(actor);
        }
        let plain: Vec<_> = groups.iter().filter(|g| **g != "g_ops").copied().collect();
        if !plain.is_empty() {
            command.arg("--groups").arg(plain.join(","));
        }
        if plain.len() < groups.len() {
            command.arg("--operator");
        }
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// One tool call, in the manner of one era of the protocol or the other by turns.
    pub fn post(&self, actor: &str, tool: &str, arguments: &str) -> Result<(u16, String), String> {
        let (node, id) = self.turn(&self.mcp);
        let old = id.is_multiple_of(2);
        let version = if old { "2025-11-25" } else { "2026-07-28" };
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"scenarios","version":"1"}},"#;
        let meta = if old { "" } else { meta };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{meta}"name":"{tool}","arguments":{arguments}}}}}"#
        );
        let mut request = self
            .http
            .post(node)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", version)
            .body(body);
        if !old {
            request = request.header("mcp-method", "tools/call").header("mcp-name", tool);
        }
        if let Some(token) = self.tokens.get(actor) {
            request = request.bearer_auth(token);
        }
        let exchange = async {
            let response = request.send().await?;
            Ok((response.status().as_u16(), response.text().await?))
        };
        self.runtime.block_on(exchange).map_err(|e: reqwest::Error| format!("{tool}: {e}; {}", self.log()))
    }

    /// A request to the administration, as the organization's operator.
    fn admin(&self, method: &str, path: &str, org: &str, body: &str) -> Result<(u16, String), String> {
        let method = method.parse::<reqwest::Method>().map_err(|e| e.to_string())?;
        let operator = if org == "A" { "olga" } else { "ben" };
        let request = self
            .http
            .request(method, format!("{}{path}", self.turn(&self.admin).0))
            .bearer_auth(&self.tokens[operator])
            .header("content-type", if body.starts_with('{') { "application/json" } else { "text/markdown" })
            .body(body.to_owned());
        let exchange = async {
            let response = request.send().await?;
            Ok((response.status().as_u16(), response.text().await?))
        };
        self.runtime.block_on(exchange).map_err(|e: reqwest::Error| e.to_string())
    }

    /// Imports a document; the draft as the server tells it.
    fn draft(&self, org: &str, source: &str) -> Result<Value, Vec<String>> {
        let (status, said) = self.admin("POST", "/admin/v1/drafts", org, source).unwrap();
        let said = parse(&said).map_err(|e| vec![format!("status {status}: {e}")])?;
        if status >= 400 { Err(issues(&said)) } else { Ok(said) }
    }

    fn clock(&self, by: &str) -> Timestamp {
        let body = format!(r#"{{"advance":"{by}"}}"#);
        let (status, said) = self.admin("POST", "/admin/v1/test/clock", "A", &body).unwrap();
        assert_eq!(status, 200, "{said}");
        Timestamp::parse(text(&parse(&said).unwrap(), "now")).unwrap_or_else(|| panic!("no time in {said}"))
    }
}

impl World for McpWorld {
    fn call(&self, actor: &str, tool: &str, arguments: &Value) -> Result<Value, String> {
        let (status, said) = self.post(actor, tool, &arguments.to_string())?;
        let answer = parse(&said).map_err(|e| format!("{tool}: status {status}: {e}"))?;
        let envelope =
            at(&answer, "result.structuredContent").ok_or_else(|| format!("{tool}: status {status}: {said}"))?;
        // The same JSON in one text block, and no `isError`, which some clients turn into an exception (ERR-ENVELOPE).
        let blocks = list(&answer, "result.content");
        let block = blocks.first().map_or(String::new(), |b| text(b, "text").to_owned());
        if blocks.len() != 1 || parse(&block)? != *envelope {
            return Err(format!("{tool}: the text block differs from structuredContent: {said}"));
        }
        if at(&answer, "result.isError").and_then(Value::as_bool).unwrap_or(false) {
            return Err(format!("{tool}: isError is set: {said}"));
        }
        Ok(envelope.clone())
    }

    fn import(&self, org: &str, source: &str) -> Result<Vec<String>, Vec<String>> {
        let said = self.draft(org, source)?;
        Ok(list(&said, "roles").iter().map(|role| text(role, "role").to_owned()).collect())
    }

    fn publish(&self, org: &str, source: &str, group: &dyn Fn(&str) -> String) -> Result<Published, Vec<String>> {
        let said = self.draft(org, source)?;
        let mut roles = Object::new();
        for role in list(&said, "roles") {
            let name = text(role, "role");
            roles.set(name, group(name));
        }
        let mut publish = Object::new();
        publish.set("roles", roles).set("hash", text(&said, "hash"));
        let path = format!("/admin/v1/processes/{}/publish", text(&said, "process"));
        let (status, said) = self.admin("POST", &path, org, &Value::Object(publish).to_string()).unwrap();
        let said = parse(&said).map_err(|e| vec![format!("status {status}: {e}")])?;
        if status >= 400 {
            return Err(issues(&said));
        }
        let version = at(&said, "version.version").and_then(Value::as_u64).and_then(|v| u32::try_from(v).ok());
        let version = version.ok_or_else(|| vec![format!("no version in {said}")])?;
        Ok(Published { version, hash: text(&said, "version.hash").to_owned() })
    }

    fn now(&self) -> Timestamp {
        self.clock("0m")
    }

    fn advance(&self, by: Span) {
        self.clock(&format!("{}m", by.0 / 60_000));
    }

    fn pass(&self, by: Span) {
        let body = format!(r#"{{"advance":"{}m","settle":false}}"#, by.0 / 60_000);
        let (status, said) = self.admin("POST", "/admin/v1/test/clock", "A", &body).unwrap();
        assert_eq!(status, 200, "{said}");
    }

    fn pid(&self) -> u32 {
        self.server.id()
    }

    fn open(&self, url: &str) -> Result<Vec<u8>, u16> {
        let exchange = async {
            let response = self.http.get(url).send().await.unwrap();
            let status = response.status();
            if status.is_success() { Ok(response.bytes().await.unwrap().to_vec()) } else { Err(status.as_u16()) }
        };
        self.runtime.block_on(exchange)
    }

    fn notifications(&self) -> Vec<Value> {
        let mut count = 0;
        let mut since = Instant::now();
        while since.elapsed() < QUIET {
            std::thread::sleep(Duration::from_millis(20));
            let now = self.received.lock().unwrap().len();
            if now != count {
                (count, since) = (now, Instant::now());
            }
        }
        let bodies = std::mem::take(&mut *self.received.lock().unwrap());
        bodies.iter().map(|body| shown(&parse(body).unwrap())).collect()
    }

    fn identity(&self, actor: &str) -> String {
        let human = ACTORS.iter().any(|(name, _, human, _)| *name == actor && *human);
        if human { format!("{actor}@example.com") } else { actor.to_owned() }
    }
}

impl Drop for McpWorld {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn org_name(org: &str) -> &'static str {
    if org == "A" { "demo" } else { "other" }
}

/// Every issue of a refusal by the administration.
fn issues(said: &Value) -> Vec<String> {
    let listed: Vec<_> = list(said, "error.issues").iter().map(|i| i.as_str().unwrap_or("?").to_owned()).collect();
    if listed.is_empty() { vec![said.to_string()] } else { listed }
}

/// A notification in the form that all worlds share.
fn shown(n: &Value) -> Value {
    let mut out = Object::new();
    let to: Vec<Value> = list(n, "groups").iter().chain(list(n, "people")).cloned().collect();
    out.set("kind", text(n, "kind")).set("runId", text(n, "run")).set("stepId", text(n, "step")).set("to", to);
    Value::Object(out)
}

/// Takes notifications on a port of its own; gives the address.
fn listen(received: Arc<Mutex<Vec<String>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/notify", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let received = Arc::clone(&received);
            std::thread::spawn(move || take(&stream, &received));
        }
    });
    address
}

/// Reads requests off one connection and answers each with 204.
fn take(stream: &TcpStream, received: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream.try_clone().ok()?;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        received.lock().ok()?.push(String::from_utf8(body).ok()?);
        writer.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").ok()?;
    }
}
