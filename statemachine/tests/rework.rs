//! Rejections: what moves to history, what stays, and what is ready again.
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use agentprocess::{Process, Target};
use quorate_proto::RunId;
use quorate_proto::shard::Decision;
use support::process::{
    agent, approve, approve_to, choice, finish, join, one, parallel, process, role, task, wait_for,
};
use support::{World, approved, at, good, has, person, rejected, routed, text};

fn world(steps: Vec<agentprocess::Step>) -> (World, RunId) {
    let p: Process = process("p", &[], steps);
    let mut w = World::new(&[p]);
    let run = w.start(&support::agent("a1"), "p", "{}").unwrap();
    (w, run)
}

fn rita() -> quorate_proto::Caller {
    person("rita", &["g_rev"])
}

fn work(w: &mut World, run: RunId, steps: &[&str]) {
    for step in steps {
        w.work(&support::agent("a1"), run, step);
    }
}

fn history(w: &mut World, run: RunId, step: &str) -> usize {
    at(&w.data(run, step), "history").as_array().unwrap().len()
}

fn states(w: &mut World, run: RunId, steps: &[&str]) -> Vec<String> {
    steps.iter().map(|step| w.state(run, step)).collect()
}

#[test]
fn steps_between_are_rewound_and_earlier_ones_stay() {
    // R/R-02, R/R-03
    let steps = |back| {
        let r = approve("r", role("reviewer"), 4, Some(back));
        vec![agent("a", one(1)), agent("b", one(2)), agent("c", one(3)), r, finish("done", "ok")]
    };
    let (mut w, run) = world(steps(0));
    work(&mut w, run, &["a", "b", "c"]);
    w.decide(&rita(), run, "r", rejected("n")).unwrap();
    assert_eq!(states(&mut w, run, &["a", "b", "c", "r"]), ["ready", "null", "null", "null"]);
    assert_eq!(support::keys(w.data(run, "b").as_object().unwrap()), ["history"]);
    assert!(w.claim(&support::agent("a1"), run, "b").is_err());

    let (mut w, run) = world(steps(1));
    work(&mut w, run, &["a", "b", "c"]);
    w.decide(&rita(), run, "r", rejected("n")).unwrap();
    assert_eq!(states(&mut w, run, &["a", "b", "c", "r"]), ["done", "ready", "null", "null"]);
    assert!(has(&w.data(run, "a"), "output"));
    assert_eq!(history(&mut w, run, "a"), 0);
}

#[test]
fn many_rounds_keep_their_order() {
    // R/R-04
    let r = approve("r", role("reviewer"), 2, Some(0));
    let (mut w, run) = world(vec![agent("d", one(1)), r, finish("done", "ok")]);
    for note in ["n1", "n2", "n3"] {
        work(&mut w, run, &["d"]);
        w.decide(&rita(), run, "r", rejected(note)).unwrap();
        assert_eq!(text(&w.data(run, "r"), "note"), note);
    }
    work(&mut w, run, &["d"]);
    assert_eq!(history(&mut w, run, "d"), 3);
    w.decide(&rita(), run, "r", approved()).unwrap();
    let r = w.data(run, "r");
    let notes: Vec<_> = at(&r, "history").as_array().unwrap().iter().map(|h| text(h, "note")).collect();
    assert_eq!(notes, ["n1", "n2", "n3"]);
    assert!(at(&r, "history").as_array().unwrap().iter().all(|h| !has(h, "history")));
}

#[test]
fn another_route_leaves_the_first_in_history() {
    // R/R-05
    let (mut w, run) = world(vec![
        agent("t", choice(&[Target::Step(1), Target::Step(2)])),
        agent("x", one(3)),
        agent("y", one(3)),
        approve("r", role("reviewer"), 4, Some(0)),
        finish("done", "ok"),
    ]);
    let a1 = support::agent("a1");
    for (next, reject) in [("x", true), ("y", false)] {
        let claim = w.claim(&a1, run, "t").unwrap();
        w.submit(&a1, &claim, routed(next)).unwrap();
        work(&mut w, run, &[next]);
        if reject {
            w.decide(&rita(), run, "r", rejected("other way")).unwrap();
        }
    }
    assert_eq!(states(&mut w, run, &["x", "y", "r"]), ["null", "done", "waiting"]);
    let t = w.data(run, "t");
    assert_eq!(
        (text(&t, "next").as_str(), text(&at(&t, "history").as_array().unwrap()[0], "next").as_str()),
        ("y", "x")
    );
}

#[test]
fn a_consumed_event_stays_consumed() {
    // R/R-06
    let (mut w, run) = world(vec![
        wait_for("w", "go", None, Target::Step(1), Target::Step(1)),
        agent("d", one(2)),
        approve("r", role("reviewer"), 3, Some(0)),
        finish("done", "ok"),
    ]);
    let a1 = support::agent("a1");
    w.event(&a1, run, "go", r#"{"n":1}"#).unwrap();
    work(&mut w, run, &["d"]);
    w.decide(&rita(), run, "r", rejected("n")).unwrap();
    assert_eq!(states(&mut w, run, &["w", "d"]), ["waiting", "null"]);
    assert_eq!(history(&mut w, run, "w"), 1);
    w.event(&a1, run, "go", r#"{"n":2}"#).unwrap();
    assert_eq!(at(at(&w.data(run, "w"), "output"), "n").to_string(), "2");
}

#[test]
fn a_rejection_goes_to_itself_forward_and_to_a_finish() {
    // REJECT-TARGET
    let (mut w, run) = world(vec![approve("r", role("reviewer"), 1, Some(0)), finish("done", "ok")]);
    let first = text(&w.item(run, "r"), "id");
    w.decide(&rita(), run, "r", rejected("once more")).unwrap();
    assert_ne!(text(&w.item(run, "r"), "id"), first);
    assert_eq!(text(&w.data(run, "r"), "decision"), "rejected");
    assert_eq!(history(&mut w, run, "r"), 0);
    w.decide(&rita(), run, "r", approved()).unwrap();
    assert_eq!(history(&mut w, run, "r"), 1);

    let forward = || approve("r", role("reviewer"), 3, Some(2));
    let (mut w, run) = world(vec![agent("a", one(1)), forward(), agent("fix", one(1)), finish("done", "ok")]);
    work(&mut w, run, &["a"]);
    w.decide(&rita(), run, "r", rejected("fix it")).unwrap();
    assert_eq!(states(&mut w, run, &["a", "r", "fix"]), ["done", "null", "ready"]);
    work(&mut w, run, &["fix"]);
    w.decide(&rita(), run, "r", rejected("again")).unwrap();
    assert_eq!(
        (states(&mut w, run, &["a", "fix"]), history(&mut w, run, "fix")),
        (vec!["done".into(), "ready".into()], 1)
    );

    let r = approve("r", role("reviewer"), 2, Some(1));
    let (mut w, run) = world(vec![r, finish("no", "declined"), finish("done", "ok")]);
    w.decide(&rita(), run, "r", rejected("no")).unwrap();
    let view = w.view(run);
    assert_eq!(text(at(&view, "run"), "outcome"), "declined");
    assert_eq!(text(at(at(&view, "run"), "ended"), "by"), "server");
    assert_eq!(states(&mut w, run, &["r", "no", "done"]), ["done", "done", "null"]);
}

#[test]
fn an_unanswered_note_outlives_another_rejection() {
    // REWORK-KEPT
    let (mut w, run) = world(vec![
        agent("d", choice(&[Target::Step(1), Target::Step(2)])),
        approve("r", role("reviewer"), 2, Some(0)),
        approve("z", role("reviewer"), 3, Some(0)),
        finish("done", "ok"),
    ]);
    let a1 = support::agent("a1");
    for (next, step) in [("r", "r"), ("z", "z")] {
        let claim = w.claim(&a1, run, "d").unwrap();
        w.submit(&a1, &claim, routed(next)).unwrap();
        w.decide(&rita(), run, step, rejected(step)).unwrap();
    }
    assert_eq!(text(&w.data(run, "r"), "note"), "r");
    assert_eq!(text(&w.data(run, "z"), "note"), "z");
    assert_eq!(states(&mut w, run, &["d", "r", "z"]), ["ready", "null", "null"]);
}

/// p, then branches l > lk (back to l) and r, then z that goes back to `back`.
fn fork(back: usize) -> (World, RunId) {
    world(vec![
        agent("p", one(1)),
        parallel("f", &[2, 4], 5),
        agent("l", one(3)),
        approve_to("lk", role("reviewer"), Target::Join, Some(2)),
        task("r", role("reviewer"), join()),
        approve("z", role("finance"), 6, Some(back)),
        finish("done", "ok"),
    ])
}

#[test]
fn rework_inside_a_branch_touches_no_sibling() {
    // R/P-06
    let (mut w, run) = fork(1);
    work(&mut w, run, &["p", "l"]);
    let sibling = w.item(run, "r");
    w.decide(&rita(), run, "lk", rejected("redo")).unwrap();
    assert_eq!(states(&mut w, run, &["f", "l", "lk", "r"]), ["waiting", "ready", "null", "waiting"]);
    assert_eq!(text(&w.item(run, "r"), "id"), text(&sibling, "id"));
    assert_eq!(text(&w.data(run, "lk"), "note"), "redo");
    assert_eq!(history(&mut w, run, "l"), 1);
}

#[test]
fn rework_to_the_fork_or_before_it_takes_the_whole_region() {
    // R/P-07, PAR-AFTER
    for (back, expected) in
        [(1, ["done", "waiting", "ready", "null", "waiting"]), (0, ["ready", "null", "null", "null", "null"])]
    {
        let (mut w, run) = fork(back);
        work(&mut w, run, &["p", "l"]);
        w.decide(&rita(), run, "lk", approved()).unwrap();
        w.decide(&rita(), run, "r", Decision::Completed(good())).unwrap();
        w.decide(&person("fay", &["g_fin"]), run, "z", rejected("again")).unwrap();
        assert_eq!(states(&mut w, run, &["p", "f", "l", "lk", "r"]), expected);
        for step in ["l", "lk", "r"] {
            assert_eq!(support::keys(w.data(run, step).as_object().unwrap()), ["history"], "{step}");
        }
        assert_eq!(text(&w.data(run, "z"), "note"), "again");
        if back == 0 {
            work(&mut w, run, &["p"]);
        }
        assert_eq!(states(&mut w, run, &["f", "l", "r"]), ["waiting", "ready", "waiting"]);
        work(&mut w, run, &["l"]);
        w.decide(&rita(), run, "lk", approved()).unwrap();
        assert_eq!(w.state(run, "z"), "null");
        w.decide(&rita(), run, "r", Decision::Completed(good())).unwrap();
        assert_eq!(w.state(run, "z"), "waiting");
    }
}
