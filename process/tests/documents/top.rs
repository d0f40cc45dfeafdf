//! The top of the frontmatter, fields and lists.

use agentprocess::Document;

use crate::{BASE, agent, front, input, ok, refused, steps, top};

#[test]
fn every_issue_at_once() {
    // D/V-01
    let file = front(
        "name: Bad Name\nextra: 1\nsteps:\n  - { agent: x }\n  - { id: b, agent: x, due: 3w }\n  - { id: c, agent: x, next: nowhere }\n  - { id: z, finish: ok }",
    );
    let issues = [
        ("name", "must match"),
        ("description", "missing"),
        ("extra", "unknown key"),
        ("steps[0].id", "missing"),
        ("steps[1].due", "m, h or d"),
        ("steps[2].next", "no step named"),
    ];
    refused(file, &issues);
}

#[test]
fn names_and_descriptions() {
    let named = |name: &str| BASE.replace("name: p", &format!("name: {name}"));
    // D/V-02
    for name in ["Supplier", "a_b", "-a", "a-", "a--b", "a b", "é", "a.b"] {
        refused(named(name), &[("name", "must match")]);
    }
    refused(named("\"\""), &[("name", "blank")]);
    refused(named(&"a".repeat(65)), &[("name", "must match")]);
    ok(named(&"a".repeat(64)));
    refused(BASE.replace("name: p\n", ""), &[("name", "missing")]);
    // D/V-03
    for description in ["\"\"", "\" \\t\""] {
        refused(BASE.replace("description: d", &format!("description: {description}")), &[("description", "blank")]);
    }
    refused(BASE.replace("description: d", "description: 5"), &[("description", "expected text")]);
    // D/V-04
    let with = |value: &str| front(&format!("name: p\ndescription: d\nsteps: {value}"));
    refused(with("[]"), &[("steps", "at least one")]);
    refused(with("{}"), &[("steps", "expected a list")]);
    refused(with(""), &[("steps", "expected a list")]);
    refused(with("[a]"), &[("steps[0]", "expected a mapping")]);
    refused(with("[~]"), &[("steps[0]", "expected a mapping")]);
}

#[test]
fn fields() {
    // D/V-27
    for kind in ["integer", "String", "any", "number?"] {
        refused(input(kind), &[("inputs.x", "unknown type")]);
        refused(input(&format!("{{ type: {kind} }}")), &[("inputs.x.type", "unknown type")]);
    }
    for kind in ["~", "[string]", "5"] {
        refused(input(kind), &[("inputs.x", "unknown type")]);
    }
    refused(input("{ optional: true }"), &[("inputs.x.type", "missing")]);
    refused(input("{ type: string, description: 5 }"), &[("inputs.x.description", "expected text")]);
    ok(input("{ type: string, description: '' }"));
    refused(top("inputs: []"), &[("inputs", "expected a mapping")]);
    refused(top("inputs: ~"), &[("inputs", "expected a mapping")]);
    refused(top("inputs: { '': string }"), &[("inputs", "must not be empty")]);
    ok(top("inputs: {}"));
    // D/V-28
    refused(input("{ type: string, items: string }"), &[("inputs.x.items", "only on a list")]);
    refused(input("{ type: list, items: integer }"), &[("inputs.x.items", "unknown type")]);
    refused(input("{ type: list, items: [string] }"), &[("inputs.x.items", "type")]);
    refused(input("{ type: list, items: { optional: true } }"), &[("inputs.x.items.type", "missing")]);
    ok(input("{ type: list }"));
    // D/V-29
    refused(input("{ type: string, one_of: low }"), &[("inputs.x.one_of", "expected a list")]);
    refused(input("{ type: string, one_of: [] }"), &[("inputs.x.one_of", "at least one")]);
    let cases = [
        ("string", "low, 3"),
        ("number", "1, \"1\""),
        ("boolean", "true, yes"),
        ("date", "2026-10-06, 06/10/2026"),
        ("datetime", "\"2026-10-06T09:00:00Z\", \"2026-10-06T09:00:00\""),
        ("person", "a@b, sam"),
        ("string", "low, ~"),
        ("number", "1, ~"),
    ];
    for (kind, list) in cases {
        let shape = format!("{{ type: {kind}, one_of: [{list}] }}");
        let word = format!("expected {kind}");
        refused(input(&shape), &[("inputs.x.one_of[1]", &word)]);
        refused(input(&format!("{{ type: list, items: {shape} }}")), &[("inputs.x.items.one_of[1]", &word)]);
        refused(agent(&format!("output: {{ x: {shape} }}")), &[("steps[0].output.x.one_of[1]", &word)]);
    }
    for kind in ["list", "object"] {
        refused(input(&format!("{{ type: {kind}, one_of: [[]] }}")), &[("inputs.x.one_of", "not allowed")]);
    }
}

#[test]
fn evidence_and_systems() {
    // D/V-30
    for (value, path) in
        [("file", ""), ("~", ""), ("[photo]", "[0]"), ("[File]", "[0]"), ("[~]", "[0]"), ("[link, x]", "[1]")]
    {
        refused(agent(&format!("evidence: {value}")), &[(&format!("steps[0].evidence{path}"), "expected")]);
    }
    for value in ["[file, link]", "[]", "[link, link]"] {
        let work = ok(agent(&format!("evidence: {value}"))).process.steps[0].work().unwrap().clone();
        let words: Vec<&str> = work.evidence.unwrap().iter().map(|kind| kind.word()).collect();
        assert_eq!(format!("[{}]", words.join(", ")), value);
    }
    // D/V-31
    let requires = |value: &str, path: &str, word: &str| refused(top(&format!("requires: {value}")), &[(path, word)]);
    requires("[salesforce]", "requires", "expected a mapping");
    requires("~", "requires", "expected a mapping");
    requires("{}", "requires.systems", "missing");
    requires("{ systems: salesforce }", "requires.systems", "expected a list");
    requires("{ systems: [] }", "requires.systems", "at least one");
    requires("{ systems: [Sales Force] }", "requires.systems[0]", "must match");
    requires("{ systems: [crm, crm] }", "requires.systems[1]", "twice");
    requires("{ systems: [1] }", "requires.systems[0]", "expected text");
    assert_eq!(ok(top("requires: { systems: [crm, erp] }")).process.systems, ["crm", "erp"]);
}

#[test]
fn folders_and_nulls() {
    // D/V-32
    let file = BASE.replace("name: p", "name: supplier-onboarding");
    let read = |folder, file: &str| Document::read_in(Some(folder), file.as_bytes());
    let issues = read("supplier", &file).unwrap_err();
    assert!(issues.len() == 1 && issues[0].path == "name", "{issues:?}");
    assert!(issues[0].message.contains("folder is named supplier"), "{issues:?}");
    assert!(read("supplier-onboarding", &file).is_ok());
    // With all others, not after them.
    let issues = read("supplier", &file.replace("description:", "describe:")).unwrap_err();
    let paths: Vec<_> = issues.iter().map(|issue| issue.path.as_str()).collect();
    assert!(paths.contains(&"name") && paths.contains(&"description"), "{issues:?}");
    // D/V-33
    for key in ["next", "due", "output", "evidence", "check"] {
        let path = format!("steps[0].{key}");
        let word = if key == "check" { "list of questions" } else { "expected" };
        refused(agent(&format!("{key}: ~")), &[(&path, word)]);
    }
    let approve = |key: &str| steps(&format!("{{ id: a, approve: x, person: r, {key}: ~ }}, {{ id: z, finish: ok }}"));
    refused(approve("on_reject"), &[("steps[0].on_reject", "expected text, not null: remove the key")]);
    refused(top("requires: ~"), &[("requires", "not null")]);
}
