//! `quorate serve`.

use std::sync::Arc;

use agentprocess::time::Span;
use anyhow::Context;
use clap::Args;

use super::{config, log, signal};
use crate::api::Settings;
use crate::clock::Clock;
use crate::config::Config;
use crate::http::guard::Guard;
use crate::outbox::{Destination, Webhook};
use crate::server::{AdminListen, Options, Server};

/// Serve for real use, with the issuers and addresses of a settings file.
///
/// It speaks plain HTTP: put a reverse proxy with TLS before it. It checks tokens and issues none.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Serve {
    #[command(flatten)]
    file: config::File,
}

impl Serve {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let config = self.file.read()?;
        log::begin(config.log.format, &config.log.filter)?;
        super::runtime()?.block_on(async {
            let mut stop = signal::Stop::listen()?;
            let running = Server::start(options(config)?).await?;
            tracing::info!(mcp = running.mcp_url, admin = running.admin_url, "serving");
            stop.wait().await;
            running.stop().await;
            Ok(())
        })
    }
}

fn options(config: Config) -> anyhow::Result<Options> {
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
    let mut settings = Settings::new(config.public_url);
    settings.lease = seconds(config.lease_s);
    settings.run_data_bytes_max = config.run_data_bytes_max;
    settings.upload_bytes_max = config.upload_bytes_max;
    settings.url_ttl = seconds(config.file_url_ttl_s);
    settings.operators = config.operator_group;
    Ok(Options {
        data: config.data_dir,
        shards: config.shards,
        listen: config.listen,
        admin_listen: AdminListen::At(config.admin_listen),
        clock: Arc::new(Clock::system()),
        settings,
        auth: config.auth,
        guard: Guard { hosts, origins: config.allowed_origins },
        organizations: config.organizations,
        destination,
    })
}

fn seconds(seconds: u64) -> Span {
    Span(seconds.saturating_mul(1000))
}
