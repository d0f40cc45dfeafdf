//! Declarations of fields (§2.3).

use super::expect::{boolean, expected, known_keys, list, mapping, missing};
use crate::issues::{Issues, at};
use crate::json::{Object, Value};
use crate::model::{Field, FieldType, Fields, Shape};

/// `inputs` or `output`: field names and what they take. Fields with issues are left out of `declared`.
pub(super) fn fields(value: &Value, path: &str, issues: &mut Issues) -> Fields {
    let Some(written) = mapping(value, path, issues) else { return Fields::default() };
    let mut declared = Vec::new();
    for (name, value) in written.iter() {
        if name.is_empty() {
            issues.add(path, "a field name must not be empty");
        }
        if let Some(shape) = shape(value, &at(path, name), issues) {
            declared.push(Field { name: name.to_owned(), shape });
        }
    }
    Fields { declared, written: Some(written.clone()) }
}

/// A type name, or a mapping with `type` and more. It nests no deeper than the loader let the file nest.
fn shape(value: &Value, path: &str, issues: &mut Issues) -> Option<Shape> {
    match value {
        Value::String(name) => {
            let kind = kind(name, path, issues)?;
            Some(Shape { kind, optional: false, one_of: None, items: None })
        }
        Value::Object(written) => full_shape(written, path, issues),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            expected("a type name or a mapping with type; this is an unknown type", value, path, issues)
        }
    }
}

fn kind(name: &str, path: &str, issues: &mut Issues) -> Option<FieldType> {
    let kind = FieldType::named(name);
    if kind.is_none() {
        let names: Vec<&str> = FieldType::ALL.iter().map(|(name, _)| *name).collect();
        issues.add(path, format!("unknown type {name}; one of {}", names.join(", ")));
    }
    kind
}

fn full_shape(written: &Object, path: &str, issues: &mut Issues) -> Option<Shape> {
    known_keys(written, path, &["type", "description", "optional", "one_of", "items"], issues);
    let type_path = at(path, "type");
    let kind = match written.get("type") {
        Some(Value::String(name)) => kind(name, &type_path, issues),
        Some(other) => expected("a type name", other, &type_path, issues),
        None => missing(&type_path, issues),
    };
    if let Some(description) = written.get("description").filter(|d| d.as_str().is_none()) {
        expected::<()>("text", description, &at(path, "description"), issues);
    }
    let optional = written.get("optional").map(|value| boolean(value, &at(path, "optional"), issues));
    let items = written.get("items").map(|value| items(value, kind, &at(path, "items"), issues));
    let one_of = written.get("one_of").map(|value| one_of(value, kind, &at(path, "one_of"), issues));
    let items = items.map_or(Some(None), |items| items.map(|shape| Some(Box::new(shape))));
    let one_of = one_of.map_or(Some(None), |values| values.map(Some));
    Some(Shape { kind: kind?, optional: optional.unwrap_or(Some(false))?, one_of: one_of?, items: items? })
}

fn items(value: &Value, kind: Option<FieldType>, path: &str, issues: &mut Issues) -> Option<Shape> {
    if kind.is_some_and(|kind| kind != FieldType::List) {
        issues.add(path, "allowed only on a list");
        return None;
    }
    shape(value, path, issues)
}

/// Allowed values, each of the field's type; none for lists and objects (ONE-OF).
fn one_of(value: &Value, kind: Option<FieldType>, path: &str, issues: &mut Issues) -> Option<Vec<Value>> {
    if matches!(kind, Some(FieldType::List | FieldType::Object)) {
        issues.add(path, "not allowed on a list or an object; for elements of a list put it in items");
        return None;
    }
    let values = list(value, path, issues)?;
    if values.is_empty() {
        issues.add(path, "at least one value is needed");
    }
    let kind = kind?;
    for (i, value) in values.iter().enumerate().filter(|(_, value)| !kind.holds(value)) {
        expected::<()>(kind.expected(), value, &format!("{path}[{i}]"), issues);
    }
    Some(values.to_vec())
}
