//! What views share about steps: requirements, handoff, work items (§3.3, §3.4).

use agentprocess::json::{Object, Value};
use agentprocess::time::Timestamp;
use agentprocess::{EvidenceKind, Next, Process, StepKind, Work};

use super::event::Event;
use super::head::{Assigned, Handoff, Head, ItemHead, Pointer};
use super::journal::Journal;
use crate::store::Fatal;

/// What the caller puts in place of the placeholder (IDEM-SCOPE).
const NEW_REQUEST_ID: &str = "<new UUID>";

/// The decisions an item of this step takes (DECISIONS-FAILED).
pub fn decisions(kind: &StepKind, escalated: bool) -> &'static [&'static str] {
    match kind {
        StepKind::Agent(_) => &["returned", "completed", "failed"],
        StepKind::Task { .. } if escalated => &["returned", "completed", "failed"],
        StepKind::Task { .. } => &["completed", "failed"],
        StepKind::Approve { .. } => &["approved", "rejected", "failed"],
        StepKind::Wait { .. }
        | StepKind::WaitUntil { .. }
        | StepKind::WaitFor { .. }
        | StepKind::Finish { .. }
        | StepKind::Parallel { .. } => &[],
    }
}

/// Sets `output`, `evidence` and `next` as a claim and a work item show them (REQ-NULL).
pub fn set_requirements(fields: &mut Object, process: &Process, work: Option<&Work>) {
    fields.set("output", work.and_then(|w| w.output.written.clone()));
    fields.set("evidence", work.and_then(|w| w.evidence.as_ref()).map(|kinds| evidence_kinds(kinds)));
    fields.set("next", work.and_then(|w| routes(process, &w.next)));
}

/// `handoff`: `null` while nothing was left behind.
pub fn handoff(handoff: &Handoff, journal: &Journal) -> Result<Value, Fatal> {
    let mut fields = Object::new();
    if let Some(place) = handoff.progress {
        let note =
            journal.find(
                place,
                |event, _| {
                    if let Event::Renewed { progress, .. } = event { progress.clone() } else { None }
                },
            )?;
        fields.set("progress", note);
    }
    if let Some(place) = handoff.returned {
        let returned = journal.find(place, |event, at| {
            if let Event::Returned { note, by, .. } = event { Some(signed(note, by, at)) } else { None }
        })?;
        fields.set("returned", returned);
    }
    if let Some(place) = handoff.issues {
        let issues =
            journal.find(
                place,
                |event, _| {
                    if let Event::Refused { issues, .. } = event { Some(issues.clone()) } else { None }
                },
            )?;
        fields.set("issues", issues.into_iter().map(Value::from).collect::<Vec<_>>());
    }
    Ok(if fields.is_empty() { Value::Null } else { fields.into() })
}

/// A work item as `get_run` and `get_work` show it.
pub fn work_item(
    head: &Head,
    process: &Process,
    (position, item): (usize, &ItemHead),
    journal: &Journal,
    snapshot: &str,
) -> Result<Value, Fatal> {
    let (step, state) = (&process.steps[position], &head.steps[position]);
    let id = quorate_proto::WorkItemId { run: head.run, number: item.number }.to_string();
    let mut fields = Object::new();
    fields.set("id", id.as_str()).set("stepId", step.id.as_str()).set("kind", step.kind_word());
    fields.set("text", step.text());
    set_requirements(&mut fields, process, step.work());
    fields.set("handoff", handoff(&state.handoff, journal)?);
    fields.set("assignedTo", assigned_to(&item.assigned)).set("snapshot", snapshot);
    fields.set("due", state.due.map(|due| due.to_string()));
    fields.set("escalation", item.escalation.map(|place| escalation(place, journal)).transpose()?);
    if head.test {
        fields.set("mode", "test");
    }
    let mut arguments = Object::new();
    arguments.set("runId", head.run.to_string()).set("workItemId", id).set("snapshot", snapshot);
    arguments.set("requestId", NEW_REQUEST_ID);
    let mut decide = Object::new();
    let offered = decisions(&step.kind, item.escalation.is_some());
    decide.set("tool", "decide").set("arguments", arguments);
    decide.set("decisions", offered.iter().map(|d| Value::from(*d)).collect::<Vec<_>>());
    fields.set("decide", decide);
    Ok(fields.into())
}

/// The exact `claim` call to make.
pub fn claim_call(head: &Head, step_id: &str) -> Object {
    let mut arguments = Object::new();
    arguments.set("runId", head.run.to_string()).set("stepId", step_id).set("requestId", NEW_REQUEST_ID);
    let mut call = Object::new();
    call.set("tool", "claim").set("arguments", arguments);
    call
}

/// `live` or `test`.
pub fn mode(head: &Head) -> &'static str {
    if head.test { "test" } else { "live" }
}

/// Whether a step with this `due` is overdue (DUE-EDGE).
pub fn overdue(due: Option<Timestamp>, at: Timestamp) -> bool {
    due.is_some_and(|due| at >= due)
}

fn evidence_kinds(kinds: &[EvidenceKind]) -> Vec<Value> {
    kinds.iter().map(|kind| kind.word().into()).collect()
}

fn routes(process: &Process, next: &Next) -> Option<Vec<Value>> {
    match next {
        Next::One(_) => None,
        Next::Choice(routes) => {
            let route = |r: &agentprocess::Route| {
                let mut fields = Object::new();
                fields.set("to", process.target_name(r.to));
                if let Some(when) = &r.when {
                    fields.set("when", when.as_str());
                }
                Value::from(fields)
            };
            Some(routes.iter().map(route).collect())
        }
    }
}

fn assigned_to(assigned: &Assigned) -> Object {
    let mut fields = Object::new();
    match assigned {
        Assigned::Group(group) => fields.set("group", group.as_str()),
        Assigned::Person(person) => fields.set("person", person.as_str()),
    };
    fields
}

fn escalation(place: Pointer, journal: &Journal) -> Result<Value, Fatal> {
    journal.find(
        place,
        |event, at| {
            if let Event::Escalated { note, by, .. } = event { Some(signed(note, by, at)) } else { None }
        },
    )
}

fn signed(note: &str, by: &str, at: Timestamp) -> Value {
    let mut fields = Object::new();
    fields.set("note", note).set("by", by).set("at", at.to_string());
    fields.into()
}
