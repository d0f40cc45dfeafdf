//! `quorate dev`.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentprocess::time::Timestamp;
use anyhow::{Context, bail};
use clap::Args;
use futures_util::future::try_join_all;

use super::{devcluster, devfile, examples, log, signal};
use crate::api::Settings;
use crate::auth::dev::{DevIssuer, OPERATOR_GROUP};
use crate::clock::Clock;
use crate::config::{LogFormat, Watch};
use crate::http::guard::Guard;
use crate::outbox::{Destination, Webhook};
use crate::server::{AdminListen, Member, Options, Running, Server};

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
    /// Where clients reach MCP; administration is on the next port, and each further node on the next two (port 0: any free
    /// ones)
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// How many nodes to run in this process; the same again on the same folder
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=9))]
    nodes: u16,
    /// How many shards a new data folder gets
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    shards: u16,
    /// Let time stand until POST /admin/v1/test/clock {"advance": "10m"}
    #[arg(long)]
    test_clock: bool,
    /// Let the clock of one node go wrong by so many milliseconds, to see what becomes of it
    #[arg(long, value_name = "NODE=MS", hide = true, value_parser = wrong_clock, conflicts_with = "test_clock")]
    test_clock_skew: Option<(u16, i64)>,
    /// Evaluator for steps with check; not offered yet
    #[arg(long, value_name = "URL", hide = true)]
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
        if self.evaluator_url.is_some() {
            bail!("--evaluator-url: the check profile is not offered yet; leave it out");
        }
        log::begin(LogFormat::Text, &self.log)?;
        let mut stop = signal::Stop::listen()?;
        std::fs::create_dir_all(&self.data).with_context(|| format!("--data {}", self.data.display()))?;
        let _lock = devfile::lock(&self.data)?;
        devfile::remove(&self.data)?;
        let issuer = DevIssuer::open(&self.data)?;
        let clock = Arc::new(if self.test_clock { Clock::test(Timestamp(0)) } else { Clock::system() });
        let mut nodes = Vec::new();
        for (number, member) in (0..).zip(devcluster::members(self.nodes, self.shards).await?) {
            let wrong = self.test_clock_skew.filter(|(node, _)| *node == number + 1);
            let wrong = wrong.map(|(_, ms)| Arc::new(Clock::ahead(ms, Watch::default().clock_skew_ms_max)));
            nodes.push(Server::start(self.options(number, member, wrong.as_ref().unwrap_or(&clock), &issuer)?));
        }
        let nodes = tokio::select! {
            nodes = try_join_all(nodes) => nodes?,
            () = stop.wait() => return Ok(()),
        };
        let Some(first) = nodes.first() else { bail!("no node was started") };
        if self.test_clock {
            first.resume_test_clock().await.map_err(|fault| anyhow::anyhow!("test clock: {fault:?}"))?;
        }
        examples::publish(&*first.reach, ORGANIZATION).await?;
        self.tell(&devfile::write(&self.data, &issuer, &nodes)?, &nodes);
        let failed = tokio::select! {
            () = stop.wait() => None,
            (why, ..) = futures_util::future::select_all(nodes.iter().map(|node| Box::pin(node.failed()))) => Some(why),
        };
        // One after another, as in a rolling restart: the last ones close with nobody left to take over.
        for node in nodes {
            node.stop().await;
        }
        if let Some(why) = failed {
            bail!("the store failed, start again: {why}");
        }
        tracing::info!("stopped");
        Ok(())
    }

    fn tell(&self, written: &Path, nodes: &[Running]) {
        println!("Quorate serves.");
        for node in nodes {
            println!("  MCP             {}\n  Administration  {}/admin/v1/openapi.json", node.mcp_url, node.admin_url);
        }
        println!("  Tokens          {} (agent-1, agent-2, mira@, fin@ and ops@example.com)", written.display());
        println!("Next: point an MCP client at the address above with a token as bearer, or see what is there with");
        // As this program was called: it need not be on the PATH.
        let program = std::env::args().next().unwrap_or_else(|| "quorate".to_owned());
        println!(
            "  {program} process list{}",
            if self.data.as_os_str() == DATA { String::new() } else { format!(" --data {}", self.data.display()) }
        );
    }

    fn options(
        &self,
        number: u16,
        member: Option<Member>,
        clock: &Arc<Clock>,
        issuer: &DevIssuer,
    ) -> anyhow::Result<Options> {
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
        let data = if member.is_some() { self.data.join(format!("node-{}", number + 1)) } else { self.data.clone() };
        Ok(Options {
            data,
            shards: self.shards,
            member,
            listen: self.address(number)?,
            admin_listen: AdminListen::Next,
            clock: Arc::clone(clock),
            settings,
            auth: issuer.config(),
            guard,
            organizations: std::collections::BTreeMap::new(),
            operated_by: Some(ORGANIZATION.to_owned()),
            destination,
            watch: Watch::default(),
        })
    }
}

impl Dev {
    /// Where a node listens: each has two ports.
    fn address(&self, number: u16) -> anyhow::Result<SocketAddr> {
        let port = match self.listen.port() {
            0 => 0,
            first => first.checked_add(2 * number).context("--listen: there are not enough ports after it")?,
        };
        Ok(SocketAddr::new(self.listen.ip(), port))
    }
}

fn wrong_clock(text: &str) -> Result<(u16, i64), String> {
    let parsed = text.split_once('=').and_then(|(node, ms)| Some((node.parse().ok()?, ms.parse().ok()?)));
    parsed.ok_or_else(|| "write a node's number and milliseconds, such as 2=1500".to_owned())
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.is_loopback()
}
