//! Every fault of the authentication settings at once, each with the place it is at.

use std::collections::BTreeSet;

use super::config::{AuthConfig, ConditionConfig, IssuerConfig, KindConfig, RuleConfig, SourceConfig};

/// The longest leeway that makes sense, in seconds.
const LEEWAY_S_MAX: u64 = 300;

impl AuthConfig {
    /// What is wrong with these settings; empty when nothing is. Does no input or output.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.issuers.is_empty() {
            faults.push("auth.issuers: at least one issuer is required".to_owned());
        }
        if self.leeway_s > LEEWAY_S_MAX {
            faults.push(format!("auth.leeway_s: at most {LEEWAY_S_MAX}"));
        }
        let mut seen = BTreeSet::new();
        for (index, issuer) in self.issuers.iter().enumerate() {
            let at = format!("auth.issuers[{index}]");
            if !seen.insert(&issuer.issuer) {
                faults.push(format!("{at}.issuer: {:?} is listed twice", issuer.issuer));
            }
            issuer_faults(issuer, &at, &mut faults);
        }
        faults
    }

    /// The issuers that clients can be sent to for a token (RFC 9728 `authorization_servers`).
    pub fn authorization_servers(&self) -> Vec<String> {
        let urls = self.issuers.iter().map(|i| i.issuer.clone());
        urls.filter(|i| i.starts_with("https://") || i.starts_with("http://")).collect()
    }

    /// Whether tokens may make operators of more than one organization.
    pub fn has_operators_of_several(&self) -> bool {
        let rules = self.issuers.iter().flat_map(|issuer| &issuer.identities);
        let of: BTreeSet<_> =
            rules.filter(|rule| rule.operator_group.is_some()).map(|rule| &rule.organization.value).collect();
        of.len() > 1 || of.contains(&None)
    }
}

fn issuer_faults(issuer: &IssuerConfig, at: &str, faults: &mut Vec<String>) {
    if issuer.issuer.is_empty() {
        faults.push(format!("{at}.issuer: must not be empty"));
    }
    if issuer.audience.is_empty() || issuer.audience.iter().any(String::is_empty) {
        faults.push(format!("{at}.audience: at least one, none of them empty"));
    }
    if issuer.algorithms.is_empty() {
        faults.push(format!("{at}.algorithms: at least one"));
    }
    if issuer.identities.is_empty() {
        faults.push(format!("{at}.identities: at least one rule"));
    }
    let sources = [issuer.jwks_url.is_some(), issuer.jwks_file.is_some(), issuer.jwks.is_some()];
    if sources.iter().filter(|given| **given).count() != 1 {
        faults.push(format!("{at}: give exactly one of jwks_url, jwks_file, jwks"));
    }
    if let Some(url) = &issuer.jwks_url
        && !is_trustworthy_url(url)
    {
        faults.push(format!("{at}.jwks_url: must be an https URL (http only to this machine)"));
    }
    for (index, rule) in issuer.identities.iter().enumerate() {
        rule_faults(rule, &format!("{at}.identities[{index}]"), faults);
    }
}

/// Keys fetched over plain HTTP could be anyone's; this machine's own loopback is the exception.
fn is_trustworthy_url(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    url.scheme() == "https" || (url.scheme() == "http" && loopback)
}

fn rule_faults(rule: &RuleConfig, at: &str, faults: &mut Vec<String>) {
    for (index, condition) in rule.when.iter().enumerate() {
        condition_faults(condition, &format!("{at}.when[{index}]"), faults);
    }
    match (&rule.clients, rule.kind) {
        (None, KindConfig::Human) => faults.push(format!("{at}.clients: a human rule names its interactive clients")),
        (None, KindConfig::Agent) => {}
        (Some(clients), KindConfig::Human | KindConfig::Agent) => {
            pointer_faults(&clients.pointer, &format!("{at}.clients.pointer"), faults);
            if clients.one_of.is_empty() {
                faults.push(format!("{at}.clients.one_of: at least one client"));
            }
        }
    }
    if rule.kind == KindConfig::Agent && rule.operator_group.is_some() {
        faults.push(format!("{at}.operator_group: an agent is never an operator"));
    }
    if rule.kind == KindConfig::Human && rule.processes.is_some() {
        faults.push(format!("{at}.processes: limits agents only"));
    }
    let required = [("organization", Some(&rule.organization)), ("id", Some(&rule.id))];
    let optional = [("email", &rule.email), ("groups", &rule.groups), ("processes", &rule.processes)];
    for (name, source) in required.into_iter().chain(optional.map(|(name, source)| (name, source.as_ref()))) {
        if let Some(source) = source {
            source_faults(source, &format!("{at}.{name}"), faults);
        }
    }
}

fn source_faults(source: &SourceConfig, at: &str, faults: &mut Vec<String>) {
    match (&source.pointer, &source.value) {
        (Some(pointer), None) => pointer_faults(pointer, &format!("{at}.pointer"), faults),
        (None, Some(value)) if value.is_empty() => faults.push(format!("{at}.value: must not be empty")),
        (None, Some(_)) if source.prefix.is_some() => faults.push(format!("{at}.prefix: only with a pointer")),
        (None, Some(_)) => {}
        (Some(_), Some(_)) | (None, None) => faults.push(format!("{at}: give exactly one of pointer, value")),
    }
}

fn condition_faults(condition: &ConditionConfig, at: &str, faults: &mut Vec<String>) {
    pointer_faults(&condition.pointer, &format!("{at}.pointer"), faults);
    let operators = [
        condition.equals.is_some(),
        condition.one_of.is_some(),
        condition.exists.is_some(),
        condition.absent.is_some(),
        condition.prefix.is_some(),
        condition.contains.is_some(),
    ];
    if operators.iter().filter(|given| **given).count() != 1 {
        faults.push(format!("{at}: give exactly one of equals, one_of, exists, absent, prefix, contains"));
    }
    if condition.exists == Some(false) || condition.absent == Some(false) {
        faults.push(format!("{at}: exists and absent take only true"));
    }
}

fn pointer_faults(pointer: &str, at: &str, faults: &mut Vec<String>) {
    if !pointer.starts_with('/') {
        faults.push(format!("{at}: {pointer:?} is not a JSON Pointer (it begins with /)"));
    }
}
