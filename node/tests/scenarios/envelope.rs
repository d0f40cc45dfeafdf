//! Checks what every answer must keep: the envelope of §4, and its data by our schemas and the protocol's.

use agentprocess::json::Value;

use crate::json::at;
use crate::results::check_result;

/// Checks an envelope, and the data of a result.
pub fn check(tool: &str, envelope: &Value) -> Result<(), String> {
    let ok = at(envelope, "ok").and_then(Value::as_bool).ok_or_else(|| format!("no envelope: {envelope}"))?;
    let keys: Vec<_> = envelope.as_object().map_or(Vec::new(), |o| o.iter().map(|(k, _)| k).collect());
    if keys != ["ok", if ok { "data" } else { "error" }] {
        return Err(format!("the envelope has the keys {keys:?}"));
    }
    match at(envelope, "data") {
        Some(data) => check_result(tool, data),
        None => check_error(at(envelope, "error").unwrap_or(&Value::Null)),
    }
}

/// `{code, message, issues?}` with a code of §4.3 and a message for people.
fn check_error(error: &Value) -> Result<(), String> {
    let codes = ["invalid", "not_accepted", "stale", "conflict", "forbidden", "not_found", "retry"];
    let fields = error.as_object().ok_or("the error is not an object")?;
    let known = fields.iter().all(|(k, _)| ["code", "message", "issues"].contains(&k));
    let code = fields.get("code").and_then(Value::as_str).unwrap_or("");
    let message = fields.get("message").and_then(Value::as_str).unwrap_or("");
    let issues = fields.get("issues").is_none_or(|i| i.as_array().is_some_and(|i| !i.is_empty()));
    if known && codes.contains(&code) && !message.trim().is_empty() && issues {
        Ok(())
    } else {
        Err(format!("not an error of the protocol: {error}"))
    }
}
