//! The steps of the coordination one by one.

use quorate_proto::RequestCommand::{Fence, Release, Reserve};
use quorate_proto::RequestReply::{Fenced, Held, Reserved, Stale, Used};
use quorate_proto::shard::ShardCommand;
use quorate_proto::{Attempt, Code, Outcome, Reply, RequestCommand, RequestReply, Reservation, Right};
use quorate_statemachine::Machine;
use quorate_statemachine::shard::keys::Key;
use quorate_statemachine::shard::request::FENCES_PER_HOME_MAX;
use quorate_statemachine::store::Memory;

use crate::broken::{Rule, finish};
use crate::calls::Call;
use crate::shards::{HOME, ID, Shards, request, run, with, write};
use crate::support::{agent, at, refused, text};

struct World {
    machine: Machine,
    shards: Shards,
}

impl World {
    fn new() -> Self {
        let machine = Machine::default();
        Self { shards: Shards::new(&machine), machine }
    }

    fn apply(&mut self, shard: u16, command: &ShardCommand) -> Outcome {
        self.shards.apply(&self.machine, shard, command)
    }

    fn request(&mut self, shard: u16, command: RequestCommand) -> Reply {
        self.apply(shard, &request(command)).unwrap()
    }

    fn reserve(&mut self, call: Call) -> Reply {
        let (target, fingerprint) = (call.target(), call.write().fingerprint);
        self.request(HOME, Reserve { home: HOME, target, fingerprint })
    }

    fn write(&mut self, call: Call, right: Right) -> Outcome {
        self.apply(call.target(), &with(right, &call.write()))
    }

    fn make(&mut self, call: Call) -> Outcome {
        finish(Rule::Kept, &mut self.shards, &self.machine, call.begin(1))
    }
}

fn attempt(number: u64) -> Attempt {
    Attempt { home: HOME, number }
}

fn at_home(number: u64) -> Right {
    Right::Home(attempt(number))
}

fn said(reply: RequestReply) -> Reply {
    Reply::Request(reply)
}

fn held(target: u16, number: u64) -> Reply {
    said(Held(Reservation { target, attempt: attempt(number) }))
}

fn rows(store: &Memory, which: impl Fn(&Key) -> bool) -> usize {
    store.rows().filter(|(k, _)| which(&Key::decode(k).unwrap())).count()
}

#[test]
fn a_reservation_is_for_one_call_until_it_is_released() {
    let mut w = World::new();
    assert_eq!(w.reserve(Call::Claim), said(Reserved(attempt(1))));
    assert_eq!(w.reserve(Call::Claim), said(Reserved(attempt(1))), "the same call meets its own");
    assert_eq!(w.reserve(Call::Elsewhere), held(1, 1));
    assert_eq!(w.write(Call::Start, at_home(1)), Ok(held(1, 1)));
    assert_eq!(w.request(HOME, Release(attempt(2))), Reply::Done);
    assert_eq!(w.reserve(Call::Elsewhere), held(1, 1), "another attempt's release takes nothing");
    w.request(HOME, Release(attempt(1)));
    assert_eq!(w.reserve(Call::Elsewhere), said(Reserved(attempt(2))), "a number is given once");
    w.request(HOME, Release(attempt(1)));
    assert_eq!(w.reserve(Call::Elsewhere), said(Reserved(attempt(2))), "a late release takes nothing");
    w.request(HOME, Release(attempt(2)));
    w.write(Call::Start, at_home(1)).unwrap();
    assert_eq!(w.reserve(Call::Claim), said(Used));
}

#[test]
fn a_fence_stops_an_attempt_for_good_or_finds_it_done() {
    let mut w = World::new();
    assert_eq!(w.request(1, Fence(attempt(1))), said(Fenced));
    let stale = Ok(said(Stale { last: 0 }));
    assert_eq!(w.write(Call::Claim, Right::Reserved(attempt(1))), stale);
    let done = w.write(Call::Claim, Right::Reserved(attempt(2)));
    assert!(matches!(done, Ok(Reply::Claimed { .. })));
    assert_eq!(w.request(1, Fence(attempt(2))), said(Used));
    assert_eq!(w.write(Call::Claim, Right::Reserved(attempt(1))), done, "a replay asks for no right");
    assert_eq!(w.write(Call::Claim, Right::Taken), done);
    assert_eq!(w.shards.effects(), 1);
}

#[test]
fn a_late_copy_of_a_refused_write_changes_nothing() {
    let mut w = World::new();
    let early = |w: &mut World| w.write(Call::Early, Right::Reserved(attempt(1)));
    assert_eq!(refused(early(&mut w)).1, ["not_ready"]);
    assert_eq!(refused(w.write(Call::EarlyHome, at_home(1))).1, ["not_ready"]);
    let machine = Machine::default();
    w.shards.work_is_done(&machine);
    assert_eq!(early(&mut w), Ok(said(Stale { last: 0 })));
    assert_eq!(w.write(Call::EarlyHome, at_home(1)), Ok(said(Stale { last: 1 })));
    assert_eq!(w.shards.effects(), 0);
    // A call that knows of the refusal is judged afresh.
    assert!(matches!(w.write(Call::EarlyHome, at_home(2)), Ok(Reply::Claimed { .. })));
}

#[test]
fn a_refused_submission_leaves_its_issues_once() {
    let mut w = World::new();
    let revision = |w: &World| {
        let get = quorate_statemachine::shard::read::run_place(w.shards.stores[1].as_ref(), "o", run(1, 2));
        get.unwrap().unwrap().revision
    };
    let before = revision(&w);
    let (code, issues) = refused(w.write(Call::Unaccepted, Right::Reserved(attempt(1))));
    assert_eq!((code, issues.len()), (Code::NotAccepted, 1));
    assert_eq!(revision(&w), before + 1);
    assert_eq!(w.write(Call::Unaccepted, Right::Reserved(attempt(1))), Ok(said(Stale { last: 0 })));
    assert_eq!(revision(&w), before + 1);
}

/// ERR-ORDER: an unknown run and an ended one come before a reused id, and whoever has no id may do nothing.
#[test]
fn a_taken_id_is_refused_in_its_place() {
    let mut w = World::new();
    for call in [Call::Claim, Call::Cancel, Call::Elsewhere, Call::Start, Call::EarlyHome, Call::NoStep] {
        assert_eq!(refused(w.write(call, Right::Taken)).1, ["request_id_reused"], "{call:?}");
    }
    assert_eq!(refused(w.write(Call::NoRun, Right::Taken)).0, Code::NotFound);
    w.make(Call::Cancel).unwrap();
    assert_eq!(refused(w.make(Call::Claim)).1, ["run_ended"]);
    assert_eq!(refused(w.make(Call::Elsewhere)).1, ["request_id_reused"]);
    assert_eq!(w.shards.effects(), 1);
}

#[test]
fn a_refused_call_leaves_the_id_free_and_two_rows() {
    let mut w = World::new();
    let is_request = |k: &Key| matches!(k, Key::Request { id, .. } if id == ID);
    for (call, code) in [
        (Call::NoStep, Code::NotFound),
        (Call::NoRun, Code::NotFound),
        (Call::NoProcess, Code::NotFound),
        (Call::Unaccepted, Code::NotAccepted),
        (Call::Early, Code::Conflict),
    ] {
        for _ in 0..3 {
            assert_eq!(refused(w.make(call)).0, code, "{call:?}");
        }
        let store = |shard: u16| &w.shards.stores[usize::from(shard)];
        assert_eq!(rows(store(HOME), is_request), 0, "{call:?}");
        let fence = |k: &Key| matches!(k, Key::Fence { .. } | Key::FenceAge { .. });
        assert_eq!(rows(store(call.target()), fence), 2, "{call:?}");
    }
    w.make(Call::Elsewhere).unwrap();
}

#[test]
fn fences_do_not_pile_up() {
    let mut w = World::new();
    let max = FENCES_PER_HOME_MAX;
    let fence = |w: &mut World, number: u64| {
        let (org, request) = ("o".to_owned(), format!("id {number}"));
        let command = ShardCommand::Request { org, request, command: Fence(attempt(number)) };
        assert_eq!(w.apply(1, &command), Ok(said(Fenced)));
    };
    for number in 2..max + 2 {
        fence(&mut w, number);
    }
    let count = |w: &World| {
        let count = |which: fn(&Key) -> bool| rows(&w.shards.stores[1], which) as u64;
        (count(|k| matches!(k, Key::Fence { .. })), count(|k| matches!(k, Key::FenceAge { .. })))
    };
    assert_eq!(count(&w), (max, max));
    let claim = |w: &mut World, id: &str, number: u64| {
        let mut write = write(&agent("a1"), Call::Claim.write().action);
        id.clone_into(&mut write.request);
        w.apply(1, &with(Right::Reserved(attempt(number)), &write))
    };
    let stale = Ok(said(Stale { last: 0 }));
    assert_eq!(claim(&mut w, "id 2", 2), stale);
    // The oldest goes; it is stale all the same, and so is what is older.
    fence(&mut w, max + 2);
    assert_eq!(count(&w), (max, max));
    assert_eq!(claim(&mut w, "id 2", 2), stale);
    assert_eq!(claim(&mut w, "never seen", 1), stale);
    // One that would be the oldest is not kept at all.
    fence(&mut w, 1);
    assert_eq!(count(&w), (max, max));
    assert!(matches!(claim(&mut w, "never seen", max + 3), Ok(Reply::Claimed { .. })));
    // Fences against another home are its own.
    let other = Attempt { home: 2, number: 1 };
    assert_eq!(w.request(1, Fence(other)), said(Fenced));
    assert_eq!(count(&w), (max + 1, max + 1));
}

#[test]
fn a_node_that_knows_no_numbers_is_told_the_last() {
    let mut w = World::new();
    refused(w.make(Call::NoProcess));
    let mut call = Call::Start.begin(1);
    assert_eq!(call.last(), 0);
    while let quorate_statemachine::coordinate::Next::Propose(shard, command) = call.next() {
        call.told(w.shards.apply(&w.machine, shard, &command));
    }
    assert_eq!(call.last(), 1);
    let view = quorate_statemachine::shard::read::get_run(
        w.shards.stores[usize::from(HOME)].as_ref(),
        &w.machine.definitions,
        "o",
        run(HOME, 101),
        agentprocess::time::Timestamp(1_800_000_000_000),
    );
    assert_eq!(text(at(&view.unwrap().unwrap(), "run"), "state"), "active");
}
