//! `QUORATE_…` variables: `QUORATE_LEASE_S` is `lease_s`, `QUORATE_LOG__FORMAT` is `log.format`.
//!
//! A value is read as YAML where the setting is no text: `QUORATE_ALLOWED_HOSTS='[a.example, b.example]'`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::faults::{Fault, parse};
use super::{Config, Read};

const PREFIX: &str = "QUORATE_";
/// Variables of the project that are no settings of a node.
const OTHERS: [&str; 2] = ["QUORATE_CACHE", "QUORATE_CONFIG"];

/// Lays the environment over the tree of a file.
pub(super) fn lay_over(tree: &mut Value, environment: &BTreeMap<String, String>, read: &mut Read) {
    let secrets = secret_names(tree, environment);
    for (name, text) in environment {
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        if OTHERS.contains(&name.as_str()) || secrets.contains(name) {
            continue;
        }
        let path: Vec<String> = rest.to_lowercase().split("__").map(str::to_owned).collect();
        // Kubernetes sets variables like QUORATE_PORT for a service of that name: what is no setting is only told.
        if !is_setting(&path) {
            read.warnings.push(Fault::new(name, "no such setting; it is ignored"));
            continue;
        }
        put(tree, &path, value(&path, text));
    }
}

/// The variable that holds the webhook's key may itself begin with the prefix.
fn secret_names(tree: &Value, environment: &BTreeMap<String, String>) -> Vec<String> {
    let named = tree.pointer("/notifications/secret_env").and_then(Value::as_str).map(str::to_owned);
    named.into_iter().chain(environment.get("QUORATE_NOTIFICATIONS__SECRET_ENV").cloned()).collect()
}

/// Whether the path begins at a setting: asked of the settings themselves, so that no list can go stale.
fn is_setting(path: &[String]) -> bool {
    let mut probe = Value::Object(serde_json::Map::new());
    put(&mut probe, path, Value::Null);
    let found = serde_json::from_value::<Config>(probe).err().map(|e| e.to_string());
    found.is_none_or(|e| !e.starts_with("unknown field"))
}

/// A text stays a text where a text is wanted, whatever YAML would make of it.
fn value(path: &[String], text: &str) -> Value {
    let read = parse(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let as_text = Value::String(text.to_owned());
    let mut probe = Value::Object(serde_json::Map::new());
    put(&mut probe, path, as_text.clone());
    if serde_json::from_value::<Config>(probe).is_ok() { as_text } else { read }
}

fn put(tree: &mut Value, path: &[String], value: Value) {
    let [first, rest @ ..] = path else { return };
    if !tree.is_object() {
        *tree = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(map) = tree {
        if rest.is_empty() {
            map.insert(first.clone(), value);
        } else {
            put(map.entry(first.clone()).or_insert(Value::Null), rest, value);
        }
    }
}
