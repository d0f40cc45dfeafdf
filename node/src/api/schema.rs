//! Judges arguments by our own JSON Schemas, on the exact values themselves.
//!
//! The argument schemas in `schemas/tools` use a small part of JSON Schema. Reading that part here keeps numbers exact
//! (NUM-EXACT), issues in a fixed order, and hash-ordered maps out of the simulation. A schema that uses more does not
//! compile, and a test holds this against a full validator.

use agentprocess::json::{Object, Value};
use agentprocess::{IssueList, shown};

/// A compiled schema.
#[derive(Debug)]
pub(crate) enum Schema {
    /// Properties in order with whether each is required; `open` takes others too.
    Object { properties: Vec<(String, bool, Schema)>, open: bool },
    /// Items all of one shape.
    Array(Box<Schema>),
    /// Lengths in code points (SUMMARY-LEN), or one of some words.
    String { min: u64, max: Option<u64>, words: Vec<String> },
    /// A whole number in bounds.
    Integer { min: u64, max: u64 },
}

/// Keywords that say nothing about validity.
const NOTES: [&str; 4] = ["$schema", "$id", "title", "description"];

impl Schema {
    /// Compiles a schema; `Err` names what this reader does not know.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let Some(o) = schema.as_object() else { return Err("a schema must be an object".to_owned()) };
        let known: &[&str] = match o.get("type").and_then(Value::as_str) {
            Some("object") => &["type", "properties", "required", "additionalProperties"],
            Some("array") => &["type", "items"],
            Some("string") => &["type", "minLength", "maxLength", "enum"],
            Some("integer") => &["type", "minimum", "maximum"],
            other => return Err(format!("type {other:?}")),
        };
        if let Some((key, _)) = o.iter().find(|(key, _)| !known.contains(key) && !NOTES.contains(key)) {
            return Err(format!("keyword {key}"));
        }
        let number = |key: &str| o.get(key).and_then(Value::as_u64);
        match o.get("type").and_then(Value::as_str) {
            Some("object") => Self::object(o),
            Some("array") => Ok(Self::Array(Box::new(Self::compile(o.get("items").unwrap_or(&Value::Null))?))),
            Some("string") => {
                let words = o.get("enum").and_then(Value::as_array).unwrap_or_default();
                let words = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                Ok(Self::String { min: number("minLength").unwrap_or(0), max: number("maxLength"), words })
            }
            _ => match (number("minimum"), number("maximum")) {
                (Some(min), Some(max)) => Ok(Self::Integer { min, max }),
                _ => Err("an integer needs minimum and maximum".to_owned()),
            },
        }
    }

    fn object(o: &Object) -> Result<Self, String> {
        let required = o.get("required").and_then(Value::as_array).unwrap_or_default();
        let mut properties = Vec::new();
        if let Some(declared) = o.get("properties").and_then(Value::as_object) {
            for (name, schema) in declared.iter() {
                let required = required.iter().any(|r| r.as_str() == Some(name));
                properties.push((name.to_owned(), required, Self::compile(schema)?));
            }
        }
        let open = o.get("additionalProperties").and_then(Value::as_bool) != Some(false);
        Ok(Self::Object { properties, open })
    }

    /// Adds every fault of `value`, which stands at `path`, to `issues`: declared things in schema order, then
    /// undeclared ones in the order sent.
    pub(crate) fn check(&self, path: &str, value: &Value, issues: &mut IssueList) {
        match self {
            Self::Object { properties, open } => match value.as_object() {
                Some(o) => check_object(properties, *open, path, o, issues),
                None => issues.add(format!("{path}: expected object")),
            },
            Self::Array(items) => match value.as_array() {
                Some(a) => {
                    for (n, item) in a.iter().enumerate() {
                        if issues.full() {
                            return;
                        }
                        items.check(&format!("{path}[{n}]"), item, issues);
                    }
                }
                None => issues.add(format!("{path}: expected list")),
            },
            Self::String { min, max, words } => match value.as_str() {
                Some(s) => check_string(*min, *max, words, path, s, issues),
                None => issues.add(format!("{path}: expected string")),
            },
            Self::Integer { min, max } => {
                if !value.as_u64().is_some_and(|n| (*min..=*max).contains(&n)) {
                    issues.add(format!("{path}: must be an integer from {min} to {max}"));
                }
            }
        }
    }
}

fn check_object(properties: &[(String, bool, Schema)], open: bool, path: &str, o: &Object, issues: &mut IssueList) {
    let at = |name: &str| if path == ROOT { name.to_owned() } else { format!("{path}.{name}") };
    for (name, required, schema) in properties {
        match o.get(name) {
            Some(value) => schema.check(&at(name), value, issues),
            None if *required => issues.add(format!("{}: missing", at(name))),
            None => {}
        }
    }
    if !open {
        for (key, _) in o.iter().filter(|(key, _)| !properties.iter().any(|(name, _, _)| name == key)) {
            if issues.full() {
                return;
            }
            issues.add(format!("{}: not an argument", at(&shown(key))));
        }
    }
}

fn check_string(min: u64, max: Option<u64>, words: &[String], path: &str, s: &str, issues: &mut IssueList) {
    let length = s.chars().count() as u64;
    if !words.is_empty() && !words.iter().any(|w| w == s) {
        issues.add(format!("{path}: one of {}", words.join(", ")));
    } else if length < min || max.is_some_and(|max| length > max) {
        issues.add(match (min, max) {
            (0, Some(max)) => format!("{path}: over {max} characters"),
            (_, Some(max)) => format!("{path}: must be {min} to {max} characters"),
            (_, None) => format!("{path}: must not be empty"),
        });
    }
}

/// The path of the arguments object itself.
pub(crate) const ROOT: &str = "arguments";
