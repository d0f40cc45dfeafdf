//! The example processes are valid, complete with their bindings, and use every kind and key of the core and of
//! `parallel`: whoever looks for a template of something finds one.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use agentprocess::json::{self, Value};
use agentprocess::{
    Assignee, DataPath, Document, FieldType, Next, PARALLEL, Process, Shape, Step, StepKind, Target, Work,
};

const EXAMPLES: [(&str, &str); 6] = [
    ("contractor-offboarding", include_str!("../../examples/contractor-offboarding/PROCESS.md")),
    ("data-subject-request", include_str!("../../examples/data-subject-request/PROCESS.md")),
    ("equipment-loan", include_str!("../../examples/equipment-loan/PROCESS.md")),
    ("goodwill-refund", include_str!("../../examples/goodwill-refund/PROCESS.md")),
    ("release-rollout", include_str!("../../examples/release-rollout/PROCESS.md")),
    ("supplier-onboarding", include_str!("../../examples/supplier-onboarding/PROCESS.md")),
];

const BINDINGS: &str = include_str!("../../examples/bindings.json");

fn documents() -> Vec<(&'static str, Document)> {
    let read =
        |name, text: &str| Document::read(text.as_bytes()).unwrap_or_else(|issues| panic!("{name}: {issues:#?}"));
    EXAMPLES.map(|(name, text)| (name, read(name, text))).into()
}

#[test]
fn each_is_valid_without_warnings_and_bears_its_folders_name() {
    for (folder, document) in documents() {
        assert_eq!(document.process.name, folder);
        assert!(document.warnings.is_empty(), "{folder}: {:#?}", document.warnings);
        assert!(!document.body.trim().is_empty(), "{folder} has no body");
    }
}

#[test]
fn the_bindings_map_every_role_and_no_other() {
    let bindings = json::parse(BINDINGS.as_bytes(), 10).unwrap();
    let bindings = bindings.as_object().unwrap();
    let documents = documents();
    assert_eq!(bindings.len(), documents.len());
    for (folder, document) in documents {
        let bound = bindings.get(folder).and_then(Value::as_object).unwrap();
        let roles: BTreeSet<_> = bound.iter().map(|(role, _)| role).collect();
        assert_eq!(roles, document.process.roles().into_iter().collect(), "{folder}");
        for (role, group) in bound.iter() {
            let known = ["g_requesters", "g_finance", "g_ops"].contains(&group.as_str().unwrap());
            assert!(known, "{folder}: {role} is bound to a group that no development token has");
        }
    }
}

#[test]
fn together_they_use_every_kind_and_key() {
    let mut used = BTreeSet::new();
    for (_, document) in documents() {
        process(&document.process, &mut used);
    }
    let all = [
        "agent",
        "task",
        "approve",
        "wait",
        "wait_until",
        "wait_for",
        "finish",
        "parallel", // kinds
        "description",
        "inputs",
        "requires",
        "output",
        "evidence: file",
        "evidence: link",
        "next: one",
        "next: list",
        "route: id",
        "route: when",
        "person: role",
        "person: initiator",
        "person: inputs",
        "person: steps",
        "on_reject",
        "no on_reject",
        "due",
        "timeout",
        "on_timeout",
        "wait_until: inputs",
        "wait_until: steps", // keys
        "next: join",
        "route: join",
        "on_timeout: join",
        "on_reject: parallel",
        "on_reject in a branch", // parallel
        "string",
        "number",
        "boolean",
        "date",
        "datetime",
        "list",
        "object",
        "person",
        "optional",
        "one_of",
        "items",
        "field description",
        "type only", // fields
    ];
    let missing: Vec<_> = all.iter().filter(|feature| !used.contains(*feature)).collect();
    assert!(missing.is_empty(), "no example uses {missing:?}");
    let unlisted: Vec<_> = used.iter().filter(|feature| !all.contains(feature)).collect();
    assert!(unlisted.is_empty(), "the list above lacks {unlisted:?}");
}

type Used = BTreeSet<&'static str>;

fn process(process: &Process, used: &mut Used) {
    used.insert("description");
    if !process.systems.is_empty() {
        used.insert("requires");
    }
    if !process.inputs.declared.is_empty() {
        used.insert("inputs");
    }
    fields(&process.inputs, used);
    for each in &process.steps {
        step(process, each, used);
    }
    if process.steps.iter().any(Step::is_parallel) {
        assert_eq!(process.profiles(), [PARALLEL]);
    }
}

fn step(process: &Process, step: &Step, used: &mut Used) {
    used.insert(step.kind_word());
    if step.due().is_some() {
        used.insert("due");
    }
    match step.person() {
        Some(Assignee::Role(_)) => used.insert("person: role"),
        Some(Assignee::Initiator) => used.insert("person: initiator"),
        Some(Assignee::Path(path)) => used.insert(from(path, "person: inputs", "person: steps")),
        None => false,
    };
    match &step.kind {
        StepKind::Agent(work) | StepKind::Task { work, .. } => self::work(work, used),
        StepKind::Approve { next, on_reject, .. } => {
            target(*next, "next: one", "next: join", used);
            let Some(back) = *on_reject else {
                used.insert("no on_reject");
                return;
            };
            used.insert("on_reject");
            if process.steps[back].is_parallel() {
                used.insert("on_reject: parallel");
            }
            if step.branch.is_some() {
                used.insert("on_reject in a branch");
            }
        }
        StepKind::Wait { next, .. } => target(*next, "next: one", "next: join", used),
        StepKind::WaitUntil { at, next } => {
            used.insert(from(at, "wait_until: inputs", "wait_until: steps"));
            target(*next, "next: one", "next: join", used);
        }
        StepKind::WaitFor { timeout, next, on_timeout, .. } => {
            if timeout.is_some() {
                used.insert("timeout");
            }
            if next != on_timeout {
                target(*on_timeout, "on_timeout", "on_timeout: join", used);
            }
            target(*next, "next: one", "next: join", used);
        }
        StepKind::Finish { .. } | StepKind::Parallel { .. } => {}
    }
}

fn work(work: &Work, used: &mut Used) {
    if work.output.written.is_some() {
        used.insert("output");
    }
    fields(&work.output, used);
    for kind in work.evidence.iter().flatten() {
        used.insert(if kind.word() == "file" { "evidence: file" } else { "evidence: link" });
    }
    match &work.next {
        Next::One(to) => target(*to, "next: one", "next: join", used),
        Next::Choice(routes) => {
            used.insert("next: list");
            for route in routes {
                used.insert(if route.when.is_some() { "route: when" } else { "route: id" });
                if route.to == Target::Join {
                    used.insert("route: join");
                }
            }
        }
    }
}

fn target(to: Target, step: &'static str, join: &'static str, used: &mut Used) {
    used.insert(match to {
        Target::Step(_) => step,
        Target::Join => join,
    });
}

fn from(path: &DataPath, input: &'static str, output: &'static str) -> &'static str {
    match path {
        DataPath::Input(_) => input,
        DataPath::Output { .. } => output,
    }
}

fn fields(fields: &agentprocess::Fields, used: &mut Used) {
    for (_, written) in fields.written.iter().flat_map(json::Object::iter) {
        let described = written.as_object().is_some_and(|field| field.get("description").is_some());
        if described {
            used.insert("field description");
        }
        if written.as_str().is_some() {
            used.insert("type only");
        }
    }
    for field in &fields.declared {
        shape(&field.shape, used);
    }
}

fn shape(shape: &Shape, used: &mut Used) {
    used.insert(match shape.kind {
        FieldType::String => "string",
        FieldType::Number => "number",
        FieldType::Boolean => "boolean",
        FieldType::Date => "date",
        FieldType::Datetime => "datetime",
        FieldType::List => "list",
        FieldType::Object => "object",
        FieldType::Person => "person",
    });
    if shape.optional {
        used.insert("optional");
    }
    if shape.one_of.is_some() {
        used.insert("one_of");
    }
    if let Some(items) = &shape.items {
        used.insert("items");
        self::shape(items, used);
    }
}
