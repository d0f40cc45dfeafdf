//! What a value must be, and the issue if it is not.

use crate::issues::{Issues, at};
use crate::json::{Object, Value};

pub(super) fn missing<T>(path: &str, issues: &mut Issues) -> Option<T> {
    issues.add(path, "missing");
    None
}

/// Says what was expected; a null gets the advice of FM-ROOT.
pub(super) fn expected<T>(what: &str, value: &Value, path: &str, issues: &mut Issues) -> Option<T> {
    let advice = if value.is_null() { ", not null: remove the key or give a value" } else { "" };
    issues.add(path, format!("expected {what}{advice}"));
    None
}

/// Text with at least one character that is not white space (TEXT-BLANK).
pub(super) fn text<'a>(value: &'a Value, path: &str, issues: &mut Issues) -> Option<&'a str> {
    let Some(text) = value.as_str() else { return expected("text", value, path, issues) };
    if text.chars().all(char::is_whitespace) {
        issues.add(path, "must not be blank");
        return None;
    }
    Some(text)
}

pub(super) fn mapping<'a>(value: &'a Value, path: &str, issues: &mut Issues) -> Option<&'a Object> {
    value.as_object().or_else(|| expected("a mapping", value, path, issues))
}

pub(super) fn list<'a>(value: &'a Value, path: &str, issues: &mut Issues) -> Option<&'a [Value]> {
    value.as_array().or_else(|| expected("a list", value, path, issues))
}

pub(super) fn boolean(value: &Value, path: &str, issues: &mut Issues) -> Option<bool> {
    value.as_bool().or_else(|| expected("true or false", value, path, issues))
}

pub(super) fn known_keys(object: &Object, path: &str, known: &[&str], issues: &mut Issues) {
    for (key, _) in object.iter().filter(|(key, _)| !known.contains(key)) {
        issues.add(at(path, key), format!("unknown key; known here: {}", known.join(", ")));
    }
}
