//! Every interleaving of a few callers on one request id, with faults at any point, state by state.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use quorate_proto::shard::ShardCommand;
use quorate_proto::{Reply, RequestReply};
use quorate_statemachine::coordinate::Next;
use quorate_statemachine::{Coordinator, Machine};

use crate::broken::{self, Rule};
use crate::calls::{CALLS, Call};
use crate::invariants;
use crate::shards::Shards;

/// Someone who makes a call, and makes it again when it went unanswered.
#[derive(Clone)]
pub struct Actor {
    pub call: Call,
    tries: u8,
    live: Option<Coordinator>,
}

/// Everything at one moment.
#[derive(Clone)]
pub struct State {
    pub shards: Shards,
    pub actors: Vec<Actor>,
    /// Proposals whose outcome nobody knows: each may be applied at any time, or never.
    pub late: Vec<(u16, ShardCommand)>,
    /// Calls that were refused while no other try of them was on its way: none may take effect any more.
    pub refused: Vec<Call>,
    /// How many more faults there are.
    faults: u8,
    /// How often callers may still come into each other's way.
    clashes: u8,
    /// Whether another agent is yet to do the work that [`Call::waits`] for.
    work_left: bool,
}

/// How often callers come into each other's way in one meeting: two that differ could go on with it until both are told
/// to try again later. What comes after the last time is not explored, but that all is well if everybody stops there.
const CLASHES_MAX: u8 = 3;

/// What was explored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explored {
    /// Different ways from the beginning to an end.
    pub ways: u64,
    /// Different states.
    pub states: u64,
}

/// Explores what callers may do to each other, with at most `faults` faults.
///
/// A fault is a proposal that is not answered (its caller is gone, two copies of it are on their way), or one that is
/// answered while another copy is on its way. Copies arrive at any later point, or never.
pub fn explore(calls: &[Call], faults: u8, rule: Rule) -> Result<Explored, String> {
    let machine = Machine::default();
    let actor = |(number, call): (u8, &Call)| Actor { call: *call, tries: 1, live: Some(call.begin(10 * number)) };
    let start = State {
        shards: Shards::new(&machine),
        actors: (1..).zip(calls).map(actor).collect(),
        late: Vec::new(),
        refused: Vec::new(),
        faults,
        clashes: CLASHES_MAX,
        work_left: calls.iter().any(|call| call.waits()),
    };
    let mut explorer = Explorer { machine, rule, seen: BTreeMap::new() };
    let ways = explorer.ways(&start).map_err(|e| format!("{calls:?}: {e}"))?;
    Ok(Explored { ways, states: explorer.seen.len() as u64 })
}

struct Explorer {
    machine: Machine,
    rule: Rule,
    /// In how many ways each state comes to an end.
    seen: BTreeMap<u64, u64>,
}

impl Explorer {
    fn ways(&mut self, state: &State) -> Result<u64, String> {
        let name = name(state);
        if let Some(ways) = self.seen.get(&name) {
            return Ok(*ways);
        }
        let (mut ways, stops) = (0u64, state.clashes == 0);
        if !stops {
            for next in self.nexts(state)? {
                ways = ways.saturating_add(self.ways(&next)?);
            }
        }
        if stops || (!state.work_left && state.actors.iter().all(|actor| actor.live.is_none())) {
            invariants::end(&self.machine, self.rule, state)?;
            ways = ways.saturating_add(1);
        }
        self.seen.insert(name, ways);
        Ok(ways)
    }

    /// Every state that may come after this one.
    fn nexts(&self, state: &State) -> Result<Vec<State>, String> {
        let mut nexts = Vec::new();
        for at in 0..state.late.len() {
            let mut next = state.clone();
            let (shard, command) = next.late.remove(at);
            // Nobody hears what came of it.
            drop(broken::apply(self.rule, &mut next.shards, &self.machine, shard, &command));
            nexts.push(next);
        }
        if state.work_left {
            let mut next = state.clone();
            next.shards.work_is_done(&self.machine);
            next.work_left = false;
            nexts.push(next);
        }
        for at in 0..state.actors.len() {
            let Some(live) = &state.actors[at].live else { continue };
            let Next::Propose(shard, command) = live.next() else { panic!("a call that is over stays") };
            let mut answered = state.clone();
            let outcome = broken::apply(self.rule, &mut answered.shards, &self.machine, shard, &command);
            if matches!(outcome, Ok(Reply::Request(RequestReply::Held(_) | RequestReply::Stale { .. }))) {
                answered.clashes -= 1;
            }
            let mut live = live.clone();
            live.told(outcome);
            goes_on(&mut answered, at, live)?;
            if state.faults > 0 {
                let mut doubled = answered.clone();
                doubled.faults -= 1;
                doubled.late.push((shard, command.clone()));
                nexts.push(doubled);
                let mut lost = state.clone();
                lost.faults -= 1;
                lost.late.extend([(shard, command.clone()), (shard, command)]);
                is_lost(&mut lost, at)?;
                nexts.push(lost);
            }
            nexts.push(answered);
        }
        for next in &nexts {
            invariants::always(next)?;
        }
        Ok(nexts)
    }
}

/// An actor's call went on; it may be over.
fn goes_on(state: &mut State, at: usize, live: Coordinator) -> Result<(), String> {
    match live.next() {
        Next::Propose(..) => state.actors[at].live = Some(live),
        Next::Done(outcome) => {
            state.actors[at].live = None;
            let call = state.actors[at].call;
            let twin = |(n, other): (usize, &Actor)| n != at && other.call == call;
            let alone = !state.actors.iter().enumerate().any(twin);
            let others = state.actors.iter().any(|other| other.call == call && other.live.is_some());
            invariants::told(state, call, &outcome, alone)?;
            if invariants::is_refused(&outcome) && !others && !invariants::winner_is(state, call) {
                state.refused.push(call);
            }
        }
    }
    Ok(())
}

/// An actor heard nothing. A refusal it knew of stands; else it makes the call again.
fn is_lost(state: &mut State, at: usize) -> Result<(), String> {
    let actor = &mut state.actors[at];
    let known = actor.live.take().and_then(|live| live.refusal().is_some().then_some(live));
    if let Some(mut live) = known {
        live.told(Ok(Reply::Done));
        return goes_on(state, at, live);
    }
    if actor.tries > 0 {
        actor.tries -= 1;
        actor.live = Some(actor.call.begin(10 * u8::try_from(at).unwrap() + 11));
    }
    Ok(())
}

/// Equal for equal states, and for others hardly ever.
fn name(state: &State) -> u64 {
    let State { shards, actors, late, refused, faults, clashes, work_left } = state;
    let mut late: Vec<_> = late.iter().map(quorate_proto::codec::encode).collect();
    late.sort();
    let mut hash = DefaultHasher::new();
    (&shards.digests, late, faults, clashes, work_left).hash(&mut hash);
    format!("{refused:?}").hash(&mut hash);
    for Actor { call, tries, live } in actors {
        (*call as u8, tries).hash(&mut hash);
        // A call is the same in all of its tries, but for the id of a run that it starts.
        match live.as_ref().map(Coordinator::next) {
            Some(Next::Propose(shard, command)) => (shard, quorate_proto::codec::encode(&command)).hash(&mut hash),
            Some(Next::Done(_)) | None => {}
        }
        format!("{:?}", live.as_ref().map(|live| (live.refusal(), live.last()))).hash(&mut hash);
    }
    hash.finish()
}

fn report(what: &str, explored: &[Explored]) {
    let ways = explored.iter().fold(0u64, |all, e| all.saturating_add(e.ways));
    let states: u64 = explored.iter().map(|e| e.states).sum();
    println!("{what}: {} meetings, {states} states, {ways} interleavings", explored.len());
}

/// Any two calls may meet, and anything may be lost or doubled once.
#[test]
fn two_callers_and_a_fault_at_any_point() {
    let mut explored = Vec::new();
    for (n, first) in CALLS.iter().enumerate() {
        for second in &CALLS[n..] {
            explored.push(explore(&[*first, *second], 1, Rule::Kept).unwrap());
        }
    }
    report("two callers, one fault", &explored);
}

#[test]
fn two_callers_and_two_faults() {
    use Call::{Claim, EarlyHome, NoStep, Start};
    let meetings = [[Claim, Start], [EarlyHome, NoStep]];
    let explored: Vec<_> = meetings.iter().map(|calls| explore(calls, 2, Rule::Kept).unwrap()).collect();
    report("two callers, two faults", &explored);
}

#[test]
fn three_callers_and_a_fault() {
    use Call::{Claim, Early, Elsewhere, NoStep, Start};
    let meetings = [[Claim, Claim, Elsewhere], [Claim, Elsewhere, Start], [Early, NoStep, Start]];
    let explored: Vec<_> = meetings.iter().map(|calls| explore(calls, 1, Rule::Kept).unwrap()).collect();
    report("three callers, one fault", &explored);
}

/// Each rule is needed: without it, the exploration finds what it is there for.
#[test]
fn a_broken_rule_is_found() {
    use Call::{Claim, Early, EarlyHome, Elsewhere, Start};
    let breaks = [
        (Rule::NoFence, vec![Claim, Start], 1),
        (Rule::NoFenceOnRefusal, vec![Early, Elsewhere], 1),
        (Rule::NoFenceOnRefusalAtHome, vec![EarlyHome, Elsewhere], 1),
        (Rule::ReleaseOfAny, vec![Claim, Elsewhere], 1),
        (Rule::ReservationIgnored, vec![Claim, Start], 0),
        (Rule::NumbersAgain, vec![Early, Elsewhere], 1),
    ];
    for (rule, calls, faults) in breaks {
        let found = explore(&calls, faults, rule).map(|e| format!("nothing in {} states", e.states));
        println!("{rule:?}: {}", found.clone().unwrap_or_else(|e| e));
        assert!(found.is_err(), "{rule:?}: {found:?}");
    }
}
