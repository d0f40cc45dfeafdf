//! Claims to an identity: exactly one rule must match (design §8).

use std::collections::BTreeSet;

use quorate_proto::{Caller, CallerKind};
use serde_json::Value;

use super::config::{ConditionConfig, KindConfig, RuleConfig, SourceConfig};

/// The longest organization, id, group or process name taken from a token, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// How many groups or processes one token may name.
const NAMES_MAX: usize = 1000;

/// The identity that these claims make under these rules, or why there is none (for the log, not for the caller).
pub fn identity(rules: &[RuleConfig], claims: &Value) -> Result<Caller, String> {
    let matching: Vec<&RuleConfig> = rules.iter().filter(|rule| matches(rule, claims)).collect();
    match matching.as_slice() {
        [rule] => apply(rule, claims).map_err(|fault| format!("rule {:?}: {fault}", rule.name)),
        [] => Err("no identity rule matches".to_owned()),
        several => {
            let names: Vec<&str> = several.iter().map(|rule| rule.name.as_str()).collect();
            Err(format!("several identity rules match: {}", names.join(", ")))
        }
    }
}

fn matches(rule: &RuleConfig, claims: &Value) -> bool {
    let client_fits = rule.clients.as_ref().is_none_or(|clients| {
        let client = claims.pointer(&clients.pointer).and_then(Value::as_str);
        client.is_some_and(|client| clients.one_of.contains(client))
    });
    client_fits && rule.when.iter().all(|condition| holds(condition, claims))
}

/// Whether every operator given holds; the settings check makes sure that it is exactly one.
fn holds(condition: &ConditionConfig, claims: &Value) -> bool {
    let ConditionConfig { pointer, equals, one_of, exists, absent, prefix, contains } = condition;
    let claim = claims.pointer(pointer).filter(|claim| !claim.is_null());
    let mut given = [
        equals.as_ref().map(|value| claim == Some(value)),
        one_of.as_ref().map(|values| claim.is_some_and(|claim| values.contains(claim))),
        exists.map(|_| claim.is_some()),
        absent.map(|_| claim.is_none()),
        prefix.as_ref().map(|prefix| claim.and_then(Value::as_str).is_some_and(|text| text.starts_with(prefix))),
        contains.as_ref().map(|value| claim.is_some_and(|claim| holds_word(claim, value))),
    ]
    .into_iter()
    .flatten()
    .peekable();
    given.peek().is_some() && given.all(|operator| operator)
}

fn holds_word(claim: &Value, value: &Value) -> bool {
    match (claim, value) {
        (Value::Array(list), _) => list.contains(value),
        (Value::String(text), Value::String(word)) => text.split(' ').any(|part| part == word),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_), _) => false,
    }
}

fn apply(rule: &RuleConfig, claims: &Value) -> Result<Caller, String> {
    let human = rule.kind == KindConfig::Human;
    let mut groups = match &rule.groups {
        Some(source) => texts(source, claims, "groups")?.unwrap_or_default(),
        None => BTreeSet::new(),
    };
    let operator = human && rule.operator_group.as_ref().is_some_and(|group| groups.contains(group));
    if !human && let Some(group) = &rule.operator_group {
        groups.remove(group);
    }
    let processes = match &rule.processes {
        // A limit that names nothing is no limit lifted: a token without the claim works on no process.
        Some(source) => Some(texts(source, claims, "processes")?.unwrap_or_default()),
        None => None,
    };
    let id = required(&rule.id, claims, "id")?;
    if id == "server" {
        return Err("id: \"server\" is reserved".to_owned());
    }
    Ok(Caller {
        org: required(&rule.organization, claims, "organization")?,
        kind: if human { CallerKind::Human } else { CallerKind::Agent },
        id,
        person: if human { person(rule, claims)? } else { None },
        groups,
        operator,
        processes,
    })
}

/// The e-mail address, unless the issuer says that nobody verified it.
fn person(rule: &RuleConfig, claims: &Value) -> Result<Option<String>, String> {
    let verified = claims.get("email_verified").is_none_or(|flag| *flag == Value::Bool(true));
    match &rule.email {
        Some(source) if verified => text(source, claims, "email"),
        Some(_) | None => Ok(None),
    }
}

fn required(source: &SourceConfig, claims: &Value, what: &str) -> Result<String, String> {
    text(source, claims, what)?.ok_or_else(|| format!("{what}: the claim is missing"))
}

fn text(source: &SourceConfig, claims: &Value, what: &str) -> Result<Option<String>, String> {
    let found = texts_of(source, claims, what)?;
    match found.as_deref() {
        None => Ok(None),
        Some([one]) => Ok(Some(one.clone())),
        Some(_) => Err(format!("{what}: the claim must be one text")),
    }
}

fn texts(source: &SourceConfig, claims: &Value, what: &str) -> Result<Option<BTreeSet<String>>, String> {
    Ok(texts_of(source, claims, what)?.map(|texts| texts.into_iter().collect()))
}

fn texts_of(source: &SourceConfig, claims: &Value, what: &str) -> Result<Option<Vec<String>>, String> {
    if let Some(value) = &source.value {
        return Ok(Some(vec![value.clone()]));
    }
    let Some(claim) = source.pointer.as_ref().and_then(|pointer| claims.pointer(pointer)) else { return Ok(None) };
    let parts = match claim {
        Value::Null => return Ok(None),
        Value::String(text) => vec![text.as_str()],
        Value::Array(list) => list.iter().map(Value::as_str).collect::<Option<Vec<&str>>>().unwrap_or(vec![""]),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![""],
    };
    let sound = |text: &str| !text.is_empty() && text.len() <= NAME_BYTES_MAX && !text.chars().any(char::is_control);
    if parts.len() > NAMES_MAX || !parts.iter().all(|text| sound(text)) {
        return Err(format!("{what}: the claim holds something else than short texts"));
    }
    let prefix = source.prefix.as_deref().unwrap_or_default();
    Ok(Some(parts.into_iter().map(|text| format!("{prefix}{text}")).collect()))
}
