//! The rules of §2 and of the profiles' publication sections, over frontmatter that is already plain data.
//!
//! Each step is first read alone ([`draft`]); then names become positions ([`links`]), branches are found ([`branch`]),
//! the graph is judged ([`graph`]), and only a file without issues is built ([`build`]).

mod branch;
mod build;
mod check;
mod draft;
mod expect;
mod fields;
mod graph;
mod keys;
mod links;
mod paths;
mod routes;
mod warn;

use std::collections::BTreeSet;

use crate::issues::{Issues, at};
use crate::json::{Object, Value};
use crate::model::{Fields, Process};
use expect::{known_keys, list, mapping, missing, text};

/// The keys of the schema that this protocol version does not have (SCHEMA-EXTRA).
const SCHEMA_ONLY: [&str; 3] = ["data_sources", "emails", "files"];

/// The process, if nothing is wrong; the issues; the warnings of a process without issues.
pub(crate) fn process(root: &Value) -> (Option<Process>, Issues, Issues) {
    let (mut issues, mut warnings) = (Issues::default(), Issues::default());
    let Value::Object(root) = root else {
        issues.add("frontmatter", "must be a mapping with name, description and steps");
        return (None, issues, warnings);
    };
    let process = read(root, &mut issues, &mut warnings).filter(|_| issues.is_empty());
    if process.is_none() && issues.is_empty() {
        // Every reader that gives up says why; this keeps a slip in one of them from publishing half a process.
        issues.add("frontmatter", "cannot be read as a process");
    }
    (process, issues, warnings)
}

fn read(root: &Object, issues: &mut Issues, warnings: &mut Issues) -> Option<Process> {
    for (key, _) in root.iter().filter(|(key, _)| SCHEMA_ONLY.contains(key)) {
        issues.add(key, "unknown key: schemas name it, but core-2 does not have it; remove it");
    }
    let known = ["name", "description", "inputs", "requires", "steps"];
    known_keys(root, "", &[&known[..], &SCHEMA_ONLY[..]].concat(), issues);
    let name = name(root, issues);
    let description = required(root, "description", issues).and_then(|value| text(value, "description", issues));
    let inputs = root.get("inputs").map_or_else(Fields::default, |value| fields::fields(value, "inputs", issues));
    let systems = root.get("requires").map_or_else(Vec::new, |value| systems(value, issues));
    let steps = required(root, "steps", issues).and_then(|value| list(value, "steps", issues))?;
    if steps.is_empty() {
        issues.add("steps", "at least one step is needed");
        return None;
    }
    let drafts: Vec<_> = steps.iter().enumerate().map(|(i, step)| draft::draft(i, step, issues)).collect();
    let links = links::resolve(&drafts, issues);
    let branches = branch::branches(&drafts, &links, issues);
    graph::judge(&drafts, &links, &branches, issues);
    let sources = paths::Sources { inputs: &inputs, drafts: &drafts, index: &links.index };
    let steps = build::steps(&drafts, &links, &branches, &sources, issues);
    let process =
        Process { name: name?.to_owned(), description: description?.to_owned(), inputs, systems, steps: steps? };
    if issues.is_empty() {
        warn::warn(&process, &drafts, warnings);
    }
    Some(process)
}

fn required<'a>(root: &'a Object, key: &str, issues: &mut Issues) -> Option<&'a Value> {
    root.get(key).or_else(|| missing(key, issues))
}

fn name<'a>(root: &'a Object, issues: &mut Issues) -> Option<&'a str> {
    let name = text(required(root, "name", issues)?, "name", issues)?;
    if !name_valid(name) {
        issues.add("name", NAME_RULE);
        return None;
    }
    Some(name)
}

const NAME_RULE: &str = "must match ^[a-z0-9]+(-[a-z0-9]+)*$ and have at most 64 characters";

fn name_valid(name: &str) -> bool {
    let part_valid = |part: &str| !part.is_empty() && part.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9'));
    name.len() <= 64 && name.split('-').all(part_valid)
}

/// `^[a-z][a-z0-9_-]{0,63}$`, for step ids and event names.
fn id_valid(id: &str) -> bool {
    let plain = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    id.starts_with(|c: char| c.is_ascii_lowercase()) && id.len() <= 64 && id.bytes().all(plain)
}

const ID_RULE: &str = "must match ^[a-z][a-z0-9_-]{0,63}$";

/// `requires.systems`: at least one name, each once (LIST-FORMS).
fn systems(value: &Value, issues: &mut Issues) -> Vec<String> {
    let Some(requires) = mapping(value, "requires", issues) else { return Vec::new() };
    known_keys(requires, "requires", &["systems"], issues);
    let path = at("requires", "systems");
    let value = requires.get("systems").or_else(|| missing(&path, issues));
    let Some(names) = value.and_then(|value| list(value, &path, issues)) else { return Vec::new() };
    if names.is_empty() {
        issues.add(&path, "at least one system is needed; or remove requires");
    }
    let mut seen = BTreeSet::new();
    for (i, value) in names.iter().enumerate() {
        let path = format!("{path}[{i}]");
        match text(value, &path, issues) {
            Some(name) if !name_valid(name) => issues.add(path, NAME_RULE),
            Some(name) if !seen.insert(name) => issues.add(path, "listed twice; keep one"),
            Some(_) | None => {}
        }
    }
    names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
