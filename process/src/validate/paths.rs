//! Paths into run data (ROLE-PATH).

use std::collections::BTreeMap;

use super::draft::Draft;
use super::expect::expected;
use super::keys::Kind;
use crate::issues::Issues;
use crate::json::Value;
use crate::model::{DataPath, FieldType, Fields, StepIndex};

#[derive(Clone, Copy)]
pub(super) enum RawPath<'a> {
    Input(&'a str),
    Output { step: &'a str, field: &'a str },
}

/// The form of a path; what follows the prefix is one field name, dots and all.
pub(super) fn raw_path<'a>(value: &'a Value, kind: &str, path: &str, issues: &mut Issues) -> Option<RawPath<'a>> {
    let Some(text) = value.as_str() else { return expected("a path into run data", value, path, issues) };
    let input = text.strip_prefix("inputs.").filter(|field| !field.is_empty()).map(RawPath::Input);
    let output = || {
        let (step, rest) = text.strip_prefix("steps.")?.split_once('.')?;
        let field = rest.strip_prefix("output.").filter(|field| !field.is_empty())?;
        Some(RawPath::Output { step, field })
    };
    let found = input.or_else(output);
    if found.is_none() {
        issues.add(path, must_name(kind));
    }
    found
}

fn must_name(kind: &str) -> String {
    format!("must name a declared {kind} field, as inputs.<field> or steps.<id>.output.<field>")
}

/// Where declared fields are looked up.
pub(super) struct Sources<'a> {
    pub inputs: &'a Fields,
    pub drafts: &'a [Draft<'a>],
    pub index: &'a BTreeMap<&'a str, StepIndex>,
}

impl Sources<'_> {
    /// The field that `raw` names, if it is declared exactly as `kind`.
    pub(super) fn resolve(
        &self,
        raw: RawPath<'_>,
        kind: FieldType,
        path: &str,
        issues: &mut Issues,
    ) -> Option<DataPath> {
        let (fields, field, found) = match raw {
            RawPath::Input(field) => (Some(self.inputs), field, DataPath::Input(field.to_owned())),
            RawPath::Output { step, field } => {
                let index = self.index.get(step).copied();
                let draft = index.map(|index| &self.drafts[index]);
                let fields = draft.filter(|draft| draft.kind.is_some_and(Kind::is_work)).map(|draft| &draft.output);
                (fields, field, DataPath::Output { step: index.unwrap_or(0), field: field.to_owned() })
            }
        };
        let declared = fields.and_then(|fields| fields.declared.iter().find(|declared| declared.name == field));
        if declared.is_some_and(|declared| declared.shape.kind == kind) {
            return Some(found);
        }
        // A field whose declaration is wrong has its issue there.
        let written = fields.and_then(|fields| fields.written.as_ref()).is_some_and(|w| w.get(field).is_some());
        if declared.is_some() || !written {
            issues.add(path, must_name(kind.word()));
        }
        None
    }
}
