//! What must hold of a request id, at any moment and in the end.

use quorate_proto::{Code, Outcome, Reply};
use quorate_statemachine::Machine;

use crate::broken::{self, Rule};
use crate::calls::Call;
use crate::explore::State;

/// At every moment: one effect at most, its record beside it, and none of a call that was told it is refused.
pub fn always(state: &State) -> Result<(), String> {
    let (effects, recorded) = (state.shards.effects(), state.shards.recorded());
    if effects > 1 || recorded.len() != effects {
        return Err(format!("{effects} effects and {} records", recorded.len()));
    }
    match state.refused.iter().find(|call| winner_is(state, **call)) {
        Some(call) => Err(format!("{call:?} took effect after it was refused")),
        None => Ok(()),
    }
}

/// When a call is answered: with the recorded result, or with a refusal that is true. `alone` is whether nobody else
/// makes the same call.
pub fn told(state: &State, call: Call, outcome: &Outcome, alone: bool) -> Result<(), String> {
    let recorded = state.shards.recorded();
    let mine = winner_is(state, call);
    match outcome {
        Ok(reply) if mine && recorded[0].1 == *reply => Ok(()),
        Ok(Reply::Request(_)) => Err(format!("{call:?} was answered with what is not for callers: {outcome:?}")),
        Ok(_) => Err(format!("{call:?} was answered {outcome:?}, but recorded is {recorded:?}")),
        Err(refusal) if reused(outcome) && (mine || recorded.is_empty()) => {
            Err(format!("{call:?} was told that the id is used, and it is not: {refusal:?}"))
        }
        Err(_) if mine && alone => Err(format!("{call:?} took effect and was refused: {outcome:?}")),
        Err(_) => Ok(()),
    }
}

/// In the end: each call, made again with nobody in its way, is answered for good; and whoever is refused leaves the id
/// free, also for another call.
pub fn end(machine: &Machine, rule: Rule, state: &State) -> Result<(), String> {
    let mut calls: Vec<Call> = state.actors.iter().map(|actor| actor.call).collect();
    calls.push(Call::Probe);
    for call in calls {
        let mut after = state.clone();
        // A new try is judged afresh.
        after.refused.retain(|refused| *refused != call);
        let outcome = broken::finish(rule, &mut after.shards, machine, call.begin(99));
        told(&after, call, &outcome, true)?;
        always(&after)?;
        let was_used = !state.shards.recorded().is_empty();
        let right = match &outcome {
            Ok(_) => winner_is(state, call) || !was_used,
            Err(refusal) if refusal.code == Code::Retry => false,
            // Only a probe is sure to be accepted, and to be refused for the id alone.
            Err(_) => call != Call::Probe || (was_used && reused(&outcome)),
        };
        if !right {
            return Err(format!("{call:?}, made again in the end: {outcome:?}"));
        }
        if is_refused(&outcome) {
            after.refused.push(call);
        }
        for (shard, command) in std::mem::take(&mut after.late) {
            drop(broken::apply(rule, &mut after.shards, machine, shard, &command));
            always(&after)?;
        }
        if outcome.is_ok() && broken::finish(rule, &mut after.shards, machine, call.begin(98)) != outcome {
            return Err(format!("{call:?}, made once more, is answered otherwise"));
        }
    }
    Ok(())
}

/// Whether a call is the one that took effect.
pub fn winner_is(state: &State, call: Call) -> bool {
    let fingerprint = call.fingerprint();
    state.shards.recorded().iter().any(|(of, _)| *of == fingerprint)
}

/// Whether it is a refusal for good; `retry` says that nothing is known.
pub fn is_refused(outcome: &Outcome) -> bool {
    outcome.as_ref().is_err_and(|refusal| refusal.code != Code::Retry)
}

fn reused(outcome: &Outcome) -> bool {
    outcome.as_ref().is_err_and(|refusal| refusal.issues == ["request_id_reused"])
}
