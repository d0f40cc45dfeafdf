//! Moving on (§3.2): a completion leads along its edge to the next step, a fork or a join.

use agentprocess::json::Value;
use agentprocess::time::{Span, Timestamp};
use agentprocess::{Assignee, StepIndex, StepKind, Target};

use super::change::{Change, SERVER};
use super::data;
use super::event::{Event, Record};
use super::head::{Assigned, StepState};
use crate::store::Fatal;

/// A step's position as rows have it.
pub fn position(step: StepIndex) -> Result<u32, Fatal> {
    u32::try_from(step).map_err(|_| Fatal(format!("step {step} is beyond any process")))
}

/// Completes a step with its record.
pub fn complete(change: &mut Change, step: StepIndex, by: &str, record: Record) -> Result<(), Fatal> {
    let fields = data::record(&record, by, change.at, &change.journal)?;
    let bytes = data::value_bytes(&fields.into());
    change.emit(Event::Completed { step: position(step)?, by: by.to_owned(), record, bytes })
}

/// Goes along an edge from `from`.
pub fn go(change: &mut Change, from: StepIndex, target: Target) -> Result<(), Fatal> {
    match target {
        Target::Step(step) => reach(change, step),
        Target::Join => join(change, from),
    }
}

/// Makes a step ready in a new attempt. A person path or a `wait_until` that leads to nothing fails it (PATH-ABSENT).
pub fn reach(change: &mut Change, step: StepIndex) -> Result<(), Fatal> {
    let definition = std::sync::Arc::clone(&change.definition);
    let Some(found) = definition.process.steps.get(step) else {
        return Err(Fatal(format!("run {}: an edge leads to no step", change.head.run)));
    };
    match &found.kind {
        StepKind::Agent(work) => reached(change, step, true, work.due, None),
        StepKind::Task { person, work } => reach_person(change, step, person, work.due),
        StepKind::Approve { person, due, .. } => reach_person(change, step, person, *due),
        StepKind::Wait { span, .. } => {
            let fires = change.at.plus(*span);
            reached(change, step, false, None, Some(fires))
        }
        StepKind::WaitUntil { at, .. } => {
            let value = data::at_path(&change.head, &change.journal, at)?;
            match value.as_ref().and_then(Value::as_str).and_then(Timestamp::parse) {
                Some(fires) => reached(change, step, false, None, Some(fires)),
                None => fail(change, step, "The datetime that this step waits until is missing or not a datetime."),
            }
        }
        StepKind::WaitFor { timeout, .. } => {
            let fires = timeout.map(|span| change.at.plus(span));
            reached(change, step, false, None, fires)
        }
        StepKind::Finish { outcome } => {
            change.emit(Event::Passed { step: position(step)? })?;
            end(change, Some(outcome.clone()), SERVER, None)
        }
        StepKind::Parallel { branches, .. } => fork(change, step, branches),
    }
}

/// Ends the run `failed` at a step (§3.5).
pub fn fail_step(change: &mut Change, step: StepIndex, by: &str, note: &str) -> Result<(), Fatal> {
    complete(change, step, by, Record::Failed { note: note.to_owned() })?;
    end(change, Some("failed".to_owned()), by, Some(note.to_owned()))
}

/// Ends the run.
pub fn end(change: &mut Change, outcome: Option<String>, by: &str, note: Option<String>) -> Result<(), Fatal> {
    change.emit(Event::Ended { outcome, by: by.to_owned(), note })
}

/// The waiting `wait_for` that an event of this name goes to: ready longest, ties by list order (EVENT-MATCH).
pub fn waiting_for(change: &Change, name: &str) -> Option<StepIndex> {
    let steps = change.process().steps.iter().zip(&change.head.steps).enumerate();
    let waiting = steps.filter(|(_, (step, state))| {
        let named = matches!(&step.kind, StepKind::WaitFor { event, .. } if event == name);
        named && state.state == Some(StepState::Waiting)
    });
    waiting.min_by_key(|(index, (_, state))| (state.ready_since, *index)).map(|(index, _)| index)
}

/// Where a `wait_for` goes on after an event.
pub fn after_event(change: &Change, step: StepIndex) -> Result<Target, Fatal> {
    match &change.process().steps[step].kind {
        StepKind::WaitFor { next, .. } => Ok(*next),
        StepKind::Agent(_)
        | StepKind::Task { .. }
        | StepKind::Approve { .. }
        | StepKind::Wait { .. }
        | StepKind::WaitUntil { .. }
        | StepKind::Finish { .. }
        | StepKind::Parallel { .. } => Err(Fatal(format!("run {}: step {step} takes no event", change.head.run))),
    }
}

fn reached(
    change: &mut Change,
    step: StepIndex,
    claimable: bool,
    due: Option<Span>,
    fires: Option<Timestamp>,
) -> Result<(), Fatal> {
    let due = due.map(|span| change.at.plus(span));
    change.emit(Event::Reached { step: position(step)?, claimable, due, fires })
}

fn reach_person(change: &mut Change, step: StepIndex, person: &Assignee, due: Option<Span>) -> Result<(), Fatal> {
    match assignee(change, person)? {
        Some(assigned) => {
            reached(change, step, false, due, None)?;
            change.emit(Event::ItemOpened { step: position(step)?, assigned })
        }
        None => fail(change, step, "The person this step is assigned to is missing in the run's data."),
    }
}

/// Who a person step is for now, if anyone.
fn assignee(change: &Change, person: &Assignee) -> Result<Option<Assigned>, Fatal> {
    match person {
        Assignee::Role(role) => match change.version.roles.get(role) {
            Some(group) => Ok(Some(Assigned::Group(group.clone()))),
            // No version is installed without a group for each role (ROLE-UNMAPPED).
            None => Err(Fatal(format!("run {}: role {role} has no group", change.head.run))),
        },
        Assignee::Initiator => Ok(change.head.initiator.clone().map(Assigned::Person)),
        Assignee::Path(path) => {
            let value = data::at_path(&change.head, &change.journal, path)?;
            Ok(value.as_ref().and_then(Value::as_str).map(|person| Assigned::Person(person.to_owned())))
        }
    }
}

fn fail(change: &mut Change, step: StepIndex, note: &str) -> Result<(), Fatal> {
    fail_step(change, step, SERVER, note)
}

fn fork(change: &mut Change, step: StepIndex, branches: &[StepIndex]) -> Result<(), Fatal> {
    reached(change, step, false, None, None)?;
    for entry in branches {
        // An entry that leads to nothing ends the run; the rest is then never reached.
        if change.head.ended.is_none() {
            reach(change, *entry)?;
        }
    }
    Ok(())
}

fn join(change: &mut Change, from: StepIndex) -> Result<(), Fatal> {
    let definition = std::sync::Arc::clone(&change.definition);
    let steps = &definition.process.steps;
    let lost = || Fatal(format!("run {}: a join outside a branch", change.head.run));
    let branch = steps.get(from).and_then(|s| s.branch).ok_or_else(lost)?;
    let StepKind::Parallel { branches, next } = &steps.get(branch.parallel).ok_or_else(lost)?.kind else {
        return Err(lost());
    };
    let parallel = position(branch.parallel)?;
    change.emit(Event::Joined { parallel, entry: position(branch.entry)? })?;
    if change.head.steps[branch.parallel].joined.len() < branches.len() {
        return Ok(());
    }
    change.emit(Event::Passed { step: parallel })?;
    reach(change, *next)
}
