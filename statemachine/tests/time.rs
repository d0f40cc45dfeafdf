//! Time: waits, timeouts, leases, overdue steps, and the agreed clock behind them.
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use agentprocess::time::Timestamp;
use agentprocess::{DataPath, FieldType, StepKind, Target};
use quorate_proto::Caller;
use quorate_proto::shard::{Action, ShardCommand};
use quorate_statemachine::shard::event::Event;
use quorate_statemachine::shard::read;
use quorate_statemachine::shard::tick::TIMERS_PER_ENTRY_MAX;
use support::process::{
    agent, approve, finish, minutes, object, one, parallel, process, role, step, wait, wait_for, with_due,
};
use support::{World, approved, at, has, person, refused, text};

fn a1() -> Caller {
    support::agent("a1")
}

fn until(next: usize) -> StepKind {
    StepKind::WaitUntil { at: DataPath::Input("when".to_owned()), next: Target::Step(next) }
}

#[test]
fn a_wait_fires_at_its_instant_and_not_before() {
    // R/T-01, R/R-06
    let steps = vec![
        wait("w", minutes(120), Target::Step(1)),
        agent("a", one(2)),
        approve("r", role("reviewer"), 3, Some(0)),
        finish("done", "ok"),
    ];
    let mut w = World::new(&[process("p", &[], steps)]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    w.advance(minutes(119));
    assert!(!read::due(&w.store, Some(run), w.at).unwrap());
    assert_eq!(w.state(run, "w"), "waiting");
    assert!(w.work_of(&a1(), None).is_empty());
    w.advance(minutes(1));
    assert!(read::due(&w.store, Some(run), w.at).unwrap() && read::due(&w.store, None, w.at).unwrap());
    assert_eq!((w.state(run, "w").as_str(), w.state(run, "a").as_str()), ("done", "ready"));
    let data = w.data(run, "w");
    assert_eq!(
        (text(&data, "by"), text(&data, "at"), has(&data, "output")),
        ("server".into(), w.at.to_string(), false)
    );
    w.work(&a1(), run, "a");
    w.decide(&person("rita", &["g_rev"]), run, "r", support::rejected("n")).unwrap();
    w.advance(minutes(119));
    assert_eq!(w.state(run, "w"), "waiting");
    w.advance(minutes(1));
    assert_eq!(w.state(run, "a"), "ready");
}

#[test]
fn waits_already_past_are_never_seen() {
    // R/T-02, R/T-03, R/T-13
    let steps = vec![step("u1", until(1)), step("u2", until(2)), finish("done", "ok")];
    let mut w = World::new(&[process("p", &[("when", FieldType::Datetime)], steps)]);
    let past = w.start(&a1(), "p", r#"{"when":"2020-01-01T00:00:00+02:00"}"#).unwrap();
    assert_eq!(text(at(&w.peek(past).unwrap(), "run"), "outcome"), "ok");
    let at_text = Timestamp(w.at.0 + 1).to_string();
    let soon = w.start(&a1(), "p", &format!(r#"{{"when":"{at_text}"}}"#)).unwrap();
    assert_eq!(w.state(soon, "u1"), "waiting");
    w.at = Timestamp(w.at.0 + 1);
    assert_eq!(text(at(&w.view(soon), "run"), "state"), "ended");
    let missing = w.start(&a1(), "p", "{}").unwrap();
    assert_eq!(w.state(missing, "u1"), "failed");
    let view = w.view(missing);
    assert_eq!(text(at(at(&view, "run"), "ended"), "by"), "server");
    assert_eq!(text(&w.data(missing, "u1"), "note"), text(at(at(&view, "run"), "ended"), "note"));
}

#[test]
fn a_timeout_and_an_event_do_not_both_count() {
    // R/T-08, R/T-09, TIMEOUT-RACE
    let steps = vec![
        wait_for("w", "pay", Some(minutes(60)), Target::Step(1), Target::Step(2)),
        agent("b", one(3)),
        agent("c", one(3)),
        finish("done", "ok"),
    ];
    let mut w = World::new(&[process("p", &[], steps)]);
    let (late, early) = (w.start(&a1(), "p", "{}").unwrap(), w.start(&a1(), "p", "{}").unwrap());
    w.advance(minutes(59));
    w.event(&a1(), early, "pay", r#"{"n":1}"#).unwrap();
    w.advance(minutes(1));
    let reply = w.event(&a1(), late, "pay", "{}").unwrap();
    assert_eq!(reply, quorate_proto::Reply::EventSent { consumed_by: None });
    assert_eq!((w.state(late, "b").as_str(), w.state(late, "c").as_str()), ("null", "ready"));
    assert!(!has(&w.data(late, "w"), "output"));
    w.advance(minutes(600));
    assert_eq!((w.state(early, "b").as_str(), w.state(early, "c").as_str()), ("ready", "null"));
    assert_eq!(text(&w.data(early, "w"), "by"), "a1");
}

#[test]
fn timers_of_a_run_fire_in_order_with_the_time_they_are_applied() {
    // TIMER-LATE, R/P-09
    let steps = vec![
        parallel("f", &[1, 2], 3),
        wait("x", minutes(20), Target::Join),
        wait("y", minutes(10), Target::Join),
        wait("z", minutes(5), Target::Step(4)),
        finish("done", "ok"),
    ];
    let mut w = World::new(&[process("p", &[], steps)]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    w.advance(minutes(1000));
    assert_eq!(w.state(run, "z"), "waiting");
    for step in ["x", "y"] {
        assert_eq!(text(&w.data(run, step), "at"), w.at.to_string());
    }
    w.advance(minutes(5));
    assert_eq!(text(at(&w.view(run), "run"), "state"), "ended");
    let rows = read::journal(&w.store, "o", run, 0, 100).unwrap();
    let completed = |event: &Event| if let Event::Completed { step, .. } = event { Some(*step) } else { None };
    let steps = rows[1].events.iter().filter_map(completed);
    assert_eq!(steps.collect::<Vec<_>>(), [2, 1], "earliest instant first");
}

#[test]
fn overdue_is_announced_once_to_those_concerned() {
    // R/N-01, R/N-02, R/N-03
    let steps =
        vec![with_due(agent("a", one(1)), minutes(30)), approve("r", role("reviewer"), 2, None), finish("done", "ok")];
    let mut w = World::new(&[process("p", &[], steps)]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    let test = w.new_run();
    let action = Action::StartRun { run: test, process: "p".to_owned(), version: 1, inputs: object("{}"), test: true };
    w.write(&a1(), action).unwrap();
    let item = &w.work_of(&a1(), None)[0];
    assert_eq!(text(item, "due"), w.at.plus(minutes(30)).to_string());
    w.advance(minutes(30));
    w.tick();
    w.tick();
    let sent = read::outbox(&w.store, 0, 10).unwrap();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].1.run, sent[0].1.step.as_str()), (run, "a"));
    assert_eq!((sent[0].1.groups.as_slice(), sent[0].1.people.len()), (["g_ops".to_owned()].as_slice(), 0));
    for run in [run, test] {
        let view = w.view(run);
        assert_eq!(at(&at(&view, "steps").as_array().unwrap()[0], "overdue").as_bool(), Some(true));
        w.work(&a1(), run, "a");
    }
    w.advance(minutes(59));
    w.tick();
    assert_eq!(read::outbox(&w.store, 0, 10).unwrap().len(), 1);
    w.advance(minutes(1));
    w.tick();
    let sent = read::outbox(&w.store, 0, 10).unwrap();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].1.groups, ["g_rev", "g_ops"]);
    w.decide(&person("rita", &["g_rev"]), run, "r", approved()).unwrap();
    w.apply(ShardCommand::OutboxSent { sequences: vec![sent[0].0, sent[1].0] }).unwrap();
    assert!(read::outbox(&w.store, 0, 10).unwrap().is_empty());
    w.advance(minutes(9999));
    w.tick();
    assert!(read::outbox(&w.store, 0, 10).unwrap().is_empty());
}

#[test]
fn a_storm_of_timers_is_worked_off_in_bounded_entries() {
    // design §5
    let steps = vec![wait("w", minutes(1), Target::Step(1)), agent("a", one(2)), finish("done", "ok")];
    let mut w = World::new(&[process("p", &[], steps)]);
    let runs: Vec<_> = (0..2 * TIMERS_PER_ENTRY_MAX + 3).map(|_| w.start(&a1(), "p", "{}").unwrap()).collect();
    w.advance(minutes(1));
    let last = *runs.last().unwrap();
    // A call on a run sees all of its own timers fired, however many others are due.
    w.claim(&a1(), last, "a").unwrap();
    let ready = |w: &World| runs.iter().filter(|r| w.step_state(**r, 1) != "null").count();
    assert_eq!(ready(&w), TIMERS_PER_ENTRY_MAX + 1);
    w.tick();
    assert_eq!(ready(&w), 2 * TIMERS_PER_ENTRY_MAX + 1);
    assert!(read::due(&w.store, None, w.at).unwrap());
    w.tick();
    assert_eq!(ready(&w), runs.len());
    assert!(!read::due(&w.store, None, w.at).unwrap());
}

#[test]
fn a_clock_that_runs_back_changes_nothing() {
    // CLOCK-ONE
    let mut w = World::new(&[process("p", &[], vec![agent("a", one(1)), finish("done", "ok")])]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    let claim = w.claim(&a1(), run, "a").unwrap();
    w.advance(support::LEASE);
    w.tick();
    w.at = Timestamp(0);
    assert_eq!(refused(w.submit(&a1(), &claim, support::good())).0, quorate_proto::Code::Stale);
    let again = w.claim(&support::agent("a2"), run, "a").unwrap();
    assert_eq!(again.expires, claim.expires.plus(support::LEASE));
}

#[test]
fn renewals_count_from_now_and_one_of_two_wins() {
    // R/L-04, R/H-02, RENEW-RACE
    let mut w = World::new(&[process("p", &[], vec![agent("a", one(1)), finish("done", "ok")])]);
    let run = w.start(&a1(), "p", "{}").unwrap();
    let first = w.claim(&a1(), run, "a").unwrap();
    w.advance(minutes(4));
    let renew = |claim, note: Option<&str>| Action::Renew {
        token: support::token(claim),
        progress: note.map(str::to_owned),
        key: 1,
    };
    let reply = w.write(&a1(), renew(&first, Some("p1"))).unwrap();
    let quorate_proto::Reply::Renewed { claim: second } = reply else { panic!("{reply:?}") };
    assert_eq!(second.expires, w.at.plus(support::LEASE));
    for action in [renew(&first, None), Action::Submit { token: support::token(&first), submission: support::good() }] {
        assert_eq!(refused(w.write(&a1(), action)).0, quorate_proto::Code::Stale);
    }
    w.write(&a1(), renew(&second, Some("  "))).unwrap();
    assert!(w.work_of(&a1(), None).is_empty());
    w.advance(support::LEASE);
    w.tick();
    assert_eq!(at(&w.work_of(&a1(), None)[0], "handoff").to_string(), r#"{"progress":"p1"}"#);
    let silent = w.claim(&a1(), run, "a").unwrap();
    w.advance(support::LEASE);
    w.tick();
    assert!(silent.number > second.number);
    assert_eq!(at(&w.work_of(&a1(), None)[0], "handoff").to_string(), r#"{"progress":"p1"}"#);
}
