//! `quorate dev`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use agentprocess::time::Timestamp;
use anyhow::{Context, bail};
use clap::Args;

use super::{devfile, examples, log, signal};
use crate::api::Settings;
use crate::auth::dev::{DevIssuer, OPERATOR_GROUP};
use crate::clock::Clock;
use crate::config::LogFormat;
use crate::http::guard::Guard;
use crate::outbox::{Destination, Webhook};
use crate::server::{AdminListen, Options, Server};

/// The folder of `quorate dev` when none is named.
pub(super) const DATA: &str = "./.quorate-dev";
/// The organization that has the examples.
pub(super) const ORGANIZATION: &str = "demo";

/// Serve for trying out: one process, its own token issuer, organizations `demo` and `other`, the examples in `demo`.
///
/// Addresses and tokens are in DIR/dev.json. Started again on the same folder, it goes on with what it held.
///
///   quorate dev
///   quorate process list
///   quorate token --agent my-agent
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Dev {
    /// Where data and dev.json are kept
    #[arg(long, value_name = "DIR", default_value = DATA)]
    data: PathBuf,
    /// Where clients reach MCP; administration is on the next port (port 0: any free ones)
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// How many nodes to run in this process
    #[arg(long, value_name = "N", default_value_t = 1)]
    nodes: u16,
    /// How many shards a new data folder gets
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    shards: u16,
    /// Let time stand until POST /admin/v1/test/clock {"advance": "10m"}
    #[arg(long)]
    test_clock: bool,
    /// Evaluator for steps with check
    #[arg(long, value_name = "URL")]
    evaluator_url: Option<String>,
    /// Post notifications to this address instead of logging them; the key of their signature is in DIR/notify-key
    #[arg(long, value_name = "URL")]
    notify_url: Option<String>,
    /// Which log lines to write to standard error, such as warn or quorate=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
}

impl Dev {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        if self.nodes != 1 {
            bail!("--nodes {}: more than one node is not offered yet; leave it at 1", self.nodes);
        }
        if self.evaluator_url.is_some() {
            bail!("--evaluator-url: the check profile is not offered yet; leave it out");
        }
        log::begin(LogFormat::Text, &self.log)?;
        let mut stop = signal::Stop::listen()?;
        std::fs::create_dir_all(&self.data).with_context(|| format!("--data {}", self.data.display()))?;
        devfile::remove(&self.data)?;
        let issuer = DevIssuer::open(&self.data)?;
        let running = Server::start(self.options(&issuer)?).await?;
        if self.test_clock {
            running.resume_test_clock().await.map_err(|fault| anyhow::anyhow!("test clock: {fault:?}"))?;
        }
        examples::publish(&*running.reach, ORGANIZATION).await?;
        let written = devfile::write(&self.data, &issuer, &running)?;
        let (mcp, admin) = (&running.mcp_url, &running.admin_url);
        println!("Quorate serves.\n  MCP             {mcp}\n  Administration  {admin}/admin/v1/openapi.json");
        println!("  Tokens          {} (agent-1, agent-2, mira@, fin@ and ops@example.com)", written.display());
        println!("Next: point an MCP client at the address above with a token as bearer, or see what is there with");
        println!(
            "  quorate process list{}",
            if self.data.as_os_str() == DATA { String::new() } else { format!(" --data {}", self.data.display()) }
        );
        stop.wait().await;
        running.stop().await;
        Ok(())
    }

    fn options(&self, issuer: &DevIssuer) -> anyhow::Result<Options> {
        let destination = match &self.notify_url {
            None => Destination::Log,
            Some(url) => Destination::Webhook(Webhook::new(url, devfile::notify_key(&self.data)?.as_bytes())?),
        };
        let mut settings = Settings::new("");
        OPERATOR_GROUP.clone_into(&mut settings.operators);
        let mut guard = Guard::loopback();
        // Listening beyond loopback is asked for on the command line: then any name of this machine will do.
        if !is_loopback(self.listen.ip()) {
            guard.hosts.push("*".to_owned());
        }
        Ok(Options {
            data: self.data.clone(),
            shards: self.shards,
            listen: self.listen,
            admin_listen: AdminListen::Next,
            clock: Arc::new(if self.test_clock { Clock::test(Timestamp(0)) } else { Clock::system() }),
            settings,
            auth: issuer.config(),
            guard,
            organizations: std::collections::BTreeMap::new(),
            destination,
        })
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.is_loopback()
}
