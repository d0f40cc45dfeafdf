//! One step read alone: its kind, and the values of its keys before names are resolved.

use super::expect::{boolean, expected, list, mapping, missing, text};
use super::keys::{Kind, Optional};
use super::paths::{RawPath, raw_path};
use super::routes::{RawNext, raw_next};
use super::{ID_RULE, check, fields, id_valid};
use crate::issues::{Issues, at};
use crate::json::{Object, Value};
use crate::model::{Check, EvidenceKind, Fields};
use crate::time::Span;

/// Who, before paths are resolved.
pub(super) enum RawPerson<'a> {
    Role(&'a str),
    Initiator,
    Path(RawPath<'a>),
}

/// A step as far as it can be read; what is `None` is absent or has its issue already.
#[derive(Default)]
pub(super) struct Draft<'a> {
    pub path: String,
    pub id: Option<&'a str>,
    pub kind: Option<Kind>,
    /// Instructions, what is approved, the event's name or the outcome.
    pub text: Option<&'a str>,
    pub span: Option<Span>,
    pub until: Option<RawPath<'a>>,
    pub entries: Option<Vec<&'a str>>,
    pub output: Fields,
    pub evidence: Option<Vec<EvidenceKind>>,
    pub next: Option<RawNext<'a>>,
    pub person: Option<RawPerson<'a>>,
    pub on_reject: Option<&'a str>,
    pub due: Option<Span>,
    pub timeout: Option<Span>,
    pub on_timeout: Option<&'a str>,
    pub check: Option<Check>,
}

pub(super) fn draft<'a>(index: usize, value: &'a Value, issues: &mut Issues) -> Draft<'a> {
    let path = format!("steps[{index}]");
    let mut draft = Draft { path: path.clone(), ..Draft::default() };
    let Some(step) = mapping(value, &path, issues) else { return draft };
    let kinds: Vec<Kind> = step.iter().filter_map(|(key, _)| Kind::named(key)).collect();
    match kinds[..] {
        [kind] => draft.kind = Some(kind),
        _ => issues.add(&path, format!("exactly one of {}", Kind::words())),
    }
    if step.get("id").is_none() {
        missing::<()>(&at(&path, "id"), issues);
    }
    for (key, value) in step.iter() {
        let path = at(&path, key);
        if key == "id" {
            draft.id = id(value, &path, issues);
        } else if let Some(kind) = Kind::named(key) {
            draft.kind_value(kind, value, &path, issues);
        } else if let Some(optional) = Optional::named(key) {
            draft.optional(optional, value, &path, step, issues);
        } else {
            issues.add(path, format!("unknown key; known here: {}", Kind::keys(draft.kind).join(", ")));
        }
    }
    if draft.kind.is_some_and(Kind::needs_person) && step.get("person").is_none() {
        missing::<()>(&at(&path, "person"), issues);
    }
    draft
}

impl<'a> Draft<'a> {
    pub fn at(&self, key: &str) -> String {
        at(&self.path, key)
    }

    fn kind_value(&mut self, kind: Kind, value: &'a Value, path: &str, issues: &mut Issues) {
        match kind {
            Kind::Agent | Kind::Task | Kind::Approve | Kind::Finish => self.text = text(value, path, issues),
            Kind::Wait => self.span = duration(value, path, issues),
            Kind::WaitUntil => self.until = raw_path(value, "datetime", path, issues),
            Kind::WaitFor => self.text = id(value, path, issues),
            Kind::Parallel => self.entries = entries(value, path, issues),
        }
    }

    fn optional(&mut self, key: Optional, value: &'a Value, path: &str, step: &Object, issues: &mut Issues) {
        if let Some(kind) = self.kind.filter(|kind| !kind.allows(key)) {
            let more = if kind == Kind::Parallel { ": parallel takes next and nothing else" } else { "" };
            return issues.add(path, format!("not allowed on {}{more}", kind.word()));
        }
        match key {
            Optional::Output => self.output = fields::fields(value, path, issues),
            Optional::Evidence => self.evidence = evidence(value, path, issues),
            Optional::Next => self.next = Some(raw_next(value, self.kind, path, issues)),
            Optional::Person => self.person = person(value, path, issues),
            Optional::OnReject => self.on_reject = text(value, path, issues),
            Optional::Due => self.due = duration(value, path, issues),
            Optional::Timeout => self.timeout = duration(value, path, issues),
            Optional::OnTimeout => self.on_timeout = text(value, path, issues),
            Optional::Check => self.check = check::check(value, step.get("advisory"), path, issues),
            Optional::Advisory => {
                boolean(value, path, issues);
                if step.get("check").is_none() {
                    issues.add(path, "allowed only when check is present");
                }
            }
        }
    }
}

/// A step id or an event name.
fn id<'a>(value: &'a Value, path: &str, issues: &mut Issues) -> Option<&'a str> {
    let Some(id) = value.as_str() else { return expected("text", value, path, issues) };
    if !id_valid(id) {
        issues.add(path, ID_RULE);
        return None;
    }
    Some(id)
}

fn duration(value: &Value, path: &str, issues: &mut Issues) -> Option<Span> {
    let span = value.as_str().and_then(Span::parse);
    span.or_else(|| expected("an integer followed by m, h or d, such as 30m, 4h or 3d", value, path, issues))
}

/// A set, returned as written: it may be empty or repeat itself (LIST-FORMS).
fn evidence(value: &Value, path: &str, issues: &mut Issues) -> Option<Vec<EvidenceKind>> {
    let mut kinds = Vec::new();
    let values = value.as_array().or_else(|| expected("a list, such as [file]", value, path, issues))?;
    for (i, value) in values.iter().enumerate() {
        match value.as_str().and_then(EvidenceKind::named) {
            Some(kind) => kinds.push(kind),
            None => expected("file or link", value, &format!("{path}[{i}]"), issues)?,
        }
    }
    Some(kinds)
}

fn person<'a>(value: &'a Value, path: &str, issues: &mut Issues) -> Option<RawPerson<'a>> {
    let person = text(value, path, issues)?;
    if person.contains('.') {
        return raw_path(value, "person", path, issues).map(RawPerson::Path);
    }
    Some(if person == "initiator" { RawPerson::Initiator } else { RawPerson::Role(person) })
}

fn entries<'a>(value: &'a Value, path: &str, issues: &mut Issues) -> Option<Vec<&'a str>> {
    let values = list(value, path, issues)?;
    if values.len() < 2 {
        issues.add(path, "two or more branch entries are needed");
    }
    let ids = values.iter().enumerate().map(|(i, value)| text(value, &format!("{path}[{i}]"), issues));
    // All are read before any is given up, so that every element gets its issue.
    ids.collect::<Vec<_>>().into_iter().collect()
}
