//! Our argument schemas, the reader of them and the protocol's own schemas agree on what a call may look like.

use agentprocess::IssueList;
use agentprocess::json::{self, Object, Value};

use super::results::{ours, read, upstream, validator};
use crate::api::schema::ROOT;
use crate::api::tools::{Tool, tools};

/// A full good call of each tool.
const GOOD: [(&str, &str); 14] = [
    ("describe", "{}"),
    ("list_processes", r#"{"cursor":"c"}"#),
    ("start_run", r#"{"process":"p","version":1,"inputs":{"n":1},"mode":"test","requestId":"r"}"#),
    ("get_run", r#"{"runId":"r_1"}"#),
    ("get_work", r#"{"limit":20,"cursor":"c","process":"p"}"#),
    ("claim", r#"{"runId":"r_1","stepId":"a","requestId":"r"}"#),
    ("renew", r#"{"token":"t","progress":"p","requestId":"r"}"#),
    ("upload", r#"{"fileName":"f","contentType":"text/plain","contentBase64":"AA==","requestId":"r"}"#),
    (
        "submit",
        r#"{"token":"t","output":{"n":1},"evidence":[{"kind":"file","ref":"f_1"},{"kind":"link","ref":"x"}],
            "summary":"s","next":"a","reason":"r","requestId":"r"}"#,
    ),
    ("escalate", r#"{"token":"t","note":"n","requestId":"r"}"#),
    (
        "decide",
        r#"{"runId":"r_1","workItemId":"w_1","snapshot":"s","decision":"completed","output":{},"evidence":[],
            "summary":"s","next":"a","reason":"r","note":"n","requestId":"r"}"#,
    ),
    ("cancel", r#"{"runId":"r_1","reason":"x","requestId":"r"}"#),
    ("send_event", r#"{"runId":"r_1","name":"pay","data":{"n":1},"requestId":"r"}"#),
    ("list_runs", r#"{"process":"p","state":"ended","inputs":{"n":1},"limit":1,"cursor":"c"}"#),
];

/// Values that an argument may be replaced by: every JSON type, and the edges of every bound.
fn values() -> Vec<Value> {
    let mut values: Vec<Value> = [
        "null",
        "true",
        "{}",
        "[]",
        "\"\"",
        "\"x\"",
        "0",
        "1",
        "2.5",
        "-1",
        "100",
        "101",
        "1.0",
        "1e2",
        "1e300",
        "9007199254740991",
        "9007199254740993",
        r#"{"a":{"b":[1]}}"#,
        "[1]",
        "[{}]",
        r#"[{"kind":"file"}]"#,
        r#"[{"kind":"photo","ref":"x"}]"#,
        r#"[{"kind":"file","ref":""}]"#,
        r#"[{"kind":"link","ref":"x","url":"y"}]"#,
        r#"[{"kind":"link","ref":"x"}]"#,
        r#"[{"kind":"link","ref":1}]"#,
        "\"live\"",
        "\"prod\"",
        "\"active\"",
        "\"done\"",
        "\"approved\"",
        "\"rejected\"",
        "\"returned\"",
        "\"failed\"",
        "\"Failed\"",
    ]
    .iter()
    .map(|text| json::parse(text.as_bytes(), 100).unwrap())
    .collect();
    for length in [128, 129, 160, 161, 255, 256, 2000, 2001, 4000, 4001] {
        // Code points, not bytes (SUMMARY-LEN).
        values.push("\u{1f600}".repeat(length).into());
    }
    values
}

/// The good call of a tool, and every call that differs from it in one argument.
fn calls(tool: &Tool) -> Vec<Value> {
    let text = GOOD.iter().find(|(name, _)| *name == tool.name).unwrap().1;
    let Value::Object(good) = json::parse(text.as_bytes(), 100).unwrap() else { panic!("{text}") };
    let mut calls = vec![Value::Object(good.clone()), Value::Object(Object::new())];
    let names: Vec<String> = good.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names.iter().map(String::as_str).chain(["unknown", "__proto__"]) {
        let mut without = good.clone();
        without.remove(name);
        calls.push(without.into());
        for value in values() {
            let mut changed = good.clone();
            changed.set(name, value);
            calls.push(changed.into());
        }
    }
    calls
}

fn issues(tool: &Tool, call: &Value) -> Vec<String> {
    let mut issues = IssueList::default();
    tool.schema().check(ROOT, call, &mut issues);
    issues.into_vec()
}

#[test]
fn the_three_judges_agree_on_every_call() {
    let theirs = upstream();
    let mut judged = 0;
    for tool in tools() {
        let file = format!("tools/{}.arguments.json", tool.name);
        let ours = validator(&read(&ours().join(&file)));
        let theirs = theirs.as_ref().map(|folder| validator(&read(&folder.join(&file))));
        for call in calls(tool) {
            let said = issues(tool, &call);
            let plain: serde_json::Value = serde_json::from_str(&call.to_string()).unwrap();
            assert_eq!(said.is_empty(), ours.is_valid(&plain), "{}: {said:?} {call}", tool.name);
            if let Some(theirs) = &theirs {
                assert_eq!(said.is_empty(), theirs.is_valid(&plain), "{}: {said:?} {call}", tool.name);
            }
            judged += 1;
        }
    }
    assert!(judged > 1000, "{judged}");
}

#[test]
fn every_good_call_is_good_and_every_tool_has_one() {
    for tool in tools() {
        assert_eq!(issues(tool, &calls(tool)[0]), Vec::<String>::new(), "{}", tool.name);
    }
    assert_eq!(tools().len(), GOOD.len());
}

#[test]
fn every_schema_is_a_schema_and_every_argument_is_described() {
    let folders = ["tools", "shared"].map(|f| std::fs::read_dir(ours().join(f)).unwrap());
    for file in folders.into_iter().flatten().map(|f| f.unwrap().path()) {
        let schema = read(&file);
        let wanted = file.file_name().unwrap().to_str().unwrap().trim_end_matches(".json").replace('.', ":");
        let id = schema["$id"].as_str().unwrap();
        assert!(id.starts_with("urn:quorate:core-2:") && id.ends_with(&wanted), "{id}");
        assert!(jsonschema::meta::is_valid(&schema), "{id}");
        validator(&schema);
        if id.ends_with(":arguments") {
            let properties = schema["properties"].as_object().unwrap();
            assert!(properties.values().all(|p| p["description"].is_string()), "{id}");
            assert!(!schema.to_string().contains("$ref"), "{id} must stand alone");
        }
    }
}

/// Numbers beyond what a double can tell apart are judged as they are.
#[test]
fn bounds_are_exact() {
    let tool = tools().iter().find(|t| t.name == "get_work").unwrap();
    for (limit, good) in
        [("100.0000000000000000000000001", false), ("1.000", true), ("0.9999999999999999999999", false)]
    {
        let call = json::parse(format!("{{\"limit\":{limit}}}").as_bytes(), 10).unwrap();
        assert_eq!(issues(tool, &call).is_empty(), good, "{limit}");
    }
}
