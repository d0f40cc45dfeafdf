//! The run view and the result of `claim` (tools.md), from a head, its journal and an instant.

use agentprocess::json::{Object, Value};
use agentprocess::time::Timestamp;
use quorate_proto::Claim;

use super::data;
use super::head::{Head, ItemHead, StepState};
use super::item::{handoff, mode, overdue, set_requirements, work_item};
use super::journal::Journal;
use super::rows::Definition;
use crate::store::Fatal;

/// The run view as of `at`, without file urls.
pub fn run(head: &Head, definition: &Definition, journal: &Journal, at: Timestamp) -> Result<Value, Fatal> {
    let process = &definition.process;
    let data = data::run_data(head, process, journal)?;
    let snapshot = data::snapshot(&data);
    let mut items: Vec<(usize, &ItemHead)> =
        head.steps.iter().enumerate().filter_map(|(i, s)| Some((i, s.item.as_ref()?))).collect();
    items.sort_by_key(|(_, item)| item.number);
    let items = items.into_iter().map(|found| work_item(head, process, found, journal, &snapshot));
    let mut view = Object::new();
    view.set("run", run_fields(head)).set("data", data).set("steps", steps(head, definition, at));
    view.set("workItems", items.collect::<Result<Vec<_>, _>>()?).set("body", definition.body.as_str());
    Ok(view.into())
}

/// The result of `claim` without its token.
pub fn claim(head: &Head, definition: &Definition, journal: &Journal, claim: &Claim) -> Result<Value, Fatal> {
    let process = &definition.process;
    let position = claim.step as usize;
    let (Some(step), Some(state)) = (process.steps.get(position), head.steps.get(position)) else {
        return Err(Fatal(format!("run {}: a claim on no step", head.run)));
    };
    let work = step.work();
    let mut fields = Object::new();
    fields.set("id", step.id.as_str()).set("instructions", work.map_or("", |w| w.instructions.as_str()));
    set_requirements(&mut fields, process, work);
    let mut view = Object::new();
    view.set("expiresAt", claim.expires.to_string()).set("mode", mode(head)).set("step", fields);
    view.set("handoff", handoff(&state.handoff, journal)?).set("body", definition.body.as_str());
    view.set("data", data::run_data(head, process, journal)?);
    Ok(view.into())
}

fn run_fields(head: &Head) -> Object {
    let mut fields = Object::new();
    fields.set("id", head.run.to_string()).set("process", head.process.as_str());
    fields.set("version", u64::from(head.version)).set("mode", mode(head));
    let outcome = head.ended.as_ref().and_then(|e| e.outcome.clone());
    fields.set("state", head.state().as_str()).set("outcome", outcome);
    let ended = head.ended.as_ref().map(|ended| {
        let mut fields = Object::new();
        fields.set("by", ended.by.as_str()).set("at", ended.at.to_string()).set("note", ended.note.clone());
        fields
    });
    fields.set("ended", ended).set("startedBy", head.started_by.as_str());
    fields.set("startedAt", head.started_at.to_string()).set("updatedAt", head.updated_at.to_string());
    fields
}

/// `due` and `overdue` only while a step is open and has a `due` (DUE-EDGE).
fn steps(head: &Head, definition: &Definition, at: Timestamp) -> Vec<Value> {
    let each = definition.process.steps.iter().zip(&head.steps).map(|(step, state)| {
        let mut fields = Object::new();
        fields.set("id", step.id.as_str()).set("kind", step.kind_word());
        fields.set("state", state.state.map(StepState::as_str));
        if let Some(due) = state.due.filter(|_| state.is_open()) {
            fields.set("due", due.to_string()).set("overdue", overdue(state.due, at));
        }
        Value::from(fields)
    });
    each.collect()
}
