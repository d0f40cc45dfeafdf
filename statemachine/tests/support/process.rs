//! Processes for tests, built step by step.

use agentprocess::json::{Object, Value};
use agentprocess::time::Span;
use agentprocess::{
    Assignee, Branch, EvidenceKind, Field, FieldType, Fields, Next, Process, Route, Shape, Step, StepKind, Target, Work,
};

/// A process of these steps. Branches are marked from the parallel steps.
pub fn process(name: &str, inputs: &[(&str, FieldType)], mut steps: Vec<Step>) -> Process {
    let forks: Vec<(usize, Vec<usize>)> = steps.iter().enumerate().filter_map(|(i, s)| fork(i, s)).collect();
    for (parallel, entries) in forks {
        for entry in entries {
            mark(&mut steps, entry, Branch { parallel, entry });
        }
    }
    let inputs = fields(inputs, true);
    Process { name: name.to_owned(), description: "A test.".to_owned(), inputs, systems: Vec::new(), steps }
}

/// Fields; `optional` ones when asked.
pub fn fields(declared: &[(&str, FieldType)], optional: bool) -> Fields {
    let mut written = Object::new();
    for (name, kind) in declared {
        written.set(*name, format!("{kind:?}").to_lowercase());
    }
    let field = |(name, kind): &(&str, FieldType)| Field {
        name: (*name).to_owned(),
        shape: Shape { kind: *kind, optional, one_of: None, items: None },
    };
    let declared: Vec<Field> = declared.iter().map(field).collect();
    let written = (!declared.is_empty()).then_some(written);
    Fields { declared, written }
}

/// Work with one number `n`, going on at one step.
pub fn work(next: Next) -> Work {
    let output = fields(&[("n", FieldType::Number)], false);
    Work { instructions: "Do it.".to_owned(), output, evidence: None, next, due: None, check: None }
}

pub fn one(step: usize) -> Next {
    Next::One(Target::Step(step))
}

pub fn join() -> Next {
    Next::One(Target::Join)
}

pub fn choice(targets: &[Target]) -> Next {
    Next::Choice(targets.iter().map(|to| Route { to: *to, when: None }).collect())
}

pub fn agent(id: &str, next: Next) -> Step {
    step(id, StepKind::Agent(work(next)))
}

pub fn task(id: &str, person: Assignee, next: Next) -> Step {
    step(id, StepKind::Task { person, work: work(next) })
}

pub fn approve(id: &str, person: Assignee, next: usize, on_reject: Option<usize>) -> Step {
    approve_to(id, person, Target::Step(next), on_reject)
}

pub fn approve_to(id: &str, person: Assignee, next: Target, on_reject: Option<usize>) -> Step {
    let due = Some(minutes(60));
    step(id, StepKind::Approve { text: "Fine?".to_owned(), person, due, next, on_reject })
}

pub fn wait(id: &str, span: Span, next: Target) -> Step {
    step(id, StepKind::Wait { span, next })
}

pub fn wait_for(id: &str, event: &str, timeout: Option<Span>, next: Target, on_timeout: Target) -> Step {
    step(id, StepKind::WaitFor { event: event.to_owned(), timeout, next, on_timeout })
}

pub fn finish(id: &str, outcome: &str) -> Step {
    step(id, StepKind::Finish { outcome: outcome.to_owned() })
}

pub fn parallel(id: &str, branches: &[usize], next: usize) -> Step {
    step(id, StepKind::Parallel { branches: branches.to_vec(), next })
}

pub fn step(id: &str, kind: StepKind) -> Step {
    Step { id: id.to_owned(), kind, branch: None }
}

pub fn role(name: &str) -> Assignee {
    Assignee::Role(name.to_owned())
}

pub fn minutes(n: u64) -> Span {
    Span(n * 60_000)
}

/// Gives an agent or task step a due time.
pub fn with_due(mut step: Step, span: Span) -> Step {
    if let StepKind::Agent(work) | StepKind::Task { work, .. } = &mut step.kind {
        work.due = Some(span);
    }
    step
}

/// Lets an agent or task step ask for evidence.
pub fn with_evidence(mut step: Step, kinds: &[EvidenceKind]) -> Step {
    if let StepKind::Agent(work) | StepKind::Task { work, .. } = &mut step.kind {
        work.evidence = Some(kinds.to_vec());
    }
    step
}

/// Lets an agent or task step also ask for a field.
pub fn with_output(mut step: Step, output: &[(&str, FieldType)]) -> Step {
    if let StepKind::Agent(work) | StepKind::Task { work, .. } = &mut step.kind {
        work.output = fields(output, false);
    }
    step
}

/// Every edge of a step, for checks of the order.
pub fn targets(next: &Next) -> Vec<Target> {
    match next {
        Next::One(target) => vec![*target],
        Next::Choice(routes) => routes.iter().map(|r| r.to).collect(),
    }
}

/// JSON of a text.
pub fn json(text: &str) -> Value {
    agentprocess::json::parse(text.as_bytes(), 100).unwrap()
}

/// A JSON object of a text.
pub fn object(text: &str) -> Object {
    json(text).as_object().unwrap().clone()
}

fn fork(index: usize, step: &Step) -> Option<(usize, Vec<usize>)> {
    if let StepKind::Parallel { branches, .. } = &step.kind { Some((index, branches.clone())) } else { None }
}

fn mark(steps: &mut [Step], at: usize, branch: Branch) {
    if steps[at].branch.replace(branch).is_some() {
        return;
    }
    let edges = match &steps[at].kind {
        StepKind::Agent(work) | StepKind::Task { work, .. } => targets(&work.next),
        StepKind::Approve { next, .. } | StepKind::Wait { next, .. } | StepKind::WaitUntil { next, .. } => vec![*next],
        StepKind::WaitFor { next, on_timeout, .. } => vec![*next, *on_timeout],
        StepKind::Finish { .. } | StepKind::Parallel { .. } => Vec::new(),
    };
    for target in edges {
        if let Target::Step(step) = target {
            mark(steps, step, branch);
        }
    }
}
