//! `quorate serve`.

use std::sync::Arc;
use std::time::Duration;

use agentprocess::time::Span;
use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;

use super::{config, log, signal};
use crate::api::Settings;
use crate::clock::Clock;
use crate::cluster::found::Plan;
use crate::config::{Cluster, ClusterTls, Config};
use crate::http::guard::Guard;
use crate::outbox::{Destination, Webhook};
use crate::peers::{Security, TlsFiles};
use crate::server::{AdminListen, Member, Options, Server};

/// How long a stop may take.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Serve for real use, with the issuers and addresses of a settings file.
///
/// It speaks plain HTTP: put a reverse proxy with TLS before it. It checks tokens and issues none. With `cluster` in the
/// settings it founds a cluster with the other nodes, or takes its place in it again.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Serve {
    #[command(flatten)]
    file: config::File,
    /// The zone this node is in, over the setting cluster.zone: what it may be lost with
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
}

impl Serve {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut config = self.file.read()?;
        if let Some(zone) = self.zone {
            anyhow::ensure!(
                crate::config::is_zone(&zone),
                "--zone: {zone:?} is not 1 to 64 letters, digits, -, _ and dots"
            );
            let cluster = config.cluster.as_mut().context("--zone: only with cluster settings")?;
            cluster.zone = Some(zone);
        }
        log::begin(config.log.format, &config.log.filter)?;
        super::runtime()?.block_on(async {
            let mut stop = signal::Stop::listen()?;
            let member = member(config.cluster.as_ref(), config.shards).await?;
            let started = Server::start(options(config, member)?);
            let running = tokio::select! {
                running = started => running?,
                () = stop.wait() => return Ok(()),
            };
            tracing::info!(mcp = running.mcp_url, admin = running.admin_url, "serving");
            let failed = tokio::select! {
                () = stop.wait() => None,
                why = running.failed() => Some(why),
            };
            // Calls in flight may wait for a disk that answers no more.
            if tokio::time::timeout(STOP_LIMIT, running.stop()).await.is_err() {
                tracing::error!("not all that was under way ended in time");
            }
            anyhow::ensure!(failed.is_none(), "the store failed, start again: {}", failed.unwrap_or_default());
            tracing::info!("stopped");
            Ok(())
        })
    }
}

async fn member(cluster: Option<&Cluster>, shards: u16) -> anyhow::Result<Option<Member>> {
    let Some(cluster) = cluster else { return Ok(None) };
    let listen = || format!("cluster.listen: cannot listen on {}", cluster.listen);
    let listener = TcpListener::bind(cluster.listen).await.with_context(listen)?;
    let security = security(cluster);
    let join_token = cluster.join_token_file.as_ref().map(std::fs::read_to_string).transpose();
    let join_token = join_token.context("cluster.join_token_file")?.map(|token| token.trim().to_owned());
    let (address, join) = (cluster.address(), cluster.join.clone());
    let (expect, replicas, zone) = (cluster.bootstrap_expect, cluster.replication_factor, cluster.zone.clone());
    let plan = Plan { address, join, expect, shards, replicas, zone, join_token };
    Ok(Some(Member { listener, plan, security }))
}

/// How nodes speak to each other.
pub(super) fn security(cluster: &Cluster) -> Security {
    let files = |tls: &ClusterTls| TlsFiles {
        certificate: tls.certificate.clone(),
        key: tls.key.clone(),
        authority: tls.authority.clone(),
    };
    // Settings without either are refused before.
    cluster.tls.as_ref().map_or(Security::Plain, |tls| Security::Tls(files(tls)))
}

fn options(config: Config, member: Option<Member>) -> anyhow::Result<Options> {
    let destination = match (&config.notifications.webhook_url, &config.notifications.secret_env) {
        (Some(url), Some(name)) => {
            let secret = std::env::var(name).with_context(|| format!("notifications.secret_env: {name}"))?;
            Destination::Webhook(Webhook::new(url, secret.as_bytes())?)
        }
        (Some(_) | None, _) => Destination::Log,
    };
    let public = reqwest::Url::parse(&config.public_url).context("public_url")?;
    let mut hosts = config.allowed_hosts;
    hosts.extend(public.host_str().map(str::to_owned));
    let operated_by = config.cluster.and_then(|cluster| cluster.operated_by);
    let mut settings = Settings::new(config.public_url);
    settings.lease = seconds(config.lease_s);
    settings.run_data_bytes_max = config.run_data_bytes_max;
    settings.upload_bytes_max = config.upload_bytes_max;
    settings.url_ttl = seconds(config.file_url_ttl_s);
    settings.operators = config.operator_group;
    // A node alone has nobody to ask whether its clock was rightly set.
    let clock = if member.is_some() { Clock::steady(config.watch.clock_skew_ms_max) } else { Clock::system() };
    Ok(Options {
        data: config.data_dir,
        shards: config.shards,
        member,
        listen: config.listen,
        admin_listen: AdminListen::At(config.admin_listen),
        clock: Arc::new(clock),
        settings,
        auth: config.auth,
        guard: Guard { hosts, origins: config.allowed_origins },
        organizations: config.organizations,
        operated_by,
        destination,
        watch: config.watch,
    })
}

fn seconds(seconds: u64) -> Span {
    Span(seconds.saturating_mul(1000))
}
