//! The shape of settings: every wrong, unknown or missing one, not only the first.
//!
//! serde stops at its first fault. Here the offence is mended with a placeholder and the reading goes on.

use std::fmt;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Faults beyond this number are not looked for.
const FAULTS_MAX: usize = 100;
/// Largest file, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// One thing wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The setting, such as `auth.issuers[0].audience`.
    pub place: String,
    /// What is wrong, and how to mend it.
    pub message: String,
}

impl Fault {
    /// A fault.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    /// Whether this is about the same setting as `other`, or a part of it.
    pub fn is_within(&self, other: &Self) -> bool {
        let rest = self.place.strip_prefix(&other.place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Settings with nothing in them.
pub(super) fn empty() -> Value {
    Value::Object(Map::new())
}

/// The tree of a YAML file.
pub(super) fn parse_file(path: &Path) -> Result<Value, Fault> {
    let fault = |what: String| Fault::new(path.display().to_string(), what);
    let size = std::fs::metadata(path).map_err(|e| fault(format!("cannot be read: {e}")))?.len();
    if size > FILE_BYTES_MAX {
        return Err(fault(format!("larger than {FILE_BYTES_MAX} bytes; give the path of a settings file")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| fault(format!("cannot be read: {e}")))?;
    match parse(&text).map_err(|e| fault(format!("not YAML: {e}")))? {
        Value::Null => Ok(empty()),
        Value::Object(map) => Ok(Value::Object(map)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(fault("must be a mapping of settings, such as data_dir: /var/lib/quorate".to_owned()))
        }
    }
}

/// The value of a YAML text.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    // Advice for programmers helps nobody with a file.
    serde_saphyr::from_str(text)
        .map_err(|e| e.to_string().replace(", set DuplicateKeyPolicy in Options if acceptable", ""))
}

/// Reads settings from their tree; with faults, what is readable of them.
pub(super) fn shape<T: DeserializeOwned>(mut tree: Value) -> (Option<T>, Vec<Fault>) {
    let mut faults = Vec::new();
    while faults.len() < FAULTS_MAX {
        let (place, what) = match read::<T>(&tree) {
            Ok(settings) => return (Some(settings), faults),
            Err(found) => found,
        };
        let mended = if let Some(field) = quoted(&what, "unknown field ") {
            // The place of an unknown field is the field itself or what holds it, as serde came upon it.
            let is_field = place == field || place.ends_with(&format!(".{field}"));
            let place = if is_field { place } else { join(&place, &field) };
            faults.push(Fault::new(&place, format!("no such setting; {}", after(&what, ", "))));
            take(&mut tree, &place)
        } else if let Some(field) = quoted(&what, "missing field ") {
            let place = join(&place, &field);
            faults.push(Fault::new(&place, "required, and not there"));
            fill::<T>(&mut tree, &place)
        } else {
            faults.push(Fault::new(&place, mend(&what)));
            fill::<T>(&mut tree, &place)
        };
        if !mended {
            break;
        }
    }
    (None, faults)
}

fn read<T: DeserializeOwned>(tree: &Value) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(tree.clone()).map_err(|e| (e.path().to_string(), e.into_inner().to_string()))
}

/// What was found, with how to mend it where the library's words do not say so.
fn mend(what: &str) -> String {
    let expected = |types: &[&str]| types.iter().any(|kind| what.ends_with(&format!("expected {kind}")));
    let how = if what.contains("socket address") {
        "write an IP address and a port, such as 127.0.0.1:8080"
    } else if expected(&["u64", "u32", "u16"]) {
        "write a whole number, without a unit"
    } else if expected(&["a sequence", "a set"]) {
        "write a list, such as [a.example, b.example]"
    } else {
        return what.to_owned();
    };
    format!("{what}; {how}")
}

/// Puts something readable at `place`, so that the reading goes past it.
fn fill<T: DeserializeOwned>(tree: &mut Value, place: &str) -> bool {
    let mut candidates = vec![json!(""), json!([]), json!({}), json!(0), json!(true), json!("127.0.0.1:0")];
    while let Some(candidate) = (!candidates.is_empty()).then(|| candidates.remove(0)) {
        if !put(tree, place, candidate) {
            return false;
        }
        match read::<T>(tree) {
            Ok(_) => return true,
            Err((at, what)) => {
                let now = Fault::new(at, "");
                if !now.is_within(&Fault::new(place, "")) {
                    return true;
                }
                if let Some(variant) = quoted(&what, "expected `").or_else(|| quoted(&what, "expected one of ")) {
                    candidates.push(json!(variant));
                }
            }
        }
        if candidates.len() > FAULTS_MAX {
            return false;
        }
    }
    false
}

fn join(place: &str, field: &str) -> String {
    if place.is_empty() || place == "." { field.to_owned() } else { format!("{place}.{field}") }
}

/// The word in backticks after `lead`, or at its end.
fn quoted(what: &str, lead: &str) -> Option<String> {
    let rest = &what[what.find(lead)? + lead.len()..];
    Some(rest.trim_start_matches('`').split('`').next()?.to_owned())
}

fn after<'a>(what: &'a str, mark: &str) -> &'a str {
    what.split_once(mark).map_or(what, |(_, rest)| rest)
}

/// `a.b[0].c` as steps of a JSON Pointer, the last apart.
fn split(place: &str) -> (String, String) {
    let pointer = format!(".{}", place.replace('[', ".").replace(']', "")).replace('~', "~0").replace('/', "~1");
    let (parent, last) = pointer.rsplit_once('.').unwrap_or_default();
    (parent.replace('.', "/"), last.to_owned())
}

fn put(tree: &mut Value, place: &str, value: Value) -> bool {
    let (parent, last) = split(place);
    match tree.pointer_mut(&parent) {
        Some(Value::Object(map)) => {
            map.insert(last, value);
            true
        }
        Some(Value::Array(all)) => match last.parse::<usize>().ok().and_then(|index| all.get_mut(index)) {
            Some(slot) => {
                *slot = value;
                true
            }
            None => false,
        },
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => false,
    }
}

fn take(tree: &mut Value, place: &str) -> bool {
    let (parent, last) = split(place);
    match tree.pointer_mut(&parent) {
        Some(Value::Object(map)) => map.remove(&last).is_some(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | None => false,
    }
}
