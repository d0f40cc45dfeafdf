//! What a node is started with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::listen::Listeners;
use super::member::Member;
use crate::api::Settings;
use crate::auth::config::AuthConfig;
use crate::clock::Clock;
use crate::config::{Organization, Watch};
use crate::http::guard::Guard;
use crate::outbox::Destination;

/// What a node is started with.
pub struct Options {
    /// Where it keeps its data.
    pub data: PathBuf,
    /// How many shards a node alone gets, at its first start.
    pub shards: u16,
    /// The cluster it belongs to; `None` for a node alone.
    pub member: Option<Member>,
    /// Where clients reach it.
    pub listen: SocketAddr,
    /// Where operators reach it.
    pub admin_listen: AdminListen,
    /// Its clock.
    pub clock: Arc<Clock>,
    /// Settings of the tools. An empty `public_url` becomes the address listened on.
    pub settings: Settings,
    /// Who issues tokens.
    pub auth: AuthConfig,
    /// Hosts and origins that may be named.
    pub guard: Guard,
    /// What is special about some organizations.
    pub organizations: BTreeMap<String, Organization>,
    /// The organization whose operators see and change the nodes; of every one, when not given.
    pub operated_by: Option<String>,
    /// Where notifications go.
    pub destination: Destination,
    /// What it watches.
    pub watch: Watch,
}

/// Where operators reach a node.
#[derive(Clone, Copy, Debug)]
pub enum AdminListen {
    /// At this address.
    At(SocketAddr),
    /// At the port after the public one; at any when that is any.
    Next,
}

impl Options {
    /// The public address: the configured one, else the one listened on.
    pub(super) fn settings_url(&self, listeners: &Listeners) -> String {
        if self.settings.public_url.is_empty() { listeners.base_url() } else { self.settings.public_url.clone() }
    }
}
