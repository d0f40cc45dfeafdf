//! The `quorate` binary as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a start or a stop may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder of its own, gone at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("quorate-cli-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// A file in it.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let place = self.0.join(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, text).unwrap();
        place
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The command, with no settings of this test's own environment.
pub fn quorate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs it to its end: exit status, standard output, standard error.
pub fn run(arguments: &[&str]) -> (i32, String, String) {
    ended(&quorate(arguments).output().unwrap())
}

pub fn ended(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// A server in a process of its own.
pub struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts `quorate dev` on a folder and waits for its `dev.json`.
    pub fn dev(data: &Path, more: &[&str]) -> Self {
        let data_text = data.to_str().unwrap();
        let mut arguments = vec!["dev", "--data", data_text, "--listen", "127.0.0.1:0"];
        arguments.extend(more);
        let server = Self::start(data, &arguments);
        let begun = Instant::now();
        while !std::fs::read(data.join("dev.json")).is_ok_and(|text| !text.is_empty()) {
            assert!(begun.elapsed() < PATIENCE, "{}", server.told());
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Starts any server; what it tells is kept in `folder`.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        drop(std::fs::remove_file(folder.join("dev.json")));
        let log = folder.join("server.log");
        let told = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let mut command = quorate(arguments);
        let child = command.stdout(told.try_clone().unwrap()).stderr(told).spawn().unwrap();
        Self { child, log }
    }

    /// What it told.
    pub fn told(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Sends it a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end; the exit status, or nothing when a signal ended it.
    pub fn end(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "{}", self.told());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What `dev.json` says.
pub fn dev_json(data: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(data.join("dev.json")).unwrap()).unwrap()
}

/// One HTTP call: status and JSON body (a body that is no JSON comes as a string).
pub async fn http(method: &str, url: &str, token: &str, body: &str) -> (u16, Value) {
    let client = quorate::http::client::client(Duration::from_secs(30)).unwrap();
    let request = client
        .request(method.parse().unwrap(), url)
        .bearer_auth(token)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(body.to_owned());
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// One tool call over MCP without a session; the envelope.
pub async fn tool(dev: &Value, token: &str, name: &str, arguments: Value) -> Value {
    let call = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments },
    });
    let (status, answer) = http("POST", dev["mcp"][0].as_str().unwrap(), token, &call.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    answer["result"]["structuredContent"].clone()
}
