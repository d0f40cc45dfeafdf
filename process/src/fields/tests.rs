#![expect(clippy::unwrap_used, reason = "tests")]

use crate::issue_list::IssueList;
use crate::json::{self, Object};
use crate::model::{Field, FieldType, Fields, Shape};

fn object(text: &str) -> Object {
    json::parse(text.as_bytes(), 100).unwrap().as_object().unwrap().clone()
}

/// The issues of `given`.
fn judged(fields: &Fields, prefix: &str, given: &Object) -> Vec<String> {
    let mut issues = IssueList::default();
    fields.judge(prefix, given, &mut issues);
    issues.into_vec()
}

fn shape(kind: FieldType) -> Shape {
    Shape { kind, optional: false, one_of: None, items: None }
}

fn fields(fields: impl IntoIterator<Item = (&'static str, Shape)>) -> Fields {
    let declared = fields.into_iter().map(|(name, shape)| Field { name: name.to_owned(), shape }).collect();
    Fields { declared, written: None }
}

#[test]
fn issues_come_in_order_and_all_at_once() {
    // ISSUE-ORDER, NULL-EMPTY
    let fields = fields([
        ("a", shape(FieldType::String)),
        ("b", Shape { optional: true, ..shape(FieldType::Number) }),
        (
            "rows",
            Shape {
                items: Some(Box::new(Shape {
                    items: Some(Box::new(shape(FieldType::Number))),
                    ..shape(FieldType::List)
                })),
                ..shape(FieldType::List)
            },
        ),
    ]);
    let issues = judged(&fields, "output", &object(r#"{"z":1,"c":1,"rows":[[1],"x",["y",null]],"b":null}"#));
    let expected = [
        "output.a: missing",
        "output.b: expected number",
        "output.rows[1]: expected list",
        "output.rows[2][0]: expected number",
        "output.rows[2][1]: expected number",
        "output.z: not declared",
        "output.c: not declared",
    ];
    assert_eq!(issues, expected);
    assert!(judged(&fields, "output", &object(r#"{"a":"","rows":[]}"#)).is_empty());
}

#[test]
fn every_type_takes_and_refuses() {
    let cases = [
        (FieldType::String, r#"["", "5", "é"]"#, "[5, true, null, []]", "string"),
        (FieldType::Number, "[1e-400, 123456789012345678901234567890.5]", r#"["5", true]"#, "number"),
        (FieldType::Boolean, "[true, false]", r#"["true", 0, 1]"#, "boolean"),
        (FieldType::Date, r#"["2024-02-29"]"#, r#"["2026-02-30", "2026-10-06 ", 1]"#, "date"),
        (
            FieldType::Datetime,
            r#"["2026-10-06T09:00:00+05:30"]"#,
            r#"["2026-10-06", "2026-10-06T09:00:00"]"#,
            "datetime",
        ),
        (FieldType::List, r#"[[], [null, {"a": 1}]]"#, r#"["a", {}]"#, "list"),
        (FieldType::Object, r#"[{}, {"a": null}]"#, r#"[[], "{}", null]"#, "object"),
        (FieldType::Person, r#"["sam@example.com"]"#, r#"["sam", {"email": "a@b"}]"#, "person (email)"),
    ];
    for (kind, good, bad, expected) in cases {
        let list = |text: &str| json::parse(text.as_bytes(), 9).unwrap().as_array().unwrap().to_vec();
        for value in list(good) {
            assert!(shape(kind).accepts(&value), "{kind:?} {value}");
        }
        for value in list(bad) {
            let mut given = Object::new();
            given.set("f", value.clone());
            let issues = judged(&fields([("f", shape(kind))]), "inputs", &given);
            assert_eq!(issues, [format!("inputs.f: expected {expected}")], "{value}");
        }
    }
}

#[test]
fn one_of_compares_numbers_by_value_and_strings_exactly() {
    // ONE-OF
    let list = |text: &str| json::parse(text.as_bytes(), 9).unwrap().as_array().unwrap().to_vec();
    let limited = |kind, allowed| Shape { one_of: Some(list(allowed)), ..shape(kind) };
    let fields = fields([
        ("n", limited(FieldType::Number, "[1, 2.5]")),
        (
            "s",
            Shape { items: Some(Box::new(limited(FieldType::String, r#"["low", "high"]"#))), ..shape(FieldType::List) },
        ),
    ]);
    assert!(judged(&fields, "output", &object(r#"{"n":25e-1,"s":["low"]}"#)).is_empty());
    let issues = judged(&fields, "output", &object(r#"{"n":2.50001,"s":["high","Low"]}"#));
    assert_eq!(issues, ["output.n: expected one of 1, 2.5", "output.s[1]: expected one of low, high"]);
}

#[test]
fn the_list_of_issues_is_bounded() {
    let rows = format!("{{\"rows\":[{}0]}}", "0,".repeat(5000));
    let strings = Shape { items: Some(Box::new(shape(FieldType::String))), ..shape(FieldType::List) };
    let issues = judged(&fields([("rows", strings)]), "output", &object(&rows));
    assert_eq!(issues[999..], ["output.rows[999]: expected string", "more: only the first 1000 issues are listed"]);
    let name = format!("{{\"{}\":1}}", "n".repeat(1_000_000));
    let issues = judged(&fields([]), "output", &object(&name));
    assert_eq!(issues, [format!("output.{}…: not declared", "n".repeat(200))]);
}
