//! Acceptance of given values against declared fields (§2.3, §6.3): every issue at once, in one fixed order.

use std::collections::{BTreeMap, BTreeSet};

use crate::issue_list::{IssueList, shown};
use crate::json::{Object, Value};
use crate::model::{FieldType, Fields, Shape};
use crate::person::person_valid;
use crate::time::{Timestamp, is_date};

impl Fields {
    /// Adds what is wrong with `given`: declared fields in file order, depth first, then undeclared ones in the order
    /// sent (ISSUE-ORDER), each named from `prefix`, such as `output.rows[2][0]: expected number` (ISSUE-PATH).
    pub fn judge(&self, prefix: &str, given: &Object, issues: &mut IssueList) {
        // Not by `Object::get`, which looks at one key after the other: both sides may be large.
        let sent: BTreeMap<&str, &Value> = given.iter().collect();
        for field in &self.declared {
            let path = format!("{prefix}.{}", shown(&field.name));
            match sent.get(field.name.as_str()) {
                Some(value) => field.shape.judge(&path, value, issues),
                None if field.shape.optional => {}
                None => issues.add(format!("{path}: missing")),
            }
        }
        let declared: BTreeSet<&str> = self.declared.iter().map(|f| f.name.as_str()).collect();
        for (name, _) in given.iter().filter(|(name, _)| !declared.contains(name)) {
            if issues.full() {
                return;
            }
            issues.add(format!("{prefix}.{}: not declared", shown(name)));
        }
    }
}

impl Shape {
    /// Whether `value` has the type and, if limited, is one of the allowed values; elements of lists included.
    pub fn accepts(&self, value: &Value) -> bool {
        let mut issues = IssueList::default();
        self.judge("", value, &mut issues);
        issues.is_empty()
    }

    fn judge(&self, path: &str, value: &Value, issues: &mut IssueList) {
        if !self.kind.holds(value) {
            return issues.add(format!("{path}: expected {}", self.kind.expected()));
        }
        if let Some(allowed) = self.one_of.as_ref().filter(|allowed| !allowed.contains(value)) {
            let names: Vec<String> = allowed.iter().map(plain).collect();
            return issues.add(format!("{path}: expected one of {}", names.join(", ")));
        }
        let Some(items) = &self.items else { return };
        for (i, element) in value.as_array().unwrap_or_default().iter().enumerate() {
            if issues.full() {
                return;
            }
            items.judge(&format!("{path}[{i}]"), element, issues);
        }
    }
}

/// Strings without quotes, everything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl FieldType {
    /// All types with their names in a file (§2.3).
    pub const ALL: [(&'static str, Self); 8] = [
        ("string", Self::String),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("date", Self::Date),
        ("datetime", Self::Datetime),
        ("list", Self::List),
        ("object", Self::Object),
        ("person", Self::Person),
    ];

    /// The type a file calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(word, _)| *word == name).map(|(_, kind)| kind)
    }

    /// Its name in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::List => "list",
            Self::Object => "object",
            Self::Person => "person",
        }
    }

    /// How an issue names it: a person with the form it must have (PERSON-VALUE).
    pub(crate) fn expected(self) -> &'static str {
        if self == Self::Person { "person (email)" } else { self.word() }
    }

    /// Whether `value` is of this type, its elements aside. `null` is of none (NULL-EMPTY).
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Self::String => value.as_str().is_some(),
            Self::Number => value.as_number().is_some(),
            Self::Boolean => value.as_bool().is_some(),
            Self::Date => value.as_str().is_some_and(is_date),
            Self::Datetime => value.as_str().is_some_and(|text| Timestamp::parse(text).is_some()),
            Self::List => value.as_array().is_some(),
            Self::Object => value.as_object().is_some(),
            Self::Person => value.as_str().is_some_and(person_valid),
        }
    }
}

#[cfg(test)]
mod tests;
