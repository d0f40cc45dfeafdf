//! `claim` (§3.3), with its refusals in the order of CLAIM-ERRORS.

use agentprocess::StepKind;
use quorate_proto::{CallerKind, Claim, Code, Refusal, Reply, RunId};

use super::Call;
use crate::shard::advance::position;
use crate::shard::change::{Change, Writes};
use crate::shard::event::Event;
use crate::shard::head::StepState;
use crate::shard::refuse::{self, Stop};
use crate::store::Fatal;

/// Takes a ready agent step for the caller, for one lease.
pub(super) fn execute(call: &Call, run: RunId, step: &str, key: u32) -> Result<(Writes, Reply), Stop> {
    let mut change = call.open(run)?;
    let caller = call.caller();
    if caller.kind != CallerKind::Agent {
        return Err(refuse::forbidden("Only an agent claims a step. People act on work items with decide.").into());
    }
    if caller.processes.as_ref().is_some_and(|allowed| !allowed.contains(&change.head.process)) {
        return Err(refuse::forbidden("This agent may not work on this process.").into());
    }
    let Some(index) = change.process().step_index(step) else {
        let message = "No such step in this run. See get_run for its steps.";
        return Err(Refusal::new(Code::NotFound, message).into());
    };
    if !matches!(change.process().steps[index].kind, StepKind::Agent(_)) {
        return Err(refuse::forbidden("This is not an agent step. See get_work for steps to claim.").into());
    }
    let state = &change.head.steps[index];
    if let Some(claim) = &state.claim {
        return Err(if claim.holder == caller.id {
            let message = "You hold this step already. Use its token, or repeat the claim's requestId to get it again.";
            refuse::conflict("claimed_by_you", message)
        } else {
            refuse::conflict("claimed_by_other", "Another caller holds this step. Find other work with get_work.")
        }
        .into());
    }
    if state.state != Some(StepState::Ready) {
        return Err(refuse::conflict("not_ready", "This step is not ready. Find ready steps with get_work.").into());
    }
    let expires = call.at.plus(call.limits().lease);
    change.emit(Event::Claimed { step: position(index)?, holder: caller.id.clone(), expires })?;
    let claim = held(&change, index, key)?;
    let reply = Reply::Claimed { seen: change.seen(), claim };
    call.finish(change, reply)
}

/// The live claim of a step, for its token.
pub(super) fn held(change: &Change, step: usize, key: u32) -> Result<Claim, Fatal> {
    let run = change.head.run;
    let claim = change.head.steps[step].claim.as_ref();
    let claim = claim.ok_or_else(|| Fatal(format!("run {run}: a claim was not recorded")))?;
    let (number, holder, expires) = (claim.number, claim.holder.clone(), claim.expires);
    Ok(Claim { run, step: position(step)?, number, holder, key, expires })
}
