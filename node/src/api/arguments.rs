//! From a call's arguments as sent to typed ones. A fault is the `invalid` envelope with every issue at once.

use agentprocess::EvidenceKind;
use agentprocess::json::{Object, Value, canonical};
use quorate_proto::{Caller, Refusal};
use sha2::{Digest, Sha256};

use super::envelope::invalid;
use super::schema::ROOT;
use super::tools::Tool;

/// Deepest nesting of arguments, the arguments object being level 1 (JSON-LIMITS).
pub const DEPTH_MAX: usize = 100;

/// The request id our own exact calls show (IDEM-SCOPE).
const PLACEHOLDER: &str = "<new UUID>";

/// Arguments that the tool's schema allows.
#[derive(Clone, Debug)]
pub(crate) struct Arguments(Object);

impl Arguments {
    /// Takes `_meta` off (some clients put it there) and judges the rest by the tool's schema.
    pub(crate) fn new(tool: &Tool, sent: Value) -> Result<Self, Refusal> {
        let Value::Object(mut sent) = sent else { return Err(invalid(vec![format!("{ROOT}: expected object")])) };
        sent.remove("_meta");
        let sent = Value::Object(sent);
        if deeper_than(&sent, DEPTH_MAX) {
            return Err(invalid(vec![format!("{ROOT}: nested deeper than {DEPTH_MAX} levels")]));
        }
        let mut issues = Vec::new();
        tool.schema().check(ROOT, &sent, &mut issues);
        let Value::Object(sent) = sent else { return Err(invalid(issues)) };
        if sent.get("requestId").and_then(Value::as_str) == Some(PLACEHOLDER) {
            issues.push(format!("requestId: put an id of your own, such as a new UUID, in place of {PLACEHOLDER}"));
        }
        if issues.is_empty() { Ok(Self(sent)) } else { Err(invalid(issues)) }
    }

    /// Whether the argument was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    /// An optional text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    /// A required text.
    pub(crate) fn need(&self, name: &str) -> Result<String, Refusal> {
        self.text(name).ok_or_else(|| invalid(vec![format!("{name}: missing")]))
    }

    /// An optional text that is absent when blank (NOTE-BLANK, RENEW-RACE).
    pub(crate) fn unless_blank(&self, name: &str) -> Option<String> {
        self.text(name).filter(|t| !is_blank(t))
    }

    /// A text that must not be blank (NOTE-BLANK).
    pub(crate) fn not_blank(&self, name: &str) -> Result<String, Refusal> {
        self.unless_blank(name).ok_or_else(|| invalid(vec![format!("{name}: required")]))
    }

    /// An optional object.
    pub(crate) fn object(&self, name: &str) -> Option<Object> {
        self.0.get(name).and_then(Value::as_object).cloned()
    }

    /// An optional whole number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// A page's `limit`: 20 when left out (WORK-ORDER).
    pub(crate) fn limit(&self) -> usize {
        usize::try_from(self.number("limit").unwrap_or(20)).unwrap_or(20)
    }

    /// The evidence items, if given.
    pub(crate) fn evidence(&self) -> Option<Vec<(EvidenceKind, String)>> {
        let items = self.0.get("evidence")?.as_array()?;
        let word = |item: &Value, key: &str| {
            item.as_object().and_then(|o| o.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let kind = |item| if word(item, "kind") == "file" { EvidenceKind::File } else { EvidenceKind::Link };
        Some(items.iter().map(|i| (kind(i), word(i, "ref"))).collect())
    }

    /// The filters a cursor is bound to: all but `cursor` and `limit` (PAGE-CURSOR).
    pub(crate) fn filters(&self) -> Value {
        let mut filters = self.0.clone();
        filters.remove("cursor");
        filters.remove("limit");
        filters.into()
    }

    /// SHA-256 over tool, caller and arguments in the NUM-COMPARE form: what makes two calls the same (IDEM-SAME,
    /// IDEM-IDENTITY).
    pub(crate) fn fingerprint(&self, tool: &str, caller: &Caller) -> [u8; 32] {
        let mut call = Object::new();
        call.set("tool", tool).set("kind", caller.kind.as_str()).set("caller", caller.id.as_str());
        call.set("arguments", self.0.clone());
        Sha256::digest(canonical(&call.into()).as_bytes()).into()
    }
}

/// Only white space, or nothing (REASON-BLANK).
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Whether lists and objects nest deeper than `max`. Iterative: hostile input must not exhaust the stack.
fn deeper_than(value: &Value, max: usize) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Array(_) | Value::Object(_) if level > max => return true,
            Value::Array(a) => open.extend(a.iter().map(|v| (v, level + 1))),
            Value::Object(o) => open.extend(o.iter().map(|(_, v)| (v, level + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}
