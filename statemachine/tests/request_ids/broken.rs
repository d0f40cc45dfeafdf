//! Shards in which one rule is broken, to show that the exploration would find it.

use std::rc::Rc;

use quorate_proto::shard::ShardCommand;
use quorate_proto::{Outcome, Reply, RequestCommand, RequestReply, Right};
use quorate_statemachine::coordinate::Next;
use quorate_statemachine::shard::keys::Key;
use quorate_statemachine::shard::read::{self, RequestRow};
use quorate_statemachine::store::{Memory, Store};
use quorate_statemachine::{Coordinator, Machine};

use crate::shards::{HOME, ID, Shards};

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// None.
    Kept,
    /// The target says that an attempt is fenced, and does not fence it.
    NoFence,
    /// A refused attempt is not fenced.
    NoFenceOnRefusal,
    /// A write that was refused at home is not fenced.
    NoFenceOnRefusalAtHome,
    /// A release takes the id from whoever has it.
    ReleaseOfAny,
    /// A write at home does not mind that another call has the id.
    ReservationIgnored,
    /// The home gives a number again.
    NumbersAgain,
}

/// Applies a command, but for the rule.
pub fn apply(rule: Rule, shards: &mut Shards, machine: &Machine, shard: u16, command: &ShardCommand) -> Outcome {
    let store = &shards.stores[usize::from(shard)];
    let row = || read::request(store.as_ref(), "o", ID).unwrap();
    match (rule, command) {
        (Rule::NoFence, ShardCommand::Request { command: RequestCommand::Fence(_), .. }) => match row() {
            Some(RequestRow::Recorded { .. }) => shards.apply(machine, shard, command),
            _ => Ok(Reply::Request(RequestReply::Fenced)),
        },
        (Rule::NoFenceOnRefusal, ShardCommand::Write { right: Right::Reserved(_), .. })
        | (Rule::NoFenceOnRefusalAtHome, ShardCommand::Write { right: Right::Home(_), .. }) => {
            let before = store.clone();
            let outcome = shards.apply(machine, shard, command);
            if outcome.is_err() {
                without_new_fences(Rc::make_mut(&mut shards.stores[usize::from(shard)]), &before);
                shards.look(shard);
            }
            outcome
        }
        (Rule::ReleaseOfAny, ShardCommand::Request { org, request, command: RequestCommand::Release(attempt) }) => {
            let attempt = match row() {
                Some(RequestRow::Reserved { reservation, .. }) => reservation.attempt,
                _ => *attempt,
            };
            let (org, request, command) = (org.clone(), request.clone(), RequestCommand::Release(attempt));
            shards.apply(machine, shard, &ShardCommand::Request { org, request, command })
        }
        (Rule::ReservationIgnored, ShardCommand::Write { right: Right::Home(_), .. }) => {
            if matches!(row(), Some(RequestRow::Reserved { .. })) {
                let key = Key::Request { org: "o".to_owned(), id: ID.to_owned() };
                Rc::make_mut(&mut shards.stores[usize::from(shard)]).delete(key.encode());
            }
            shards.apply(machine, shard, command)
        }
        (Rule::NumbersAgain, ShardCommand::Request { command: RequestCommand::Reserve { .. }, .. }) => {
            let outcome = shards.apply(machine, shard, command);
            Rc::make_mut(&mut shards.stores[usize::from(HOME)]).delete(Key::AttemptLast.encode());
            shards.look(HOME);
            outcome
        }
        _ => shards.apply(machine, shard, command),
    }
}

/// Leads a call to its end, with nothing in between.
pub fn finish(rule: Rule, shards: &mut Shards, machine: &Machine, mut call: Coordinator) -> Outcome {
    loop {
        match call.next() {
            Next::Propose(shard, command) => call.told(apply(rule, shards, machine, shard, &command)),
            Next::Done(outcome) => return outcome,
        }
    }
}

/// Puts the fences back as they were.
fn without_new_fences(store: &mut Memory, before: &Memory) {
    let is_fence = |key: &[u8]| {
        matches!(
            Key::decode(key),
            Some(Key::Fence { .. } | Key::FenceAge { .. } | Key::Fences { .. } | Key::AttemptLast)
        )
    };
    let new: Vec<_> = store.rows().filter(|(k, _)| is_fence(k)).map(|(k, _)| k.to_vec()).collect();
    for key in new {
        store.delete(key);
    }
    for (key, value) in before.rows().filter(|(k, _)| is_fence(k)) {
        store.put(key.to_vec(), value.to_vec());
    }
}
