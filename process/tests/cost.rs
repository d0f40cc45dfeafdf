//! What judging costs.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
#[expect(clippy::disallowed_types, reason = "this is about time")]
use std::time::Instant;

use agentprocess::json::parse;
use agentprocess::{Field, FieldType, Fields, IssueList, Shape};

#[test]
#[expect(clippy::disallowed_types, reason = "this is about time")]
fn many_declared_fields_are_not_looked_up_one_after_the_other() {
    let names: Vec<String> = (0..40_000).map(|n| format!("a_field_with_a_name_{n}")).collect();
    let shape = Shape { kind: FieldType::Number, optional: false, one_of: None, items: None };
    let declared = names.iter().map(|name| Field { name: name.clone(), shape: shape.clone() });
    let fields = Fields { declared: declared.collect(), written: None };
    let mut given = String::from("{\"z\":0");
    for name in names.iter().rev() {
        write!(given, ",\"{name}\":0").unwrap();
    }
    let given = parse(format!("{given}}}").as_bytes(), 9).unwrap();
    let begun = Instant::now();
    let mut issues = IssueList::default();
    fields.judge("output", given.as_object().unwrap(), &mut issues);
    // A tenth of a second at most; 800 million comparisons take some.
    assert!(begun.elapsed() < std::time::Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(issues.into_vec(), ["output.z: not declared"]);
}
