//! A rejection sends the run back (§3.1, profile-parallel §3).

use agentprocess::{StepIndex, StepKind};

use super::advance::{position, reach};
use super::change::Change;
use super::event::Event;
use super::head::StepState;
use crate::store::Fatal;

/// Moves what completed after `target` to history and makes `target` ready. `approval` has just recorded its rejection.
pub fn send_back(change: &mut Change, approval: StepIndex, target: StepIndex) -> Result<(), Fatal> {
    let steps = rewound(change, approval, target)?;
    if !steps.is_empty() {
        change.emit(Event::Rewound { steps })?;
    }
    reach(change, target)
}

/// The steps to rewind, in file order: the target itself (REWORK-TARGET) and whatever is later in time (REWORK-AFTER).
///
/// A rejection that is still current is an unanswered note and stays (REWORK-KEPT). Inside a branch only that branch
/// moves (PAR-BRANCH-REJECT). A parallel step has no record: it counts from its fork, so that going back to it, or
/// before it, takes the whole region (PAR-AFTER).
fn rewound(change: &Change, approval: StepIndex, target: StepIndex) -> Result<Vec<u32>, Fatal> {
    let Some(from) = reached_at(change, target) else { return Ok(Vec::new()) };
    let branch = change.process().steps[approval].branch;
    let steps = change.process().steps.iter().enumerate();
    let in_scope = steps.filter(|(step, s)| *step != approval && (branch.is_none() || s.branch == branch));
    let later = in_scope.filter(|(step, _)| reached_at(change, *step).is_some_and(|order| order >= from));
    later.map(|(step, _)| position(step)).collect()
}

/// Where a done step stands in the order of time; `None` if it has nothing current to go back to.
fn reached_at(change: &Change, step: StepIndex) -> Option<u64> {
    let state = &change.head.steps[step];
    match &change.process().steps[step].kind {
        // The fork comes after the completion that led to it and before the first in a branch.
        StepKind::Parallel { .. } => (state.state == Some(StepState::Done)).then_some(2 * state.forked_after + 1),
        StepKind::Agent(_)
        | StepKind::Task { .. }
        | StepKind::Approve { .. }
        | StepKind::Wait { .. }
        | StepKind::WaitUntil { .. }
        | StepKind::WaitFor { .. }
        | StepKind::Finish { .. } => state.current.filter(|c| !c.kept).map(|c| 2 * c.order),
    }
}
