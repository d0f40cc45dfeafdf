//! A `quorate dev` process on loopback that can be killed at any moment and started again on the same data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::Error;
use crate::process::Process;
use crate::tools::Tools;

/// A server under test.
pub struct Server {
    tools: Tools,
    port: u16,
    process: Process,
}

impl Server {
    /// A server that has not been started; `data` is its folder.
    pub fn new(binary: impl Into<PathBuf>, data: impl Into<PathBuf>, arguments: &[&str]) -> Result<Self, Error> {
        let (port, tools) = (free_pair()?, Tools { binary: binary.into(), data: data.into() });
        let listen = format!("127.0.0.1:{port}");
        let words = [tools.binary.as_os_str(), "dev".as_ref(), "--data".as_ref(), tools.data.as_os_str()];
        let more = ["--listen", &listen].into_iter().chain(arguments.iter().copied());
        let words: Vec<OsString> = words.into_iter().map(Into::into).chain(more.map(Into::into)).collect();
        let process = Process::new(words, tools.data.join("server.log"));
        Ok(Self { tools, port, process })
    }

    /// Starts it and waits until it serves.
    pub async fn start(&mut self) -> Result<(), Error> {
        self.process.start()?;
        for _ in 0..600 {
            if self.serves().await {
                return Ok(());
            }
            self.process.check()?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("the server did not serve within 30 s".into())
    }

    async fn serves(&self) -> bool {
        let Ok(dev) = self.dev() else { return false };
        let Some(admin) = dev["admin"][0].as_str() else { return false };
        let url = format!("{}/readyz", admin.trim_end_matches('/'));
        let Ok(http) = crate::client::http(1) else { return false };
        matches!(http.get(url).send().await, Ok(r) if r.status().is_success())
    }

    /// SIGKILL, and the wait for its end.
    pub async fn kill(&mut self) -> Result<(), Error> {
        self.process.kill().await
    }

    /// What the server wrote to `dev.json`.
    pub fn dev(&self) -> Result<Value, Error> {
        Ok(serde_json::from_slice(&std::fs::read(self.tools.data.join("dev.json"))?)?)
    }

    /// Its process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// The MCP address.
    pub fn mcp(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// A development token for one more agent.
    pub fn agent_token(&self, id: &str) -> Result<String, Error> {
        self.tools.agent_token(id)
    }

    /// Imports a process file and publishes it: its name, and `--role ROLE=GROUP` for each role.
    pub fn publish(&self, file: &Path, words: &[&str]) -> Result<(), Error> {
        let dev = self.dev()?;
        let admin = dev["admin"][0].as_str().ok_or("dev.json names no admin address")?;
        self.tools.publish(admin, dev["tokens"]["ops@example.com"].as_str().unwrap_or_default(), file, words)
    }
}

/// A port that is free now, with the next one free too (the admin listener takes it).
fn free_pair() -> Result<u16, Error> {
    for _ in 0..100 {
        let first = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = first.local_addr()?.port();
        if port < u16::MAX && std::net::TcpListener::bind(("127.0.0.1", port + 1)).is_ok() {
            return Ok(port);
        }
    }
    Err("no two free ports in a row".into())
}
