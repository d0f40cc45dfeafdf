//! What settings say, once their shape is right.

use std::collections::BTreeMap;

use quorate_statemachine::catalog::roles::is_group;

use super::{Cluster, Config, Fault, is_zone};

/// Bounds of numbers, both ends allowed.
const LEASE_S: (u64, u64) = (1, 7 * 24 * 3600);
const FILE_URL_TTL_S: (u64, u64) = (1, 24 * 3600);
const RUN_DATA_BYTES: (u64, u64) = (1024, 16 * 1024 * 1024);
const UPLOAD_BYTES: (u64, u64) = (1, 512 * 1024 * 1024);
const SHARDS_MAX: u16 = 1024;
/// Nodes that found a cluster: all must be there at once.
const NODES_MAX: u16 = 9;
const REPLICAS_MAX: u16 = 7;

impl Config {
    /// What is wrong with what the settings say.
    pub(super) fn faults(&self, environment: &BTreeMap<String, String>) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |place: &str, message: String| faults.push(Fault::new(place, message));
        if self.data_dir.as_os_str().is_empty() {
            fault("data_dir", "required: the folder in which the node keeps its data".to_owned());
        }
        if self.shards == 0 || self.shards > SHARDS_MAX {
            fault("shards", format!("write a number from 1 to {SHARDS_MAX}"));
        }
        let numbers = [
            ("lease_s", self.lease_s, LEASE_S),
            ("file_url_ttl_s", self.file_url_ttl_s, FILE_URL_TTL_S),
            ("run_data_bytes_max", self.run_data_bytes_max, RUN_DATA_BYTES),
            ("upload_bytes_max", self.upload_bytes_max, UPLOAD_BYTES),
        ];
        for (place, value, (least, most)) in numbers.into_iter().chain(self.watch.numbers()) {
            if value < least || value > most {
                fault(place, format!("is {value}; write a number from {least} to {most}"));
            }
        }
        if self.listen == self.admin_listen && self.listen.port() != 0 {
            fault("admin_listen", "the same as listen; administration needs an address of its own".to_owned());
        }
        match url(&self.public_url) {
            Ok(()) => {}
            Err(what) => fault(
                "public_url",
                format!("{what}; write how clients reach this server, such as https://quorate.example.com"),
            ),
        }
        if !is_group(&self.operator_group) {
            fault("operator_group", "not a group id".to_owned());
        }
        if let Some(cluster) = &self.cluster {
            cluster_faults(cluster, &mut fault);
            if cluster.operated_by.is_none() && self.auth.has_operators_of_several() {
                fault(
                    "cluster.operated_by",
                    "required, since operators are of more than one organization: name the one that runs the nodes"
                        .to_owned(),
                );
            }
        }
        self.list_faults(&mut fault);
        self.notification_faults(environment, &mut fault);
        for text in self.auth.faults() {
            let (place, message) = text.split_once(": ").unwrap_or(("auth", &text));
            fault(place, message.to_owned());
        }
        for (index, issuer) in self.auth.issuers.iter().enumerate() {
            if let Some(file) = issuer.jwks_file.as_ref().filter(|file| !file.is_file()) {
                fault(&format!("auth.issuers[{index}].jwks_file"), format!("{} is not a file", file.display()));
            }
        }
        faults
    }

    fn list_faults(&self, fault: &mut impl FnMut(&str, String)) {
        for (index, origin) in self.allowed_origins.iter().enumerate() {
            let parsed = reqwest::Url::parse(origin);
            if parsed.is_err() || parsed.is_ok_and(|url| url.origin().ascii_serialization() != *origin) {
                fault(
                    &format!("allowed_origins[{index}]"),
                    "write an origin, such as https://app.example.com".to_owned(),
                );
            }
        }
        for (index, host) in self.allowed_hosts.iter().enumerate() {
            if host.is_empty() || host.contains('/') || host.contains(char::is_whitespace) {
                fault(&format!("allowed_hosts[{index}]"), "write a host name, such as quorate.example.com".to_owned());
            }
        }
        for (name, organization) in &self.organizations {
            let groups = organization.groups.iter().flatten().chain(&organization.escalation_group);
            for group in groups.filter(|group| !is_group(group)) {
                fault(&format!("organizations.{name}"), format!("{group:?} is not a group id"));
            }
            if let (Some(groups), Some(group)) = (&organization.groups, &organization.escalation_group)
                && !groups.contains(group)
            {
                fault(
                    &format!("organizations.{name}.escalation_group"),
                    format!("{group} is not among the declared groups; add it to groups"),
                );
            }
        }
    }

    fn notification_faults(&self, environment: &BTreeMap<String, String>, fault: &mut impl FnMut(&str, String)) {
        let told = &self.notifications;
        if let Some(Err(what)) = told.webhook_url.as_deref().map(url) {
            fault("notifications.webhook_url", what);
        }
        match (&told.webhook_url, &told.secret_env) {
            (Some(_), None) => fault(
                "notifications.secret_env",
                "required with webhook_url: the name of the environment variable that holds the signature's key"
                    .to_owned(),
            ),
            (Some(_), Some(name)) if environment.get(name).is_none_or(|secret| secret.len() < 16) => {
                fault("notifications.secret_env", format!("the variable {name} must hold a key of at least 16 bytes"));
            }
            (Some(_), Some(_)) | (None, None | Some(_)) => {}
        }
    }

    /// Doubtful things.
    pub(super) fn warnings(&self) -> Vec<Fault> {
        let mut warnings = Vec::new();
        if self.public_url.trim_end_matches('/').ends_with("/mcp") {
            let message = "ends in /mcp, but MCP is served at /mcp below it: leave that out";
            warnings.push(Fault::new("public_url", message));
        }
        let rules = || self.auth.issuers.iter().flat_map(|issuer| &issuer.identities);
        if !rules().any(|rule| rule.operator_group.is_some()) && rules().next().is_some() {
            let message = "no rule names an operator_group: nobody can publish, cancel or decide escalations";
            warnings.push(Fault::new("auth.issuers", message));
        }
        for group in rules().filter_map(|rule| rule.operator_group.as_ref()) {
            if *group != self.operator_group {
                let message =
                    format!("a rule makes members of {group} operators, but work goes to {}", self.operator_group);
                warnings.push(Fault::new("operator_group", message));
            }
        }
        if let Some(cluster) = self.cluster.as_ref().filter(|cluster| cluster.insecure) {
            let message = format!("whoever reaches {} can read and change everything; use tls", cluster.listen);
            warnings.push(Fault::new("cluster.insecure", message));
        }
        if self.cluster.as_ref().is_some_and(|cluster| cluster.bootstrap_expect % 2 == 0) {
            let message = "an even number of nodes survives no more losses than one node less";
            warnings.push(Fault::new("cluster.bootstrap_expect", message));
        }
        if !self.admin_listen.ip().is_loopback() {
            let message =
                "administration speaks plain HTTP here: put a proxy with TLS before it, or keep it on loopback";
            warnings.push(Fault::new("admin_listen", message));
        }
        if self.admin_listen.ip().is_unspecified() && self.allowed_hosts.is_empty() {
            let message = "empty: administration answers to the host of public_url and to loopback names only; add the \
                           names and addresses by which operators reach it";
            warnings.push(Fault::new("allowed_hosts", message));
        }
        warnings
    }
}

fn cluster_faults(cluster: &Cluster, fault: &mut impl FnMut(&str, String)) {
    if cluster.bootstrap_expect == 0 || cluster.bootstrap_expect > NODES_MAX {
        fault("cluster.bootstrap_expect", format!("write how many nodes found the cluster, from 1 to {NODES_MAX}"));
    }
    if cluster.replication_factor.is_multiple_of(2) || cluster.replication_factor > REPLICAS_MAX {
        let message = "write 1, 3, 5 or 7: an even number survives no more losses than one less".to_owned();
        fault("cluster.replication_factor", message);
    }
    if let Some(zone) = cluster.zone.as_ref().filter(|zone| !is_zone(zone)) {
        fault("cluster.zone", format!("{zone:?} is not 1 to 64 letters, digits, -, _ and dots"));
    }
    if cluster.address.is_none() && (cluster.listen.ip().is_unspecified() || cluster.listen.port() == 0) {
        let message = "required, since listen names no address that others can reach: write this node's host and port";
        fault("cluster.address", message.to_owned());
    }
    if let Some(address) = cluster.address.as_ref().filter(|address| !is_address(address)) {
        fault("cluster.address", format!("{address:?} is not a host and a port; write it like quorate-0.example:7000"));
    }
    for (index, address) in cluster.join.iter().enumerate().filter(|(_, address)| !is_address(address)) {
        let message = format!("{address:?} is not a host and a port; write it like quorate-1.example:7000");
        fault(&format!("cluster.join[{index}]"), message);
    }
    if cluster.bootstrap_expect > 1 && cluster.join.iter().all(|address| *address == cluster.address()) {
        fault("cluster.join", "write where the other nodes may be reached".to_owned());
    }
    if let Some(file) = cluster.join_token_file.as_ref().filter(|file| !file.is_file()) {
        fault("cluster.join_token_file", format!("{} is not a file", file.display()));
    }
    match (&cluster.tls, cluster.insecure) {
        (Some(_), true) => fault("cluster.insecure", "contradicts tls; leave one of them out".to_owned()),
        (None, false) => fault(
            "cluster.tls",
            "required: certificate, key and authority for the links between nodes (or insecure: true, where nobody else \
             can reach them)"
                .to_owned(),
        ),
        (Some(tls), false) => {
            for (name, file) in [("certificate", &tls.certificate), ("key", &tls.key), ("authority", &tls.authority)] {
                if !file.is_file() {
                    fault(&format!("cluster.tls.{name}"), format!("{} is not a file", file.display()));
                }
            }
        }
        (None, true) => {}
    }
}

/// Whether a text is a host and a port.
fn is_address(text: &str) -> bool {
    let host_and_port = text.rsplit_once(':');
    host_and_port.is_some_and(|(host, port)| {
        let plain = !host.contains([':', '/']) || (host.starts_with('[') && host.ends_with(']'));
        !host.is_empty() && plain && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// Whether a text is the address of something on HTTP.
fn url(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("required".to_owned());
    }
    let url = reqwest::Url::parse(text).map_err(|e| format!("not a URL ({e})"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("not an http or https URL".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err("must have no user, query or fragment".to_owned());
    }
    Ok(())
}
