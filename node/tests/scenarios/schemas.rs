//! Checks every answer against the protocol's own JSON Schemas, when the reference data is beside the project.

use std::collections::BTreeMap;
use std::path::Path;

use agentprocess::json::Value;
use jsonschema::Validator;

use crate::json::at;

/// The schemas of the results, by tool.
pub struct Schemas {
    results: BTreeMap<String, Validator>,
}

impl Schemas {
    /// Loads what is there; says so when nothing is.
    pub fn load() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/upstream/schemas/core-2/tools");
        let mut results = BTreeMap::new();
        let Ok(files) = std::fs::read_dir(&folder) else {
            eprintln!(
                "skipped: results are not checked against the protocol's schemas, {} is absent",
                folder.display()
            );
            return Self { results };
        };
        for file in files.map(|f| f.unwrap().path()) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if let Some(tool) = name.strip_suffix(".result.json") {
                let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
                results.insert(tool.to_owned(), jsonschema::validator_for(&schema).unwrap());
            }
        }
        assert_eq!(results.len(), 14, "one schema for each tool's result");
        Self { results }
    }

    /// Checks the envelope, and the data of a result.
    pub fn check(&self, tool: &str, envelope: &Value) -> Result<(), String> {
        let ok = at(envelope, "ok").and_then(Value::as_bool).ok_or_else(|| format!("no envelope: {envelope}"))?;
        let keys: Vec<_> = envelope.as_object().map_or(Vec::new(), |o| o.iter().map(|(k, _)| k).collect());
        if keys != ["ok", if ok { "data" } else { "error" }] {
            return Err(format!("the envelope has the keys {keys:?}"));
        }
        if !ok {
            return check_error(at(envelope, "error").unwrap_or(&Value::Null));
        }
        let (Some(schema), Some(data)) = (self.results.get(tool), at(envelope, "data")) else { return Ok(()) };
        let data: serde_json::Value = serde_json::from_str(&data.to_string()).map_err(|e| e.to_string())?;
        let faults: Vec<_> = schema.iter_errors(&data).map(|e| format!("{} at {}", e, e.instance_path())).collect();
        if faults.is_empty() { Ok(()) } else { Err(format!("{tool} breaks its schema: {}", faults.join("; "))) }
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
