//! From a call's arguments as sent to typed ones. A fault is the `invalid` envelope with every issue at once.

use std::fmt;

use agentprocess::json::{self, Object, Value, write_canonical};
use agentprocess::{EvidenceKind, IssueList};
use quorate_proto::{Caller, Refusal};
use sha2::{Digest, Sha256};

use super::envelope::invalid;
use super::schema::ROOT;
use super::settings::Settings;
use super::tools::{Id, Tool};

/// Deepest nesting of arguments, the arguments object being level 1 (JSON-LIMITS).
pub const DEPTH_MAX: usize = 100;

/// Room in a call's arguments beside the run data that they may hold, in bytes. Wide, so that work somewhat over the cap
/// is still judged as work (CAP-WHERE); the widest of the other arguments take a twentieth of it.
const ARGUMENTS_OVERHEAD_BYTES: u64 = 1 << 20;
/// Most evidence with one call, in items. The file behind each is read whole (FILE-VERIFY).
const EVIDENCE_ITEMS_MAX: usize = 1000;

/// The request id our own exact calls show (IDEM-SCOPE).
const PLACEHOLDER: &str = "<new UUID>";

/// Arguments that the tool's schema allows.
#[derive(Clone, Debug)]
pub(crate) struct Arguments(Object);

impl Arguments {
    /// Reads arguments as they were sent. Their size is judged first, before anything is made of them.
    pub(crate) fn read(tool: &Tool, settings: &Settings, text: &[u8]) -> Result<Self, Refusal> {
        let at_root = |issue: String| invalid(vec![format!("{ROOT}: {issue}")]);
        if let Some(max) = too_large(tool, settings, json::size(text)) {
            return Err(at_root(format!("over {max} bytes")));
        }
        let sent = json::parse(text, DEPTH_MAX).map_err(|e| at_root(e.message))?;
        let Value::Object(sent) = sent else { return Err(at_root("expected object".to_owned())) };
        Self::new(tool, sent)
    }

    /// Takes `_meta` off (some clients put it there) and judges the rest by the tool's schema.
    fn new(tool: &Tool, mut sent: Object) -> Result<Self, Refusal> {
        sent.remove("_meta");
        let mut issues = IssueList::default();
        tool.schema().check(ROOT, &Value::Object(sent.clone()), &mut issues);
        if sent.get("requestId").and_then(Value::as_str) == Some(PLACEHOLDER) {
            issues.add(format!("requestId: put an id of your own, such as a new UUID, in place of {PLACEHOLDER}"));
        }
        let evidence = sent.get("evidence").and_then(Value::as_array);
        if evidence.is_some_and(|items| items.len() > EVIDENCE_ITEMS_MAX) {
            issues.add(format!("evidence: over {EVIDENCE_ITEMS_MAX} items"));
        }
        if issues.is_empty() { Ok(Self(sent)) } else { Err(invalid(issues.into_vec())) }
    }

    /// Whether the argument was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    /// An optional text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.borrowed(name).map(str::to_owned)
    }

    /// An optional text, not copied: it may be as large as an upload.
    pub(crate) fn borrowed(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
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
        let mut hash = Hashed(Sha256::new());
        // Writing to a hash cannot fail.
        let _ = write_canonical(&mut hash, &call.into());
        hash.0.finalize().into()
    }
}

/// Most that the arguments of a call may take in compact form, in bytes; an upload's content has its own limit.
pub(crate) fn bytes_max(settings: &Settings) -> u64 {
    settings.run_data_bytes_max.saturating_add(ARGUMENTS_OVERHEAD_BYTES)
}

/// The limit that a call's arguments are over, if they are (JSON-LIMITS). Beside an upload's content there is hardly
/// anything.
fn too_large(tool: &Tool, settings: &Settings, size: json::Size) -> Option<u64> {
    let (bytes, max) = if tool.id == Id::Upload {
        (size.structure, ARGUMENTS_OVERHEAD_BYTES)
    } else {
        (size.compact, bytes_max(settings))
    };
    (bytes as u64 > max).then_some(max)
}

/// A hash of what is written to it.
struct Hashed(Sha256);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// Only white space, or nothing (REASON-BLANK).
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}
