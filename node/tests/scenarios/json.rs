//! Small help with JSON values.

use agentprocess::json::{self, Object, Value};

/// Parses the JSON of a script or a server.
pub fn parse(text: &str) -> Result<Value, String> {
    json::parse(text.as_bytes(), 200).map_err(|e| format!("not JSON at {}: {} in {text}", e.offset, e.message))
}

/// Parses a JSON object.
pub fn object(text: &str) -> Result<Object, String> {
    match parse(text)? {
        Value::Object(o) => Ok(o),
        other => Err(format!("not an object: {other}")),
    }
}

/// The value at a dotted path. In a list a segment is an index, or the `id`, `stepId` or `name` of an element.
pub fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut here = value;
    for segment in path.split('.') {
        here = match here {
            Value::Object(o) => o.get(segment)?,
            Value::Array(items) => match segment.parse::<usize>() {
                Ok(index) => items.get(index)?,
                Err(_) => items.iter().find(|item| named(item, segment))?,
            },
            _ => return None,
        };
    }
    Some(here)
}

fn named(item: &Value, name: &str) -> bool {
    ["id", "stepId", "name"].iter().any(|key| text(item, key) == name) || text(item, "workItem.stepId") == name
}

/// The text at a path, or nothing.
pub fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    at(value, path).and_then(Value::as_str).unwrap_or("")
}

/// The list at a path, or an empty one.
pub fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).unwrap_or(&[])
}

/// Whether the path holds something other than `null`.
pub fn has(value: &Value, path: &str) -> bool {
    at(value, path).is_some_and(|v| *v != Value::Null)
}

/// The value without what a replay may change: urls (IDEM-ORIGINAL).
pub fn without_urls(value: &Value) -> Value {
    match value {
        Value::Object(o) => {
            let mut out = Object::new();
            for (key, value) in o.iter().filter(|(key, _)| *key != "url") {
                out.set(key, without_urls(value));
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(without_urls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Paths at which two values differ.
pub fn differences(path: &str, a: &Value, b: &Value, out: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a.iter() {
                differences(&below(key), value, b.get(key).unwrap_or(&Value::Null), out);
            }
            out.extend(b.iter().filter(|(key, _)| a.get(key).is_none()).map(|(key, _)| below(key)));
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (index, (x, y)) in x.iter().zip(y).enumerate() {
                differences(&below(&index.to_string()), x, y, out);
            }
        }
        _ if a == b => {}
        _ => out.push(path.to_owned()),
    }
}
