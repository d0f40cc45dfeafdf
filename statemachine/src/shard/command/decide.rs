//! `decide` (§3.4), with its refusals in the order of DECIDE-ORDER.

use std::sync::Arc;

use agentprocess::{StepIndex, StepKind};
use quorate_proto::shard::{Decide, Decision};
use quorate_proto::{Code, Refusal, Reply, WorkItemId};

use super::Call;
use crate::shard::advance::{self, complete, end, fail_step, go, position};
use crate::shard::change::{Change, Writes};
use crate::shard::event::{Event, Record};
use crate::shard::head::ItemHead;
use crate::shard::refuse::{self, Stop};
use crate::shard::settle::settle;
use crate::shard::standing::may_decide;
use crate::shard::{accept, data, item, rework};
use crate::store::Fatal;

/// Carries out a person's decision on an open work item.
pub(super) fn execute(call: &Call, decide: &Decide) -> Result<(Writes, Reply), Stop> {
    let mut change = call.open(decide.run)?;
    let (step, item) = open_item(&change, decide)?;
    let run_data = data::run_data(&change.head, change.process(), &change.journal)?;
    if data::snapshot(&run_data) != decide.snapshot {
        let message = "The run's data changed since you read it. Read it with get_run and decide again.";
        return Err(Refusal::new(Code::Stale, message).into());
    }
    if !may_decide(call.caller(), &item.assigned) {
        let message = "Only the people this work item is assigned to decide it, never an agent.";
        return Err(refuse::forbidden(message).into());
    }
    let definition = Arc::clone(&change.definition);
    let kind = &definition.process.steps[step].kind;
    let offered = item::decisions(kind, item.escalation.is_some());
    if !offered.contains(&word(&decide.decision)) {
        return Err(refuse::invalid(vec![format!("decision: one of {}", offered.join(", "))]).into());
    }
    let by = &call.caller().id;
    match (&decide.decision, kind) {
        (Decision::Failed { note }, _) => fail_step(&mut change, step, by, note)?,
        (Decision::Completed(submission), StepKind::Agent(work) | StepKind::Task { work, .. }) => {
            // An escalated step under the same acceptance as the agent's (ESC-COMPLETE).
            let bytes_max = call.limits().run_data_bytes_max;
            accept::complete_work(&mut change, step, work, (by, true), submission, bytes_max)?;
        }
        (Decision::Returned { note }, StepKind::Agent(_)) => {
            change.emit(Event::Returned { step: position(step)?, by: by.clone(), note: note.clone() })?;
        }
        (Decision::Approved { note }, StepKind::Approve { next, .. }) => {
            let note = note.clone().filter(|n| !n.trim().is_empty());
            complete(&mut change, step, by, Record::Approved { note })?;
            go(&mut change, step, *next)?;
        }
        (Decision::Rejected { note }, StepKind::Approve { on_reject, .. }) => {
            rejected(&mut change, step, *on_reject, by, note)?;
        }
        (
            Decision::Completed(_) | Decision::Approved { .. } | Decision::Rejected { .. } | Decision::Returned { .. },
            StepKind::Agent(_)
            | StepKind::Task { .. }
            | StepKind::Approve { .. }
            | StepKind::Wait { .. }
            | StepKind::WaitUntil { .. }
            | StepKind::WaitFor { .. }
            | StepKind::Finish { .. }
            | StepKind::Parallel { .. },
        ) => return Err(Fatal("a work item offers a decision its step does not take".to_owned()).into()),
    }
    settle(&mut change)?;
    let reply = Reply::Run(change.seen());
    call.finish(change, reply)
}

/// The open item: decided already, or never there (ITEM-ID).
fn open_item(change: &Change, decide: &Decide) -> Result<(StepIndex, ItemHead), Refusal> {
    let id = decide.work_item.parse::<WorkItemId>().ok().filter(|id| id.run == change.head.run);
    let known = id.filter(|id| (1..=change.head.items).contains(&id.number));
    let Some(id) = known else {
        let message = "No such work item on this run. See get_run for its open work items.";
        return Err(Refusal::new(Code::NotFound, message));
    };
    match change.head.open_item(id.number) {
        Some((step, item)) => Ok((step, item.clone())),
        None => Err(refuse::conflict("already_decided", "This work item is decided. Read the run with get_run.")),
    }
}

/// A rejection goes back, or ends the run (§3.4).
fn rejected(
    change: &mut Change,
    step: StepIndex,
    on_reject: Option<StepIndex>,
    by: &str,
    note: &str,
) -> Result<(), Fatal> {
    // A rejection into a finish ends the run: nothing comes back to this approval (END-STATES).
    let finishes = |target: StepIndex| matches!(change.process().steps[target].kind, StepKind::Finish { .. });
    let kept = on_reject.is_some_and(|target| !finishes(target));
    advance::complete(change, step, by, Record::Rejected { note: note.to_owned(), kept })?;
    match on_reject {
        Some(target) => rework::send_back(change, step, target),
        None => end(change, Some("rejected".to_owned()), by, Some(note.to_owned())),
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Completed(_) => "completed",
        Decision::Approved { .. } => "approved",
        Decision::Rejected { .. } => "rejected",
        Decision::Returned { .. } => "returned",
        Decision::Failed { .. } => "failed",
    }
}
