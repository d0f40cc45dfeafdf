//! Calls that meet each other. Each test runs on every kind of world.

use std::sync::Barrier;

use agentprocess::json::{Object, Value};

use crate::json::{at, list, parse, text};
use crate::sketch;
use crate::world::{World, group_of};

fn publish(world: &dyn World, name: &str, steps: &[&str]) {
    let steps: Vec<_> = steps.iter().map(|s| (*s).to_owned()).collect();
    world.publish("A", &sketch::document(name, "d", &[], &steps, "\nBody.\n"), &group_of).unwrap();
}

fn call(world: &dyn World, actor: &str, tool: &str, arguments: &str) -> Value {
    world.call(actor, tool, &parse(arguments).unwrap()).unwrap()
}

fn start(world: &dyn World, process: &str) -> Value {
    let arguments = format!(r#"{{"process":"{process}","inputs":{{}},"requestId":"start-{process}"}}"#);
    at(&call(world, "sam", "start_run", &arguments), "data").unwrap().clone()
}

/// Makes all calls at once, from one thread each; again with the same arguments while the answer is `retry`.
fn at_once(world: &dyn World, calls: &[(&str, &str, Object)]) -> Vec<Value> {
    let barrier = Barrier::new(calls.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = calls
            .iter()
            .map(|(actor, tool, arguments)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    for _ in 0..50 {
                        let envelope = world.call(actor, tool, &Value::Object(arguments.clone())).unwrap();
                        if text(&envelope, "error.code") != "retry" {
                            return envelope;
                        }
                    }
                    panic!("retry without end");
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn ok(envelope: &Value) -> bool {
    at(envelope, "ok").and_then(Value::as_bool).unwrap()
}

fn object(pairs: &[(&str, &str)]) -> Object {
    let mut out = Object::new();
    for (key, value) in pairs {
        out.set(*key, *value);
    }
    out
}

/// R/C-06: of ten claims at once exactly one holds; the others learn who does.
pub fn claims(world: &dyn World) {
    publish(world, "race-claims", &["a agent", "done finish ok"]);
    let view = start(world, "race-claims");
    let run = text(&view, "run.id");
    let calls: Vec<_> = (0..10)
        .map(|n| {
            let arguments = object(&[("runId", run), ("stepId", "a"), ("requestId", &format!("claim-{n}"))]);
            (if n % 2 == 0 { "a1" } else { "a2" }, "claim", arguments)
        })
        .collect();
    let answers = at_once(world, &calls);
    let winners: Vec<_> = (0..10).filter(|n| ok(&answers[*n])).collect();
    assert_eq!(winners.len(), 1, "{answers:?}");
    for (n, answer) in answers.iter().enumerate().filter(|(n, _)| *n != winners[0]) {
        let mine = n % 2 == winners[0] % 2;
        let expected = if mine { "claimed_by_you" } else { "claimed_by_other" };
        assert_eq!(text(answer, "error.code"), "conflict", "{answer}");
        assert_eq!(list(answer, "error.issues"), [Value::from(expected)], "{answer}");
    }
}

/// R/D-15: of two decisions on one item the first wins; the other learns that it is decided.
pub fn decisions(world: &dyn World) {
    let steps = ["r approve@reviewer, on_reject: c, next: b", "b agent, next: c", "c agent", "done finish ok"];
    publish(world, "race-decisions", &steps);
    let view = start(world, "race-decisions");
    let run = text(&view, "run.id");
    let item = text(&view, "workItems.r.id");
    let base = object(&[("runId", run), ("workItemId", item), ("snapshot", text(&view, "workItems.r.snapshot"))]);
    let (mut approve, mut reject) = (base.clone(), base);
    approve.set("decision", "approved").set("requestId", "approve");
    reject.set("decision", "rejected").set("note", "No.").set("requestId", "reject");
    let answers = at_once(world, &[("rita", "decide", approve), ("ron", "decide", reject)]);
    let winner = usize::from(ok(&answers[1]));
    assert!(ok(&answers[winner]) && !ok(&answers[1 - winner]), "{answers:?}");
    assert_eq!(text(&answers[1 - winner], "error.code"), "conflict");
    assert_eq!(list(&answers[1 - winner], "error.issues"), [Value::from("already_decided")], "{answers:?}");
    let after = call(world, "a1", "get_run", &format!(r#"{{"runId":"{run}"}}"#));
    assert_eq!(text(&after, "data.data.steps.r.by"), world.identity(["rita", "ron"][winner]));
    assert_eq!(text(&after, "data.data.steps.r.decision"), ["approved", "rejected"][winner]);
    assert_eq!(list(&after, "data.data.steps.r.history"), []);
    // One transition: the way that was decided, and not the other.
    let state = |step: &str| at(&after, &format!("data.steps.{step}.state")).and_then(Value::as_str);
    let expected = [[Some("ready"), None], [None, Some("ready")]][winner];
    assert_eq!([state("b"), state("c")], expected, "{after}");
}

/// R/I-05, D/S-20: identical calls at once take effect once, and each is told the one result.
pub fn twins(world: &dyn World) {
    publish(world, "race-twins", &["a agent", "r approve@reviewer", "b agent", "done finish ok"]);
    let mut begin = object(&[("process", "race-twins"), ("requestId", "twin-start")]);
    begin.set("inputs", Object::new());
    let runs = eight(world, "sam", "start_run", &begin);
    let run = text(&runs, "data.run.id").to_owned();
    let listed = call(world, "a1", "list_runs", r#"{"process":"race-twins"}"#);
    assert_eq!(list(&listed, "data.items").len(), 1, "{listed}");

    let claim = format!(r#"{{"runId":"{run}","stepId":"a","requestId":"twin-claim"}}"#);
    let claimed = call(world, "a1", "claim", &claim);
    let mut submit =
        object(&[("token", text(&claimed, "data.token")), ("summary", "Once."), ("requestId", "twin-submit")]);
    submit.set("output", Object::new());
    let view = eight(world, "a1", "submit", &submit);
    assert_eq!(list(&view, "data.workItems").len(), 1, "{view}");

    let (item, snapshot) = (text(&view, "data.workItems.r.id"), text(&view, "data.workItems.r.snapshot"));
    let pairs = [("workItemId", item), ("snapshot", snapshot), ("decision", "approved"), ("requestId", "twin-decide")];
    let mut decide = object(&pairs);
    decide.set("runId", run.clone());
    eight(world, "rita", "decide", &decide);
    let after = call(world, "a1", "get_run", &format!(r#"{{"runId":"{run}"}}"#));
    for step in ["a", "r"] {
        assert_eq!(list(&after, &format!("data.data.steps.{step}.history")), [], "{after}");
    }
    assert_eq!(text(&after, "data.steps.b.state"), "ready", "{after}");
}

/// One call eight times at once; all answers are the same result.
fn eight(world: &dyn World, actor: &str, tool: &str, arguments: &Object) -> Value {
    let calls: Vec<_> = (0..8).map(|_| (actor, tool, arguments.clone())).collect();
    let answers = at_once(world, &calls);
    for answer in &answers {
        assert!(ok(answer), "{answer}");
        assert_eq!(answer, &answers[0]);
    }
    answers[0].clone()
}

/// IDEM-INFLIGHT: of different calls at once under one request id, in runs of several shards and in none yet, exactly one takes
/// effect; the others learn that the id is used, also when they are made again.
pub fn strangers(world: &dyn World) {
    publish(world, "race-strangers", &["a agent", "done finish ok"]);
    let begin = |request: &str| {
        let mut arguments = object(&[("process", "race-strangers"), ("requestId", request)]);
        arguments.set("inputs", Object::new());
        ("sam", "start_run", arguments)
    };
    let runs: Vec<_> = (0..6)
        .map(|n| {
            let (actor, tool, arguments) = begin(&format!("stranger-{n}"));
            text(&world.call(actor, tool, &Value::Object(arguments)).unwrap(), "data.run.id").to_owned()
        })
        .collect();
    for id in 0..10 {
        let request = format!("strange-{id}");
        let event =
            |run: &String| ("a1", "send_event", object(&[("runId", run), ("name", "hello"), ("requestId", &request)]));
        let mut calls: Vec<_> = runs.iter().map(event).collect();
        calls.push(begin(&request));
        let answers = at_once(world, &calls);
        assert_eq!(answers.iter().filter(|a| ok(a)).count(), 1, "{answers:?}");
        let again = at_once(world, &calls);
        for (first, second) in answers.iter().zip(&again) {
            assert_eq!(first, second);
            assert!(ok(first) || list(first, "error.issues") == [Value::from("request_id_reused")], "{first}");
        }
    }
}
