//! A `quorate dev` process on loopback that can be killed at any moment and started again on the same data.

use std::path::{Path, PathBuf};
use std::process::{Command as Sync, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::process::{Child, Command};

use crate::Error;

/// A server under test.
pub struct Server {
    binary: PathBuf,
    data: PathBuf,
    port: u16,
    arguments: Vec<String>,
    child: Option<Child>,
}

impl Server {
    /// A server that has not been started; `data` is its folder.
    pub fn new(binary: impl Into<PathBuf>, data: impl Into<PathBuf>, arguments: &[&str]) -> Result<Self, Error> {
        let port = free_pair()?;
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Ok(Self { binary: binary.into(), data: data.into(), port, arguments, child: None })
    }

    /// Starts it and waits until it serves.
    pub async fn start(&mut self) -> Result<(), Error> {
        let log = std::fs::File::options().create(true).append(true).open(self.data.join("server.log"))?;
        let mut command = Command::new(&self.binary);
        command
            .args(["dev", "--data"])
            .arg(&self.data)
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true);
        self.child = Some(command.spawn()?);
        for _ in 0..600 {
            if self.serves().await {
                return Ok(());
            }
            if let Some(status) = self.child.as_mut().and_then(|c| c.try_wait().ok().flatten()) {
                return Err(
                    format!("the server ended with {status}; see {}", self.data.join("server.log").display()).into()
                );
            }
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
        if let Some(mut child) = self.child.take() {
            child.kill().await?;
        }
        Ok(())
    }

    /// What the server wrote to `dev.json`.
    pub fn dev(&self) -> Result<Value, Error> {
        Ok(serde_json::from_slice(&std::fs::read(self.data.join("dev.json"))?)?)
    }

    /// Peak and current memory in KiB, as the kernel tells.
    pub fn memory_kib(&self) -> Option<u64> {
        let pid = self.child.as_ref()?.id()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?.trim().split(' ').next()?.parse().ok()
    }

    /// The MCP address.
    pub fn mcp(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// A development token for one more agent.
    pub fn agent_token(&self, id: &str) -> Result<String, Error> {
        self.run(&["token", "--data"], &["--agent", id])
    }

    /// Imports a process file of no roles and publishes it.
    pub fn publish(&self, file: &Path, name: &str) -> Result<(), Error> {
        let dev = self.dev()?;
        let admin = dev["admin"][0].as_str().ok_or("dev.json names no admin address")?;
        let token_file = self.data.join("ops.token");
        std::fs::write(&token_file, dev["tokens"]["ops@example.com"].as_str().unwrap_or_default())?;
        let file = file.to_string_lossy();
        for words in [["process", "import", &*file], ["process", "publish", name]] {
            let done = Sync::new(&self.binary)
                .args(words)
                .args(["--server", admin, "--token-file"])
                .arg(&token_file)
                .output()?;
            if !done.status.success() {
                return Err(format!(
                    "{words:?}: {}{}",
                    String::from_utf8_lossy(&done.stdout),
                    String::from_utf8_lossy(&done.stderr)
                )
                .into());
            }
        }
        Ok(())
    }

    fn run(&self, before: &[&str], after: &[&str]) -> Result<String, Error> {
        let done = Sync::new(&self.binary).args(before).arg(&self.data).args(after).output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
        Ok(String::from_utf8(done.stdout)?.trim().to_owned())
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
