//! Settings of `quorate serve`: one YAML file (JSON is YAML too), over it `QUORATE_…` environment variables.
//!
//! Faults are told all at once, each with its place and its mend. No secret stands in the file: it names the environment
//! variables that hold them. TLS towards clients is
//! the reverse proxy's; that between nodes is `cluster.tls`'s.

mod check;
mod environment;
mod faults;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::auth::config::AuthConfig;
pub use faults::Fault;
pub use watch::Watch;

/// The settings of a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where the node keeps its data.
    pub data_dir: PathBuf,
    /// Where clients reach MCP and files.
    pub listen: SocketAddr,
    /// Where operators reach administration, health and metrics.
    pub admin_listen: SocketAddr,
    /// The address by which clients know this server; file urls begin with it.
    pub public_url: String,
    /// How many shards a new cluster gets. It cannot change later.
    pub shards: u16,
    /// The cluster this node belongs to. Left out: a node alone.
    pub cluster: Option<Cluster>,
    /// How long a claim lasts, in seconds.
    pub lease_s: u64,
    /// The most bytes of run data (`limits.runDataBytes`).
    pub run_data_bytes_max: u64,
    /// The most bytes of one upload, decoded.
    pub upload_bytes_max: u64,
    /// How long a file url opens, in seconds.
    pub file_url_ttl_s: u64,
    /// Origins that browsers may call from. Empty: none.
    pub allowed_origins: Vec<String>,
    /// Host names this server answers to, besides that of `public_url`. Administration also answers to loopback names and
    /// to the address of `admin_listen`.
    pub allowed_hosts: Vec<String>,
    /// Group whose human members are operators; told of overdue steps, and decides escalations (OPERATOR, ESC-WHERE).
    pub operator_group: String,
    /// What is special about some organizations.
    pub organizations: BTreeMap<String, Organization>,
    /// Where notifications go.
    pub notifications: Notifications,
    /// What the node tells about itself.
    pub log: Log,
    /// What the node watches about itself and its peers.
    pub watch: Watch,
    /// Who issues tokens, and what they mean.
    pub auth: AuthConfig,
}

/// How a node belongs to a cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Where it listens for its peers.
    pub listen: SocketAddr,
    /// Where its peers reach it, as host and port. Left out: the address of `listen`.
    pub address: Option<String>,
    /// How many nodes found the cluster, this one included. The same on all of them; of no effect afterwards.
    pub bootstrap_expect: u16,
    /// How many replicas of each shard a new cluster keeps: an odd number. The same on all founders; it cannot change later.
    #[serde(default = "replicas")]
    pub replication_factor: u16,
    /// What this node may be lost with, such as a data centre: replicas of a shard are kept in different zones.
    pub zone: Option<String>,
    /// The organization whose operators see and change the nodes. Required where operators may be of more than one: whoever lets a
    /// node in lets it read what all organizations have.
    pub operated_by: Option<String>,
    /// Where the other nodes may be reached, as host and port. This node's own address among them does no harm.
    #[serde(default)]
    pub join: Vec<String>,
    /// File that holds what lets this node, with an empty folder, into a cluster that is there already: one line, from
    /// `quorate cluster join-token`.
    pub join_token_file: Option<PathBuf>,
    /// The certificates of the links between nodes.
    pub tls: Option<ClusterTls>,
    /// Speak without TLS, for a network that nobody else can reach.
    #[serde(default)]
    pub insecure: bool,
}

/// How many replicas of each shard a cluster keeps unless its settings say otherwise.
pub const REPLICAS: u16 = 3;

fn replicas() -> u16 {
    REPLICAS
}

/// Whether a text can name a zone.
pub fn is_zone(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=ZONE_BYTES_MAX).contains(&text.len()) && text.chars().all(fits)
}

/// The longest name of a zone, in bytes.
const ZONE_BYTES_MAX: usize = 64;

impl Cluster {
    /// Where its peers reach it.
    pub fn address(&self) -> String {
        self.address.clone().unwrap_or_else(|| self.listen.to_string())
    }
}

/// Where a node's certificate for its peers is, as PEM files. They may be replaced while it runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterTls {
    /// The node's certificate, then those between it and the authority. It must be for the host of the node's address.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificates of the authority that signs the nodes of this cluster, and nobody else.
    pub authority: PathBuf,
}

/// What is special about an organization.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Organization {
    /// Its groups. When declared, roles are bound to these only (ROLE-UNMAPPED).
    pub groups: Option<BTreeSet<String>>,
    /// Group that decides escalations of versions published without one; else the operators (ESC-WHERE).
    pub escalation_group: Option<String>,
}

/// Where notifications go: to the webhook when there is one, else to the log.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Notifications {
    /// Where they are posted.
    pub webhook_url: Option<String>,
    /// Name of the environment variable that holds the key of their signature.
    pub secret_env: Option<String>,
}

/// What the node tells about itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// For machines or for people.
    pub format: LogFormat,
    /// A filter of `tracing`, such as `info` or `info,quorate=debug`.
    pub filter: String,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object a line.
    #[default]
    Json,
    /// For people.
    Text,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Json, filter: "info".to_owned() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin_listen: SocketAddr::from(([127, 0, 0, 1], 8081)),
            public_url: String::new(),
            shards: 8,
            cluster: None,
            lease_s: 600,
            run_data_bytes_max: 1024 * 1024,
            upload_bytes_max: 10 * 1024 * 1024,
            file_url_ttl_s: 15 * 60,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            operator_group: "operators".to_owned(),
            organizations: BTreeMap::new(),
            notifications: Notifications::default(),
            log: Log::default(),
            watch: Watch::default(),
            auth: AuthConfig::default(),
        }
    }
}

/// What came of reading settings.
#[derive(Debug)]
pub struct Read {
    /// The settings, when nothing is wrong with them.
    pub config: Option<Config>,
    /// Everything wrong with them.
    pub faults: Vec<Fault>,
    /// Doubtful things.
    pub warnings: Vec<Fault>,
}

impl Config {
    /// Reads the file, if one is given, lays the environment over it, and checks everything.
    pub fn read(file: Option<&Path>, environment: &BTreeMap<String, String>) -> Read {
        let mut read = Read { config: None, faults: Vec::new(), warnings: Vec::new() };
        let mut tree = match file.map_or(Ok(faults::empty()), faults::parse_file) {
            Ok(tree) => tree,
            // Nothing else can be said of a file that cannot be read.
            Err(fault) => {
                read.faults.push(fault);
                return read;
            }
        };
        environment::lay_over(&mut tree, environment, &mut read);
        let (config, mut shape) = faults::shape::<Config>(tree);
        if let Some(config) = config {
            // Where the shape is wrong, what the value says is beside the point.
            let said = |fault: &Fault| shape.iter().any(|s| fault.is_within(s));
            let meaning = config.faults(environment).into_iter().filter(|fault| !said(fault));
            read.faults.extend(meaning);
            read.warnings.extend(config.warnings());
            if read.faults.is_empty() && shape.is_empty() {
                read.config = Some(config);
            }
        }
        read.faults.append(&mut shape);
        read.faults.sort_by(|a, b| a.place.cmp(&b.place));
        read
    }
}
