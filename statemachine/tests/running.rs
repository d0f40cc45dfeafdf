//! The rules of running, one by one, on one shard.
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use agentprocess::{FieldType, Target};
use quorate_proto::Code;
use quorate_proto::shard::{Action, Decision};
use support::process::{self, approve, choice, finish, object, one, parallel, process, role, task};
use support::{World, agent, approved, at, good, has, person, refused, rejected, routed, submission, text, token};

/// d agent, then r approve by the reviewer who may send back to d, then done.
fn approval() -> agentprocess::Process {
    let steps = vec![process::agent("d", one(1)), approve("r", role("reviewer"), 2, Some(0)), finish("done", "ok")];
    process("approval", &[], steps)
}

#[test]
fn an_approval_is_rejected_and_then_approved() {
    // R/R-01, R/D-01
    let mut w = World::new(&[approval()]);
    let (a1, rita) = (agent("a1"), person("rita", &["g_rev"]));
    let run = w.start(&a1, "approval", "{}").unwrap();
    w.work(&a1, run, "d");
    assert_eq!(w.state(run, "r"), "waiting");
    w.decide(&rita, run, "r", rejected("n1")).unwrap();
    assert_eq!((w.state(run, "d").as_str(), w.state(run, "r").as_str()), ("ready", "null"));
    let r = w.data(run, "r");
    assert_eq!((text(&r, "decision").as_str(), text(&r, "note").as_str()), ("rejected", "n1"));
    let d = w.data(run, "d");
    assert_eq!(support::keys(d.as_object().unwrap()), ["history"]);
    assert_eq!(at(&d, "history").as_array().unwrap().len(), 1);
    w.work(&a1, run, "d");
    w.decide(&rita, run, "r", approved()).unwrap();
    let view = w.view(run);
    assert_eq!(text(at(&view, "run"), "outcome"), "ok");
    let r = w.data(run, "r");
    assert_eq!(text(&r, "decision"), "approved");
    assert_eq!(text(&at(&r, "history").as_array().unwrap()[0], "note"), "n1");
    assert_eq!(at(&view, "workItems").as_array().unwrap().len(), 0);
}

#[test]
fn one_caller_holds_a_step_until_the_lease_ends() {
    // R/C-02, R/L-01, R/L-02, R/L-03
    let mut w = World::new(&[approval()]);
    let (a1, a2) = (agent("a1"), agent("a2"));
    let run = w.start(&a1, "approval", "{}").unwrap();
    let first = w.claim(&a1, run, "d").unwrap();
    assert_eq!(refused(w.claim(&a2, run, "d").map(|_| quorate_proto::Reply::Done)).1, ["claimed_by_other"]);
    assert_eq!(refused(w.claim(&a1, run, "d").map(|_| quorate_proto::Reply::Done)).1, ["claimed_by_you"]);
    assert!(w.work_of(&a1, None).is_empty());
    w.advance(support::LEASE);
    assert_eq!(refused(w.submit(&a1, &first, good())).0, Code::Stale);
    let view = w.view(run);
    assert_eq!(text(at(&view, "run"), "updatedAt"), first.expires.to_string());
    let second = w.claim(&a2, run, "d").unwrap();
    assert_eq!(refused(w.submit(&a1, &first, good())).0, Code::Stale);
    assert_eq!(refused(w.submit(&a1, &second, good())).0, Code::Forbidden);
    w.submit(&a2, &second, good()).unwrap();
    assert_eq!(text(&w.data(run, "d"), "by"), "a2");
}

#[test]
fn every_issue_comes_at_once_and_only_the_handoff_keeps_them() {
    // R/S-09, R/S-11, R/H-03
    let a = process::with_evidence(
        process::with_output(
            process::agent("a", choice(&[Target::Step(1), Target::Step(2)])),
            &[("cleared", FieldType::Boolean), ("sum", FieldType::String)],
        ),
        &[agentprocess::EvidenceKind::File],
    );
    let p = process("p", &[], vec![a, process::agent("b", one(2)), finish("done", "ok")]);
    let mut w = World::new(&[p]);
    let a1 = agent("a1");
    let run = w.start(&a1, "p", "{}").unwrap();
    let claim = w.claim(&a1, run, "a").unwrap();
    let before = w.view(run);
    let mut bad = submission(r#"{"extra":1,"cleared":"yes"}"#, " ", None);
    bad.reason = None;
    let (code, issues) = refused(w.submit(&a1, &claim, bad));
    assert_eq!(code, Code::NotAccepted);
    let expected = [
        "summary: missing",
        "output.cleared: expected boolean",
        "output.sum: missing",
        "output.extra: not declared",
        "evidence: file required",
        "next: required, one of b, done",
        "reason: required",
    ];
    assert_eq!(issues, expected);
    assert_eq!(w.view(run), before);
    w.advance(support::LEASE);
    w.tick();
    let item = &w.work_of(&a1, None)[0];
    assert_eq!(at(at(item, "handoff"), "issues").as_array().unwrap().len(), 7);
}

#[test]
fn branches_run_side_by_side_and_join() {
    // R/P-01, R/P-02, R/P-03, R/P-04, R/P-07
    let steps = vec![
        process::agent("p", one(1)),
        parallel("f", &[2, 3], 4),
        process::agent("l", process::join()),
        task("r", role("reviewer"), process::join()),
        approve("z", role("finance"), 5, Some(1)),
        finish("done", "ok"),
    ];
    let mut w = World::new(&[process("par", &[], steps)]);
    let (a1, rita, fay) = (agent("a1"), person("rita", &["g_rev"]), person("fay", &["g_fin"]));
    let run = w.start(&a1, "par", "{}").unwrap();
    w.work(&a1, run, "p");
    assert_eq!((w.state(run, "f").as_str(), w.state(run, "l").as_str()), ("waiting", "ready"));
    let old = w.item(run, "r");
    w.work(&a1, run, "l");
    let stale = quorate_proto::shard::Decide {
        run,
        work_item: text(&old, "id"),
        snapshot: text(&old, "snapshot"),
        decision: Decision::Completed(good()),
    };
    assert_eq!(refused(w.write(&rita, Action::Decide(Box::new(stale)))).0, Code::Stale);
    w.decide(&rita, run, "r", Decision::Completed(good())).unwrap();
    assert_eq!((w.state(run, "f").as_str(), w.state(run, "z").as_str()), ("done", "waiting"));
    w.decide(&fay, run, "z", rejected("again")).unwrap();
    for (step, state) in [("f", "waiting"), ("l", "ready"), ("r", "waiting"), ("z", "null")] {
        assert_eq!(w.state(run, step), state, "{step}");
    }
    assert!(!has(&w.data(run, "l"), "output"));
    assert_ne!(text(&w.item(run, "r"), "id"), text(&old, "id"));
    w.work(&a1, run, "l");
    w.decide(&rita, run, "r", Decision::Completed(good())).unwrap();
    w.decide(&fay, run, "z", approved()).unwrap();
    assert_eq!(text(at(&w.view(run), "run"), "state"), "ended");
}

#[test]
fn early_events_are_held_and_taken_oldest_first() {
    // R/T-05, R/T-06, R/T-13
    let steps = vec![
        process::agent("a", one(1)),
        process::wait_for("w1", "pay", None, Target::Step(2), Target::Step(2)),
        process::wait_for("w2", "pay", Some(process::minutes(0)), Target::Step(3), Target::Step(3)),
        finish("done", "ok"),
    ];
    let mut w = World::new(&[process("events", &[], steps)]);
    let a1 = agent("a1");
    let run = w.start(&a1, "events", "{}").unwrap();
    w.event(&a1, run, "pay", r#"{"n":1}"#).unwrap();
    w.event(&a1, run, "pay", r#"{"n":2}"#).unwrap();
    assert!(w.data(run, "w1").as_object().is_none());
    w.work(&a1, run, "a");
    assert_eq!(at(&w.data(run, "w1"), "output"), &object(r#"{"n":1}"#).into());
    assert_eq!(at(&w.data(run, "w2"), "output"), &object(r#"{"n":2}"#).into());
    assert_eq!(text(at(&w.view(run), "run"), "outcome"), "ok");
    let late = w.event(&a1, run, "pay", "{}");
    assert_eq!(refused(late).1, ["run_ended"]);
}

#[test]
fn a_repeated_call_gets_its_original_answer() {
    // R/I-01, R/I-02, R/I-06
    let mut w = World::new(&[approval()]);
    let (a1, a2) = (agent("a1"), agent("a2"));
    let run = w.start(&a1, "approval", "{}").unwrap();
    let claim = Action::Claim { run, step: "d".to_owned(), key: 1 };
    let first = w.write_as(&a1, "x", claim.clone());
    w.advance(support::LEASE);
    assert_eq!(w.write_as(&a1, "x", claim.clone()), first);
    assert_eq!(refused(w.write_as(&a2, "x", claim)).1, ["request_id_reused"]);
    let renewed = w.claim(&a2, run, "d").unwrap();
    let submit = Action::Submit { token: token(&renewed), submission: good() };
    let Ok(quorate_proto::Reply::Run(seen)) = w.write_as(&a2, "y", submit.clone()) else { panic!() };
    let original = w.run_at(&seen);
    w.decide(&person("rita", &["g_rev"]), run, "r", approved()).unwrap();
    assert_eq!(w.write_as(&a2, "y", submit), Ok(quorate_proto::Reply::Run(seen)));
    assert_eq!(w.run_at(&seen), original);
    assert_eq!(refused(w.write_as(&a2, "y", Action::Cancel { run, reason: "r".to_owned() })).1, ["run_ended"]);
}

#[test]
fn a_route_list_takes_the_chosen_step() {
    // R/S-01
    let steps = vec![
        process::agent("a", choice(&[Target::Step(1), Target::Step(2)])),
        process::agent("b", one(2)),
        finish("done", "ok"),
    ];
    let mut w = World::new(&[process("routes", &[], steps)]);
    let a1 = agent("a1");
    let run = w.start(&a1, "routes", "{}").unwrap();
    let claim = w.claim(&a1, run, "a").unwrap();
    w.submit(&a1, &claim, routed("b")).unwrap();
    assert_eq!(w.state(run, "b"), "ready");
    assert_eq!(text(&w.data(run, "a"), "next"), "b");
}

/// ERR-TOOLS, ERR-ORDER: an unknown process or version comes before a reused request id, and that before the inputs.
#[test]
fn a_start_names_the_unknown_process_before_the_reused_request() {
    let fields = [("amount", FieldType::Number)];
    let mut w = World::new(&[process("p", &fields, vec![process::agent("a", one(1)), finish("done", "ok")])]);
    let (a1, good) = (agent("a1"), || process::object(r#"{"amount":1}"#));
    let start = |run, process: &str, version, inputs| Action::StartRun {
        run,
        process: process.to_owned(),
        version,
        inputs,
        test: false,
    };
    let run = w.new_run();
    w.write_as(&a1, "id", start(run, "p", 1, good())).unwrap();
    let other = w.new_run();
    for (process, version, inputs, code) in [
        ("q", 1, good(), Code::NotFound),
        ("p", 9, good(), Code::NotFound),
        ("p", 1, process::object("{}"), Code::Conflict),
        ("p", 1, process::object(r#"{"amount":2}"#), Code::Conflict),
    ] {
        assert_eq!(
            refused(w.write_as(&a1, "id", start(other, process, version, inputs))).0,
            code,
            "{process} {version}"
        );
    }
    assert_eq!(w.write_as(&a1, "id", start(other, "p", 1, good())).map(|_| ()), Ok(()));
}
