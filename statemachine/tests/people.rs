//! People: who may decide what, in which order refusals come, and who a step is for.
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use agentprocess::{Assignee, DataPath, FieldType, Target};
use quorate_proto::shard::{Action, Decide, Decision, Submission};
use quorate_proto::{Caller, Code, Outcome, RunId};
use quorate_statemachine::shard::read;
use support::process::{
    agent, approve, approve_to, choice, finish, join, object, one, parallel, process, role, task, with_output,
};
use support::{World, approved, at, good, has, person, refused, rejected, submission, text};

fn a1() -> Caller {
    support::agent("a1")
}
fn rita() -> Caller {
    person("rita", &["g_rev"])
}
fn olga() -> Caller {
    person("olga", &["g_ops"])
}

fn world(steps: Vec<agentprocess::Step>) -> (World, RunId) {
    let mut w = World::new(&[process("p", &[], steps)]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    (w, run)
}

fn send(w: &mut World, by: &Caller, run: RunId, item: &str, snapshot: &str, decision: Decision) -> Outcome {
    let (work_item, snapshot) = (item.to_owned(), snapshot.to_owned());
    w.write(by, Action::Decide(Box::new(Decide { run, work_item, snapshot, decision })))
}

fn empty() -> Submission {
    Submission { output: None, evidence: None, summary: None, next: None, reason: None }
}

#[test]
fn refusals_come_in_their_order() {
    // R/D-12, R/D-13, R/D-14, DECIDE-ORDER
    let (mut w, run) = world(vec![agent("a", one(1)), task("t", role("reviewer"), one(2)), finish("done", "ok")]);
    w.work(&a1(), run, "a");
    let item = w.item(run, "t");
    let (id, snapshot) = (text(&item, "id"), text(&item, "snapshot"));
    let bad = || Decision::Completed(empty());
    for by in [olga(), person("sam", &[]), a1()] {
        assert_eq!(refused(send(&mut w, &by, run, &id, "old", bad())).0, Code::Stale);
        assert_eq!(refused(send(&mut w, &by, run, &id, &snapshot, bad())).0, Code::Forbidden);
        assert_eq!(refused(send(&mut w, &by, run, &id, &snapshot, approved())).0, Code::Forbidden);
    }
    assert_eq!(
        refused(send(&mut w, &rita(), run, &id, &snapshot, approved())),
        (Code::Invalid, vec!["decision: one of completed, failed".to_owned()])
    );
    assert_eq!(
        refused(send(&mut w, &rita(), run, &id, &snapshot, bad())),
        (Code::NotAccepted, vec!["output.n: missing".to_owned()])
    );
    assert_eq!(at(&w.item(run, "t"), "handoff").to_string(), r#"{"issues":["output.n: missing"]}"#);
    let unknown = id.replace("_1", "_7");
    assert_eq!(refused(send(&mut w, &rita(), run, &unknown, "junk", bad())).0, Code::NotFound);
    assert_eq!(refused(send(&mut w, &rita(), run, "w_1", "junk", bad())).0, Code::NotFound);
    let other = w.start(&a1(), "p", "{}").unwrap();
    assert_eq!(refused(send(&mut w, &rita(), other, &id, "junk", bad())).0, Code::NotFound);
    let fresh = text(&w.item(run, "t"), "snapshot");
    assert_eq!(fresh, snapshot, "a refusal changes no run data");
    let done = Decision::Completed(Submission { summary: None, ..good() });
    send(&mut w, &rita(), run, &id, &snapshot, done).unwrap();
    assert!(!has(&w.data(run, "t"), "summary"));
    assert_eq!(refused(send(&mut w, &rita(), run, &id, "old", bad())).1, ["run_ended"]);
    assert_eq!(refused(send(&mut w, &a1(), run, "junk", "junk", bad())).1, ["run_ended"]);
}

#[test]
fn a_second_member_learns_that_it_is_decided() {
    // R/D-15
    let (mut w, run) =
        world(vec![agent("d", one(1)), approve("r", role("reviewer"), 2, Some(0)), finish("done", "ok")]);
    w.work(&a1(), run, "d");
    let item = w.item(run, "r");
    let (id, snapshot) = (text(&item, "id"), text(&item, "snapshot"));
    send(&mut w, &rita(), run, &id, &snapshot, rejected("no")).unwrap();
    assert_eq!(
        refused(send(&mut w, &person("ron", &["g_rev"]), run, &id, &snapshot, approved())).1,
        ["already_decided"]
    );
}

#[test]
fn an_escalated_step_is_returned_or_finished_by_an_operator() {
    // R/D-09, R/D-10, R/D-11, R/H-04, R/L-06
    let (mut w, run) =
        world(vec![agent("a", choice(&[Target::Step(1), Target::Step(2)])), agent("b", one(2)), finish("done", "ok")]);
    let claim = w.claim(&a1(), run, "a").unwrap();
    let refusal = refused(w.submit(&a1(), &claim, submission("{}", "Done.", None)));
    let progress = Some("half".to_owned());
    let renewed = w.write(&a1(), Action::Renew { token: support::token(&claim), progress, key: 1 });
    let Ok(quorate_proto::Reply::Renewed { claim }) = renewed else { panic!("{renewed:?}") };
    let escalate = || Action::Escalate { token: support::token(&claim), note: "blocked".to_owned(), attended: true };
    w.write(&a1(), escalate()).unwrap();
    assert_eq!(refused(w.write(&a1(), escalate())).0, Code::Stale);
    let item = w.item(run, "a");
    assert_eq!(text(&item, "kind"), "agent");
    assert_eq!(text(at(&item, "escalation"), "note"), "blocked");
    assert_eq!(text(at(&item, "assignedTo"), "group"), "g_ops");
    assert_eq!(text(at(&item, "handoff"), "progress"), "half");
    assert_eq!(at(at(&item, "handoff"), "issues").as_array().unwrap().len(), refusal.1.len());
    assert_eq!(text(at(&w.view(run), "run"), "state"), "waiting");
    assert_eq!(refused(w.claim(&a1(), run, "a").map(|_| quorate_proto::Reply::Done)).1, ["not_ready"]);
    w.decide(&olga(), run, "a", Decision::Returned { note: "use form B".to_owned() }).unwrap();
    let work = w.work_of(&a1(), None);
    assert_eq!(support::keys(at(&work[0], "handoff").as_object().unwrap()), ["progress", "returned", "issues"]);
    assert_eq!(text(at(at(&work[0], "handoff"), "returned"), "by"), "olga");
    assert_eq!(text(&work[0], "readySince"), text(at(&w.view(run), "run"), "startedAt"));
    let claim = w.claim(&a1(), run, "a").unwrap();
    w.write(&a1(), Action::Escalate { token: support::token(&claim), note: "still".to_owned(), attended: true })
        .unwrap();
    let expected = ["output.n: missing", "next: required, one of b, done", "reason: required"];
    assert_eq!(refused(w.decide(&olga(), run, "a", Decision::Completed(empty()))).1, expected);
    w.decide(&olga(), run, "a", Decision::Completed(support::routed("b"))).unwrap();
    assert_eq!(text(&w.data(run, "a"), "by"), "olga");
    assert_eq!(w.state(run, "b"), "ready");
}

/// ESC-WHERE: an escalation to an empty group opens its item all the same, and the operators are told.
#[test]
fn the_operators_are_told_of_an_escalation_that_nobody_would_see() {
    let (mut w, run) = world(vec![agent("a", one(1)), finish("done", "ok")]);
    let test = w.new_run();
    let action = Action::StartRun { run: test, process: "p".to_owned(), version: 1, inputs: object("{}"), test: true };
    w.write(&a1(), action).unwrap();
    for run in [run, test] {
        let token = support::token(&w.claim(&a1(), run, "a").unwrap());
        w.write(&a1(), Action::Escalate { token, note: "blocked".to_owned(), attended: false }).unwrap();
        assert_eq!(text(at(&w.item(run, "a"), "assignedTo"), "group"), "g_ops");
    }
    let told = read::outbox(&w.store, 0, 10).unwrap();
    let [(_, told)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((told.kind.as_str(), told.run, told.step.as_str()), ("escalation_unattended", run, "a"));
    assert_eq!((told.groups.as_slice(), told.people.len(), told.at), (["g_ops".to_owned()].as_slice(), 0, w.at));
    assert_eq!(text(&told.details, "group"), "g_ops");
}

#[test]
fn failed_ends_the_run_wherever_it_is_decided() {
    // R/D-08, R/P-08
    let (mut w, run) = world(vec![
        parallel("f", &[1, 2], 3),
        agent("l", join()),
        task("r", role("reviewer"), join()),
        finish("done", "ok"),
    ]);
    let claim = w.claim(&a1(), run, "l").unwrap();
    w.decide(&rita(), run, "r", Decision::Failed { note: "no".to_owned() }).unwrap();
    let view = w.view(run);
    assert_eq!(text(at(&view, "run"), "outcome"), "failed");
    assert_eq!(text(at(at(&view, "run"), "ended"), "note"), "no");
    for (step, state) in [("f", "cancelled"), ("l", "cancelled"), ("r", "failed"), ("done", "null")] {
        assert_eq!(w.state(run, step), state, "{step}");
    }
    assert_eq!(text(&w.data(run, "r"), "decision"), "failed");
    assert_eq!(refused(w.submit(&a1(), &claim, good())).1, ["run_ended"]);
    assert!(w.work_of(&a1(), None).is_empty() && w.work_of(&rita(), None).is_empty());
}

#[test]
fn a_rejection_without_on_reject_ends_the_run() {
    // R/D-02
    let (mut w, run) = world(vec![approve("r", role("reviewer"), 1, None), finish("done", "ok")]);
    w.decide(&rita(), run, "r", rejected("no")).unwrap();
    let view = w.view(run);
    assert_eq!(text(at(&view, "run"), "outcome"), "rejected");
    assert_eq!(text(at(at(&view, "run"), "ended"), "by"), "rita");
    assert_eq!((w.state(run, "r").as_str(), w.state(run, "done").as_str()), ("done", "null"));
}

#[test]
fn steps_find_their_people() {
    // R/D-17, R/D-18, R/D-19
    let steps = vec![
        with_output(agent("a", one(1)), &[("owner", FieldType::Person)]),
        approve("o", Assignee::Path(DataPath::Output { step: 0, field: "owner".to_owned() }), 2, None),
        approve("b", Assignee::Path(DataPath::Input("boss".to_owned())), 3, None),
        approve("i", Assignee::Initiator, 4, None),
        finish("done", "ok"),
    ];
    let mut w = World::new(&[process("p", &[("boss", FieldType::Person)], steps)]);
    let sam = person("sam", &[]);
    assert_eq!(refused(w.start(&a1(), "p", "{}").map(|_| quorate_proto::Reply::Done)).0, Code::Invalid);
    for inputs in [r#"{"boss":"Fay@Example.com"}"#, "{}"] {
        let run = w.start(&sam, "p", inputs).unwrap();
        let claim = w.claim(&a1(), run, "a").unwrap();
        w.submit(&a1(), &claim, submission(r#"{"owner":"RITA@example.com"}"#, "Done.", None)).unwrap();
        assert_eq!(text(at(&w.item(run, "o"), "assignedTo"), "person"), "RITA@example.com");
        assert_eq!(refused(w.decide(&sam, run, "o", approved())).0, Code::Forbidden);
        assert_eq!(w.work_of(&rita(), None).len(), 1);
        w.decide(&rita(), run, "o", approved()).unwrap();
        if inputs == "{}" {
            let view = w.view(run);
            assert_eq!(text(at(&view, "run"), "outcome"), "failed");
            assert_eq!((w.state(run, "b").as_str(), text(&w.data(run, "b"), "by").as_str()), ("failed", "server"));
            continue;
        }
        w.decide(&person("fay", &[]), run, "b", approved()).unwrap();
        assert_eq!(text(at(&w.item(run, "i"), "assignedTo"), "person"), "sam@example.com");
        assert_eq!(refused(w.decide(&rita(), run, "i", approved())).0, Code::Forbidden);
        w.decide(&sam, run, "i", approved()).unwrap();
        assert_eq!(text(at(&w.view(run), "run"), "outcome"), "ok");
    }
}

#[test]
fn a_branch_that_leads_to_no_one_fails_the_fork() {
    // R/P-08
    let nobody = Assignee::Path(DataPath::Input("boss".to_owned()));
    let steps = vec![
        parallel("f", &[1, 2], 3),
        agent("l", join()),
        approve_to("r", nobody, Target::Join, None),
        finish("done", "ok"),
    ];
    let mut w = World::new(&[process("p", &[("boss", FieldType::Person)], steps)]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    for (step, state) in [("f", "cancelled"), ("l", "cancelled"), ("r", "failed")] {
        assert_eq!(w.state(run, step), state, "{step}");
    }
    assert_eq!(text(at(&w.view(run), "run"), "outcome"), "failed");
}

#[test]
fn only_operators_cancel_and_send_events() {
    // R/E-02, R/E-03, R/T-10
    let (mut w, run) = world(vec![task("t", role("reviewer"), one(1)), finish("done", "ok")]);
    let cancel = || Action::Cancel { run, reason: "dup".to_owned() };
    for by in [a1(), rita()] {
        assert_eq!(refused(w.write(&by, cancel())).0, Code::Forbidden);
    }
    assert_eq!(refused(w.event(&rita(), run, "x", "{}")).0, Code::Forbidden);
    let stranger = Caller { org: "other".to_owned(), ..olga() };
    assert_eq!(refused(w.write(&stranger, cancel())).0, Code::NotFound);
    w.event(&olga(), run, "x", "{}").unwrap();
    w.write(&olga(), cancel()).unwrap();
    let view = w.view(run);
    assert_eq!(text(at(&view, "run"), "state"), "cancelled");
    assert!(at(at(&view, "run"), "outcome").is_null());
    assert_eq!(text(at(at(&view, "run"), "ended"), "note"), "dup");
    assert_eq!((w.state(run, "t").as_str(), w.state(run, "done").as_str()), ("cancelled", "null"));
    assert_eq!(refused(w.write(&a1(), cancel())).1, ["run_ended"]);
}
