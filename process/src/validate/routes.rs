//! `next` before names are resolved (NEXT-LIST).

use std::collections::BTreeSet;

use super::expect::{expected, known_keys, missing, text};
use super::keys::Kind;
use crate::issues::{Issues, at};
use crate::json::Value;

pub(super) enum RawNext<'a> {
    One(&'a str),
    Choice(Vec<RawRoute<'a>>),
    /// It has its issue already.
    Broken,
}

pub(super) struct RawRoute<'a> {
    pub to: &'a str,
    pub when: Option<&'a str>,
    /// Where the target stands in the file.
    pub path: String,
}

pub(super) fn raw_next<'a>(value: &'a Value, kind: Option<Kind>, path: &str, issues: &mut Issues) -> RawNext<'a> {
    match value {
        Value::String(_) => text(value, path, issues).map_or(RawNext::Broken, RawNext::One),
        Value::Array(_) if kind == Some(Kind::Parallel) => {
            issues.add(path, "a list is allowed only on agent and task: parallel takes next and nothing else");
            RawNext::Broken
        }
        Value::Array(_) if kind.is_some_and(|kind| !kind.is_work()) => {
            issues.add(path, "a list is allowed only on agent and task; name one step");
            RawNext::Broken
        }
        Value::Array(values) => choice(values, path, issues).map_or(RawNext::Broken, RawNext::Choice),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            expected("a step id or a list of routes", value, path, issues).unwrap_or(RawNext::Broken)
        }
    }
}

fn choice<'a>(values: &'a [Value], path: &str, issues: &mut Issues) -> Option<Vec<RawRoute<'a>>> {
    let routes: Vec<_> = values.iter().enumerate().map(|(i, v)| route(v, &format!("{path}[{i}]"), issues)).collect();
    let distinct: BTreeSet<_> = routes.iter().flatten().map(|route| route.to).collect();
    if routes.len() < 2 || (distinct.len() < 2 && routes.iter().all(Option::is_some)) {
        issues.add(path, "two or more routes to distinct steps are needed; name a single step without a list");
        return None;
    }
    routes.into_iter().collect()
}

fn route<'a>(value: &'a Value, path: &str, issues: &mut Issues) -> Option<RawRoute<'a>> {
    let Value::Object(route) = value else {
        let Some(to) = value.as_str() else {
            return expected("a step id or a mapping with to", value, path, issues);
        };
        return Some(RawRoute { to, when: None, path: path.to_owned() });
    };
    known_keys(route, path, &["to", "when"], issues);
    let to_path = at(path, "to");
    let to = route.get("to").or_else(|| missing(&to_path, issues)).and_then(|to| text(to, &to_path, issues));
    let when = route.get("when").map(|when| text(when, &at(path, "when"), issues));
    let when = if let Some(when) = when { Some(when?) } else { None };
    Some(RawRoute { to: to?, when, path: to_path })
}
