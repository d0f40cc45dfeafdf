//! Publication rules of the check profile.

use agentprocess::{Document, QuestionKind};

use crate::{agent, ok, refused, steps};

fn question(keys: &str) -> String {
    agent(&format!("check: [{{ ask: x, {keys} }}]"))
}

fn wrong(keys: &str, key: &str, word: &str) {
    refused(question(keys), &[(&format!("steps[0].check[0]{key}"), word)]);
}

#[test]
fn forms() {
    // D/C-01
    let file = agent("check: The summary names both lists.");
    assert_eq!(ok(&file).process.profiles(), ["check-1"]);
    ok(steps("{ id: a, task: x, person: r, check: Right. }, { id: z, finish: ok }"));
    for value in ["~", "5", "[]", "{ ask: x }"] {
        refused(agent(&format!("check: {value}")), &[("steps[0].check", "text or a list of questions")]);
    }
    refused(agent("check: ''"), &[("steps[0].check", "blank")]);
    // D/C-02
    refused(agent("check: [{ pass: 0.9 }]"), &[("steps[0].check[0].ask", "missing")]);
    refused(agent("check: [{ ask: '' }]"), &[("steps[0].check[0].ask", "blank")]);
    refused(agent("check: [x]"), &[("steps[0].check[0]", "expected a mapping")]);
    wrong("one_of: { a: x, b: y }, levels: [x, y], pass: 1", "", "only one of");
    // D/C-07
    refused(agent("advisory: true"), &[("steps[0].advisory", "only when check is present")]);
    refused(agent("check: x, advisory: yes"), &[("steps[0].advisory", "true or false")]);
    let advisory = |value: &str| {
        let document: Document = ok(agent(&format!("check: x, advisory: {value}")));
        document.process.steps[0].work().and_then(|work| work.check.clone()).is_some_and(|check| check.advisory)
    };
    assert!(advisory("true") && !advisory("false"));
}

#[test]
fn yes_no_questions() {
    // D/C-03, CHK-THRESH
    let kind = |file: &str| ok(file).process.steps[0].work().unwrap().check.clone().unwrap().questions[0].kind.clone();
    assert!(matches!(kind(&question("pass: 0.9, fail: 0.5")), QuestionKind::YesNo { pass: Some(_), fail: Some(_) }));
    assert!(matches!(kind(&question("pass: 1")), QuestionKind::YesNo { pass: Some(_), fail: None }));
    for value in ["[states]", "\"0.9\"", "1.5", "-0.1"] {
        wrong(&format!("pass: {value}"), ".pass", "from 0 to 1");
    }
    wrong("fail: -0.1", ".fail", "from 0 to 1");
    wrong("fail: 0.9, pass: 0.5", ".fail", "above pass");
    wrong("confidence: 0.8", ".confidence", "not allowed on a yes/no question");
    wrong("unsure: [x]", ".unsure", "not allowed on a yes/no question");
}

#[test]
fn choices() {
    // D/C-04
    let answers = "one_of: { a: one, b: two, c: three }";
    ok(question(&format!("{answers}, pass: [a], unsure: [c]")));
    wrong("one_of: { a: one }, pass: [a]", ".one_of", "two or more");
    wrong("one_of: [a, b], pass: [a]", ".one_of", "mapping");
    wrong("one_of: { a: one, b: 2 }, pass: [a]", ".one_of.b", "expected text");
    wrong(answers, ".pass", "missing");
    wrong(&format!("{answers}, pass: a"), ".pass", "list");
    wrong(&format!("{answers}, pass: []"), ".pass", "at least one");
    wrong(&format!("{answers}, pass: [ghost]"), ".pass[0]", "no answer named");
    wrong(&format!("{answers}, pass: [a], unsure: [ghost]"), ".unsure[0]", "no answer named");
    wrong(&format!("{answers}, pass: [a], unsure: [c, a]"), ".unsure[1]", "in pass already");
    wrong(&format!("{answers}, pass: [a], fail: 0.5"), ".fail", "not allowed on a choice question");
    // D/C-06
    ok(question(&format!("{answers}, pass: [a], confidence: 0.8")));
    for value in ["\"0.8\"", "80", "-1"] {
        wrong(&format!("{answers}, pass: [a], confidence: {value}"), ".confidence", "from 0 to 1");
        wrong(&format!("levels: [x, y], pass: 1, confidence: {value}"), ".confidence", "from 0 to 1");
    }
}

#[test]
fn rubrics() {
    // D/C-05
    let levels = |n: usize| format!("levels: [{}]", vec!["x"; n].join(", "));
    for n in [2, 10] {
        ok(question(&format!("{}, pass: 0, confidence: 0.8", levels(n))));
    }
    wrong(&format!("{}, pass: 0", levels(1)), ".levels", "from 2 to 10");
    wrong(&format!("{}, pass: 0", levels(11)), ".levels", "from 2 to 10");
    wrong("levels: [x, 5], pass: 0", ".levels[1]", "expected text");
    wrong("levels: x, pass: 0", ".levels", "expected a list");
    wrong(&levels(3), ".pass", "missing");
    for pass in ["-1", "[1]", "3", "0.5", "\"1\""] {
        wrong(&format!("{}, pass: {pass}", levels(3)), ".pass", "a level from 0 to 2");
    }
    wrong(&format!("{}, pass: 1, unsure: [x]", levels(3)), ".unsure", "not allowed on a rubric question");
    wrong(&format!("{}, pass: 1, fail: 0.5", levels(3)), ".fail", "not allowed on a rubric question");
}

#[test]
fn ten_details_at_once() {
    // D/C-09
    let file = agent(
        "check: [{ ask: 5, pass: 2, fail: x, confidence: 1, why: y }, { ask: x, one_of: { a: 1, b: x }, pass: [c], fail: 1 }, { ask: x, levels: [x], pass: 7 }]",
    );
    let expected = [
        ("steps[0].check[0].ask", "text"),
        ("steps[0].check[0].pass", "0 to 1"),
        ("steps[0].check[0].fail", "0 to 1"),
        ("steps[0].check[0].confidence", "not allowed"),
        ("steps[0].check[0].why", "unknown key"),
        ("steps[0].check[1].one_of.a", "text"),
        ("steps[0].check[1].pass[0]", "no answer"),
        ("steps[0].check[1].fail", "not allowed"),
        ("steps[0].check[2].levels", "2 to 10"),
        ("steps[0].check[2].pass", "level"),
    ];
    refused(file, &expected);
}
