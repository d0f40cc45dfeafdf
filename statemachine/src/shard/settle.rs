//! What happens by itself: held events that a wait can take, and timers that are due (§3.6, design §5).

use agentprocess::json::Object;
use agentprocess::{StepIndex, StepKind};

use super::advance::{after_event, complete, go, position, waiting_for};
use super::change::{Change, SERVER};
use super::event::{Delivery, Event, Record};
use super::head::{Assigned, Pointer};
use super::timer::{TimerKind, first_due};
use crate::store::Fatal;

/// Does what is due now and what held events allow, until nothing more can happen. Returns how many timers fired.
///
/// A held event wins over a timeout (TIMEOUT-RACE); timers fire in order of their instants with `at` = now (TIMER-LATE).
pub fn settle(change: &mut Change) -> Result<usize, Fatal> {
    let mut fired = 0;
    while change.head.ended.is_none() {
        if let Some((step, held)) = next_delivery(change) {
            deliver_held(change, step, held)?;
        } else if let Some(timer) = first_due(&change.head, change.at) {
            fire(change, timer.position as usize, timer.kind)?;
            fired += 1;
        } else {
            break;
        }
    }
    Ok(fired)
}

fn next_delivery(change: &Change) -> Option<(StepIndex, Pointer)> {
    change.head.held.iter().find_map(|held| Some((waiting_for(change, &held.name)?, held.at)))
}

fn deliver_held(change: &mut Change, step: StepIndex, held: Pointer) -> Result<(), Fatal> {
    let by = change
        .journal
        .find(held, |event, _| if let Event::EventHeld { by, .. } = event { Some(by.clone()) } else { None })?;
    let next = after_event(change, step)?;
    complete(change, step, &by, Record::Delivered(Delivery::Held(held)))?;
    go(change, step, next)
}

fn fire(change: &mut Change, step: StepIndex, kind: TimerKind) -> Result<(), Fatal> {
    match kind {
        TimerKind::Lease => change.emit(Event::LeaseEnded { step: position(step)? }),
        TimerKind::Wait => {
            let target = match &change.process().steps[step].kind {
                StepKind::Wait { next, .. } | StepKind::WaitUntil { next, .. } => *next,
                StepKind::WaitFor { on_timeout, .. } => *on_timeout,
                StepKind::Agent(_)
                | StepKind::Task { .. }
                | StepKind::Approve { .. }
                | StepKind::Finish { .. }
                | StepKind::Parallel { .. } => {
                    return Err(Fatal(format!("run {}: step {step} does not wait", change.head.run)));
                }
            };
            complete(change, step, SERVER, Record::Waited)?;
            go(change, step, target)
        }
        TimerKind::Due => {
            tell_overdue(change, step);
            change.emit(Event::Overdue { step: position(step)? })
        }
    }
}

/// Tells the assignee and the operators (DUE-NOTIFY).
fn tell_overdue(change: &mut Change, step: StepIndex) {
    let state = &change.head.steps[step];
    let (mut groups, mut people) = (Vec::new(), Vec::new());
    match state.item.as_ref().map(|item| &item.assigned) {
        Some(Assigned::Group(group)) => groups.push(group.clone()),
        Some(Assigned::Person(person)) => people.push(person.clone()),
        None => {}
    }
    if !groups.contains(&change.version.operators) {
        groups.push(change.version.operators.clone());
    }
    let mut details = Object::new();
    details.set("due", state.due.map(|due| due.to_string()));
    change.notify("step_overdue", step, (groups, people), details);
}
