//! The only place where a run changes.

use std::borrow::Borrow;

use agentprocess::time::Timestamp;
use quorate_proto::RunId;

use super::data;
use super::event::{Delivery, Event, JournalRow, Record, Started};
use super::head::{ClaimHead, Completion, Ended, Head, Held, ItemHead, Pointer, StepHead, StepState};
use crate::store::Fatal;

/// Adds one fact to a run. `pointer` and `at` are the fact's place in the journal and the row's instant.
///
/// Fails when the fact cannot be about this run: the journal and the head do not belong together.
pub fn fold(head: &mut Head, pointer: Pointer, at: Timestamp, event: &Event) -> Result<(), Fatal> {
    head.revision = pointer.revision;
    let shown = match event {
        Event::Started(_) => return Err(Fatal(format!("run {} started twice", head.run))),
        Event::Reached { step, claimable, due, fires } => {
            reach(head, *step, at, *claimable, (*due, *fires))?;
            Some(at)
        }
        Event::ItemOpened { step, assigned } => {
            let item = ItemHead { number: next_item(head), opened: at, assigned: assigned.clone(), escalation: None };
            step_mut(head, *step)?.item = Some(item);
            Some(at)
        }
        Event::Claimed { step, holder, expires } => {
            let claim =
                ClaimHead { number: next_claim(head), holder: holder.clone(), expires: *expires, progress: None };
            let step = step_mut(head, *step)?;
            step.state = Some(StepState::Claimed);
            step.claim = Some(claim);
            Some(at)
        }
        Event::Renewed { step, expires, progress } => {
            let number = next_claim(head);
            let claim = claim_mut(head, *step)?;
            claim.number = number;
            claim.expires = *expires;
            if progress.is_some() {
                claim.progress = Some(pointer);
            }
            None
        }
        Event::LeaseEnded { step } => Some(end_claim(head, *step, StepState::Ready)?),
        Event::Refused { step, .. } => {
            step_mut(head, *step)?.handoff.issues = Some(pointer);
            None
        }
        Event::Escalated { step, group, .. } => {
            end_claim(head, *step, StepState::Waiting)?;
            let assigned = super::head::Assigned::Group(group.clone());
            let item = ItemHead { number: next_item(head), opened: at, assigned, escalation: Some(pointer) };
            step_mut(head, *step)?.item = Some(item);
            Some(at)
        }
        Event::Returned { step, .. } => {
            let step = step_mut(head, *step)?;
            step.item = None;
            step.state = Some(StepState::Ready);
            step.handoff.returned = Some(pointer);
            Some(at)
        }
        Event::Completed { step, record, bytes, .. } => {
            complete(head, *step, pointer, record, *bytes)?;
            Some(at)
        }
        Event::Passed { step } => {
            step_mut(head, *step)?.state = Some(StepState::Done);
            Some(at)
        }
        Event::Joined { parallel, entry } => {
            step_mut(head, *parallel)?.joined.push(*entry);
            Some(at)
        }
        Event::Rewound { steps } => {
            for step in steps {
                let step = step_mut(head, *step)?;
                step.state = None;
                step.history.extend(step.current.take());
            }
            Some(at)
        }
        Event::EventHeld { name, bytes, .. } => {
            head.held.push(Held { name: name.clone(), at: pointer, bytes: *bytes });
            None
        }
        Event::Overdue { step } => {
            step_mut(head, *step)?.overdue_told = true;
            None
        }
        Event::Ended { outcome, by, note } => {
            end(head, Ended { outcome: outcome.clone(), by: by.clone(), at, note: note.clone() });
            Some(at)
        }
    };
    if let Some(at) = shown {
        head.updated_at = head.updated_at.max(at);
    }
    Ok(())
}

/// The run that a `Started` makes.
pub fn begin(run: RunId, at: Timestamp, started: &Started) -> Head {
    Head {
        run,
        revision: 1,
        org: started.org.clone(),
        process: started.process.clone(),
        version: started.version,
        test: started.test,
        started_by: started.by.clone(),
        initiator: started.initiator.clone(),
        started_at: at,
        updated_at: at,
        ended: None,
        input_bytes: started.bytes,
        input_digests: started.inputs.iter().map(|(name, value)| data::input_digest(name, value)).collect(),
        steps: vec![StepHead::default(); started.steps as usize],
        claims: 0,
        items: 0,
        completions: 0,
        held: Vec::new(),
    }
}

/// The run that a journal makes. Rows come in order from revision 1, one at a time: together they may be large.
pub fn fold_rows<R: Borrow<JournalRow>>(
    run: RunId,
    rows: impl IntoIterator<Item = Result<R, Fatal>>,
) -> Result<Head, Fatal> {
    let mut head: Option<Head> = None;
    for (revision, row) in (1..).zip(rows) {
        let row = row?;
        let row = row.borrow();
        for (index, event) in (0..).zip(&row.events) {
            if let Some(head) = &mut head {
                fold(head, Pointer { revision, index }, row.at, event)?;
            } else if let Event::Started(started) = event {
                head = Some(begin(run, row.at, started));
            } else {
                return Err(Fatal(format!("the journal of run {run} does not begin with its start")));
            }
        }
    }
    head.ok_or_else(|| Fatal(format!("run {run} has no journal")))
}

/// A new attempt: nothing of the last one stays but its record.
fn reach(
    head: &mut Head,
    step: u32,
    at: Timestamp,
    claimable: bool,
    (due, fires): (Option<Timestamp>, Option<Timestamp>),
) -> Result<(), Fatal> {
    let forked_after = head.completions;
    let step = step_mut(head, step)?;
    let mut history = std::mem::take(&mut step.history);
    // A step that is done again has no current value meanwhile (REWORK-TARGET); a kept rejection stays.
    history.extend(step.current.take_if(|c| !c.kept));
    *step = StepHead {
        state: Some(if claimable { StepState::Ready } else { StepState::Waiting }),
        ready_since: at,
        due,
        fires,
        forked_after,
        current: step.current,
        history,
        ..StepHead::default()
    };
    Ok(())
}

fn complete(head: &mut Head, step: u32, pointer: Pointer, record: &Record, bytes: u64) -> Result<(), Fatal> {
    head.completions += 1;
    let order = head.completions;
    let (state, kept) = match record {
        Record::Failed { .. } => (Some(StepState::Failed), false),
        Record::Rejected { kept: true, .. } => (None, true),
        Record::Rejected { kept: false, .. } | Record::Work(_) | Record::Approved { .. } | Record::Waited => {
            (Some(StepState::Done), false)
        }
        Record::Delivered(delivery) => {
            if let Delivery::Held(held) = delivery {
                let before = head.held.len();
                head.held.retain(|h| h.at != *held);
                if head.held.len() + 1 != before {
                    return Err(Fatal(format!("run {} consumed an event it does not hold", head.run)));
                }
            }
            (Some(StepState::Done), false)
        }
    };
    let step = step_mut(head, step)?;
    step.history.extend(step.current.take());
    step.state = state;
    step.claim = None;
    step.item = None;
    step.fires = None;
    // The attempt is over, and with it what it left behind (HANDOFF-LIFE).
    step.handoff = super::head::Handoff::default();
    step.current = Some(Completion { at: pointer, order, bytes, kept });
    Ok(())
}

/// Ends a claim; its progress note becomes visible. Returns when the lease ran out or would have.
fn end_claim(head: &mut Head, step: u32, state: StepState) -> Result<Timestamp, Fatal> {
    let run = head.run;
    let step = step_mut(head, step)?;
    let claim = step.claim.take().ok_or_else(|| Fatal(format!("run {run}: no claim to end")))?;
    step.state = Some(state);
    step.handoff.progress = claim.progress.or(step.handoff.progress);
    Ok(claim.expires)
}

/// The cleanup of §3.5: open steps are cancelled, items and tokens go, held events are discarded.
fn end(head: &mut Head, ended: Ended) {
    for step in &mut head.steps {
        if step.is_open() {
            step.state = Some(StepState::Cancelled);
        }
        step.item = None;
        step.claim = None;
        step.fires = None;
    }
    head.held.clear();
    head.ended = Some(ended);
}

fn step_mut(head: &mut Head, step: u32) -> Result<&mut StepHead, Fatal> {
    let run = head.run;
    head.steps.get_mut(step as usize).ok_or_else(|| Fatal(format!("run {run} has no step {step}")))
}

fn claim_mut(head: &mut Head, step: u32) -> Result<&mut ClaimHead, Fatal> {
    let run = head.run;
    step_mut(head, step)?.claim.as_mut().ok_or_else(|| Fatal(format!("run {run}: step {step} is not claimed")))
}

fn next_item(head: &mut Head) -> u32 {
    head.items += 1;
    head.items
}

fn next_claim(head: &mut Head) -> u64 {
    head.claims += 1;
    head.claims
}
