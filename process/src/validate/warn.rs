//! Doubtful things that publish all the same (G1).

use std::collections::BTreeSet;

use super::draft::Draft;
use crate::issues::Issues;
use crate::model::{Assignee, DataPath, Fields, Process, Shape, Step, StepIndex, StepKind, Target};

/// Beyond this many steps nobody looks for skipped ones: the search takes steps × paths.
const SKIP_SEARCH_STEPS_MAX: usize = 500;

/// Looks at a process and at the keys as its file wrote them.
pub(super) fn warn(process: &Process, drafts: &[Draft<'_>], warnings: &mut Issues) {
    inside_items(&process.inputs, "inputs", warnings);
    for (at, step) in process.steps.iter().enumerate() {
        let path = format!("steps[{at}]");
        if let Some(work) = step.work() {
            inside_items(&work.output, &format!("{path}.output"), warnings);
            let mut seen = BTreeSet::new();
            for (i, route) in work.next.routes().iter().enumerate() {
                let name = process.target_name(route.to);
                if !seen.insert(name) {
                    let message =
                        format!("{name} is a target already; the record only names the target: merge the two");
                    warnings.add(format!("{path}.next[{i}]"), message);
                }
            }
        }
        if let StepKind::Finish { outcome } = &step.kind
            && matches!(outcome.as_str(), "rejected" | "failed")
        {
            warnings.add(format!("{path}.finish"), format!("{outcome} is also an outcome the server gives by itself"));
        }
        // TIMEOUT-PAIR is about the key: the model has an `on_timeout` for every `wait_for`.
        if drafts.get(at).is_some_and(|draft| draft.on_timeout.is_some() && draft.timeout.is_none()) {
            warnings.add(format!("{path}.on_timeout"), "never taken without timeout");
        }
        let (key, data) = match &step.kind {
            StepKind::WaitUntil { at, .. } => ("wait_until", Some(at)),
            StepKind::Agent(_)
            | StepKind::Task { .. }
            | StepKind::Approve { .. }
            | StepKind::Wait { .. }
            | StepKind::WaitFor { .. }
            | StepKind::Finish { .. }
            | StepKind::Parallel { .. } => ("person", person_path(step)),
        };
        if let Some(doubt) = data.and_then(|data| doubt(process, data, at)) {
            warnings.add(format!("{path}.{key}"), format!("{doubt}; without a value the run fails here"));
        }
    }
}

fn person_path(step: &Step) -> Option<&DataPath> {
    if let Some(Assignee::Path(path)) = step.person() { Some(path) } else { None }
}

/// Why the value may be absent when the step becomes ready (PATH-ABSENT).
fn doubt(process: &Process, data: &DataPath, reader: StepIndex) -> Option<String> {
    let optional = |fields: &Fields, name: &str| fields.declared.iter().any(|f| f.name == name && f.shape.optional);
    match data {
        DataPath::Input(field) => optional(&process.inputs, field).then(|| format!("inputs.{field} is optional")),
        DataPath::Output { step, field } => {
            let id = &process.steps[*step].id;
            if process.steps[*step].work().is_some_and(|work| optional(&work.output, field)) {
                return Some(format!("{field} of {id} is optional"));
            }
            let skipped = process.steps.len() <= SKIP_SEARCH_STEPS_MAX && reaches_without(process, *step, reader);
            skipped.then(|| format!("{id} may not have run by then"))
        }
    }
}

/// Whether a run can reach `goal` although `avoided` never completes.
fn reaches_without(process: &Process, avoided: StepIndex, goal: StepIndex) -> bool {
    let branch = process.steps[avoided].branch;
    // A fork whose branch cannot join without `avoided` never goes on.
    let stuck = branch.filter(|branch| !joins_without(process, branch.entry, avoided)).map(|branch| branch.parallel);
    let mut reached = BTreeSet::new();
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if at == goal {
            return true;
        }
        if at == avoided || !reached.insert(at) {
            continue;
        }
        let step = &process.steps[at];
        if let StepKind::Parallel { branches, next } = &step.kind {
            open.extend(branches);
            open.extend(Some(*next).filter(|_| stuck != Some(at)));
            continue;
        }
        open.extend(steps_after(step));
    }
    false
}

/// Whether a branch can join without completing `avoided`.
fn joins_without(process: &Process, entry: StepIndex, avoided: StepIndex) -> bool {
    let mut reached = BTreeSet::new();
    let mut open = vec![entry];
    while let Some(at) = open.pop() {
        if at != avoided && reached.insert(at) {
            if targets(&process.steps[at]).contains(&Target::Join) {
                return true;
            }
            open.extend(steps_after(&process.steps[at]));
        }
    }
    false
}

fn targets(step: &Step) -> Vec<Target> {
    let mut targets = step.next_targets();
    if let StepKind::WaitFor { timeout: Some(_), on_timeout, .. } = step.kind {
        targets.push(on_timeout);
    }
    targets
}

fn steps_after(step: &Step) -> Vec<StepIndex> {
    let rejected = if let StepKind::Approve { on_reject, .. } = step.kind { on_reject } else { None };
    let forward = targets(step).into_iter().filter_map(|to| if let Target::Step(to) = to { Some(to) } else { None });
    forward.chain(rejected).collect()
}

/// `optional` in `items` has no effect (LIST-OBJECT).
fn inside_items(fields: &Fields, path: &str, warnings: &mut Issues) {
    fn look(shape: &Shape, path: &str, warnings: &mut Issues) {
        let Some(items) = &shape.items else { return };
        let path = format!("{path}.items");
        if items.optional {
            warnings.add(format!("{path}.optional"), "has no effect on elements");
        }
        look(items, &path, warnings);
    }
    for field in &fields.declared {
        look(&field.shape, &format!("{path}.{}", field.name), warnings);
    }
}
