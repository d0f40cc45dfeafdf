//! YAML 1.2, core schema only.

use crate::{BASE, agent, front, input, ok, refused, steps, top};
use agentprocess::StepKind;

fn outcome(file: &str) -> String {
    let process = ok(file).process;
    process
        .steps
        .iter()
        .find_map(|s| if let StepKind::Finish { outcome } = &s.kind { Some(outcome.clone()) } else { None })
        .unwrap()
}

#[test]
fn scalars() {
    // D/Y-01
    let file = steps("{ id: a, task: x, person: on }, { id: z, finish: no }");
    assert_eq!((outcome(&file).as_str(), ok(&file).process.roles()), ("no", vec!["on"]));
    // D/Y-02
    let done = |optional: &str| agent(&format!("output: {{ done: {{ type: boolean, optional: {optional} }} }}"));
    refused(done("yes"), &[("steps[0].output.done.optional", "true or false")]);
    ok(done("True"));
    ok(done("TRUE"));
    // D/Y-03
    for value in ["true", "12", "1e3"] {
        refused(BASE.replace("finish: ok", &format!("finish: {value}")), &[("steps[1].finish", "expected text")]);
    }
    refused(BASE.replace("finish: ok", "finish: .inf"), &[("steps[1].finish", "text")]);
    // D/Y-04
    for value in ["~", "Null", ""] {
        refused(BASE.replace("description: d", &format!("description: {value}")), &[("description", "expected text")]);
    }
    assert_eq!(ok(BASE.replace("description: d", "description: nULL")).process.description, "nULL");
}

#[test]
fn numbers() {
    let n = |kind: &str, list: &str| agent(&format!("output: {{ n: {{ type: {kind}, one_of: {list} }} }}"));
    let allowed =
        |file: &str| ok(file).process.steps[0].work().unwrap().output.declared[0].shape.one_of.clone().unwrap();
    // D/Y-05
    let numbers: Vec<_> =
        allowed(&n("number", "[012, 0o17, 0x1F, +3]")).iter().map(agentprocess::json::Value::as_u64).collect();
    assert_eq!(numbers, [Some(12), Some(15), Some(31), Some(3)]);
    // D/Y-06
    for text in ["1_000", "-0x1F", "0b11", "1:30", "0o8"] {
        refused(n("number", &format!("[{text}]")), &[("steps[0].output.n.one_of[0]", "expected number")]);
        ok(n("string", &format!("[{text}]")));
    }
    // D/Y-07
    for text in [".inf", "-.INF", ".nan"] {
        refused(n("number", &format!("[{text}]")), &[("steps[0].output.n.one_of[0]", "must be finite")]);
    }
    // YAML-NUM
    refused(n("number", "[1, 12345678901234567890]"), &[("steps[0].output.n.one_of[1]", "exact")]);
    // D/Y-08
    assert_eq!(allowed(&n("date", "[2026-10-06, 2026-10-07]")), ["2026-10-06".into(), "2026-10-07".into()]);
}

#[test]
fn tags_anchors_and_documents() {
    // D/Y-09
    assert_eq!(ok(BASE.replace("name: p", "name: !!str 012")).process.name, "012");
    for tag in ["!!binary", "!!timestamp", "!!set", "!custom", "!!python/object:x"] {
        refused(BASE.replace("description: d", &format!("description: {tag} d")), &[("description", "unknown tag")]);
    }
    // D/Y-10
    let file = |first: &str, second: &str| {
        steps(&format!(
            "{{ id: a, agent: x, output: {first} }}, {{ id: b, agent: x, output: {second} }}, {{ id: z, finish: ok }}"
        ))
    };
    let (short, long) = (ok(file("&o { note: string }", "*o")), ok(file("{ note: string }", "{ note: string }")));
    assert_eq!((short.hash, short.process), (long.hash, long.process));
    // D/Y-11
    refused(file("*nope", "{}"), &[("frontmatter", "line 4")]);
    refused(file("&o { x: *o }", "{}"), &[("frontmatter", "inside")]);
    // D/Y-12
    let line = |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "));
    let laughs = format!("a0: &a0 [x]\n{}", (1..10).map(line).collect::<String>());
    refused(front(&laughs), &[("frontmatter", "aliases expand too far")]);
    // D/Y-13
    refused(input(&format!("{{ type: list, one_of: {}", "[".repeat(5000))), &[("frontmatter", "nested too deeply")]);
    let items = |n: usize| format!("{}{{ type: string }}{}", "{ type: list, items: ".repeat(n), " }".repeat(n));
    refused(input(&items(5000)), &[("frontmatter", "nested too deeply")]);
    refused(input(&"- ".repeat(20_000)), &[("frontmatter", "line")]);
    ok(input(&items(5)));
    // D/Y-14
    refused(front("name: p\n...\ndescription: d"), &[("frontmatter", "more than one document")]);
    refused(front("%YAML 1.1\nname: p"), &[("frontmatter", "line")]);
}

#[test]
fn keys() {
    // D/Y-15
    for key in ["1", "true", "~", "? [a, b] "] {
        refused(top(&format!("inputs: {{ {key}: string }}")), &[("inputs", "key must be text")]);
    }
    ok(top("inputs: { yes: string, 2026-10-06: string, \"1\": string }"));
    // D/Y-17
    let declared =
        ok(top("inputs: { __proto__: string, constructor: string, toString: string }")).process.inputs.declared;
    assert_eq!(declared.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["__proto__", "constructor", "toString"]);
    // D/Y-19
    let twice = |file: String, path: &str| refused(file, &[(path, "duplicate key")]);
    twice(top("name: p"), "name");
    twice(top("steps: []"), "steps");
    twice(agent("next: y, 'next': z"), "steps[0].next");
    twice(top("inputs: { a: string, \"\\x61\": string }"), "inputs.a");
    twice(input("{ type: string, type: string }"), "inputs.x.type");
    twice(top("requires: { systems: [a], systems: [a] }"), "requires.systems");
    twice(agent("output: { a: string, b: string, a: string }"), "steps[0].output.a");
    twice(agent("check: [{ ask: x, ask: x }]"), "steps[0].check[0].ask");
    // D/Y-20
    let unknown = |file: String, path: &str| refused(file, &[(path, "unknown key")]);
    for key in ["version: 1", "x-note: hi", "license: MIT", "data_sources: []", "emails: []", "files: []", "layout: {}"]
    {
        unknown(top(key), key.split(':').next().unwrap());
    }
    for key in ["description", "for_each", "retry"] {
        unknown(agent(&format!("{key}: x")), &format!("steps[0].{key}"));
    }
    // It tells which there are: those of the step's kind.
    let known = "unknown key; known here: id, agent, output, evidence, next, due, check, advisory";
    refused(agent("persn: x"), &[("steps[0].persn", known)]);
    refused(agent("evidence: file"), &[("steps[0].evidence", "a list, such as [file]")]);
    for key in ["default", "required", "min"] {
        unknown(input(&format!("{{ type: string, {key}: x }}")), &format!("inputs.x.{key}"));
    }
    unknown(top("requires: { systems: [a], tools: [b] }"), "requires.tools");
    unknown(agent("next: [{ to: z, if: x }, y]"), "steps[0].next[0].if");
    unknown(agent("check: [{ ask: x, why: y }]"), "steps[0].check[0].why");
    unknown(agent("'<<': { due: 1d }"), "steps[0].<<");
}

#[test]
fn unreadable_text_names_its_line() {
    // D/Y-16
    refused(front("name: p\nsteps:\n\t- a"), &[("frontmatter", "line 4")]);
    refused(front("name: p\ndescription: Note: this"), &[("frontmatter", "line 3")]);
    refused(front("name: p\ndescription: \"x"), &[("frontmatter", "line")]);
    refused(front("name: p\nsteps: [a"), &[("frontmatter", "line")]);
    // A hostile file costs no more than a bad one.
    let hostile = front(&format!("? {}\n: [{}]", "a".repeat(500_000), "!x a, ".repeat(20_000)));
    let issues = agentprocess::Document::read(hostile.as_bytes()).unwrap_err();
    assert!(issues.len() == 1000 && issues.iter().all(|issue| issue.path.len() < 1100));
    // D/Y-18
    refused(front("name: p\ndescription: \"\\ud800\""), &[("frontmatter", "line 3")]);
    refused(front("name: p\ndescription: \"\u{7}\""), &[("frontmatter", "line 3")]);
}
