//! What callers ask of a valid process.

use std::collections::BTreeSet;
use std::fmt;

use crate::model::{
    Assignee, Branch, DataPath, EvidenceKind, Next, Process, Route, Step, StepIndex, StepKind, Target, Work,
};
use crate::time::Span;

/// The profile behind `parallel:`.
pub const PARALLEL: &str = "parallel-1";
/// The profile behind `check:`.
pub const CHECK: &str = "check-1";

impl Process {
    /// Position of the step called `id`.
    pub fn step_index(&self, id: &str) -> Option<StepIndex> {
        self.steps.iter().position(|step| step.id == id)
    }

    /// Role names to bind at publication (§7), sorted, each once.
    pub fn roles(&self) -> Vec<&str> {
        let role = |step| match Step::person(step) {
            Some(Assignee::Role(role)) => Some(role.as_str()),
            Some(Assignee::Initiator | Assignee::Path(_)) | None => None,
        };
        self.steps.iter().filter_map(role).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Whether some step is for the person who started the run, so that an agent may not start one (START-INITIATOR);
    /// the first such step.
    pub fn initiator_step(&self) -> Option<&Step> {
        self.steps.iter().find(|step| step.person() == Some(&Assignee::Initiator))
    }

    /// Profiles that the process needs (§8).
    pub fn profiles(&self) -> Vec<&'static str> {
        let parallel = self.steps.iter().any(Step::is_parallel);
        let check = self.steps.iter().any(|step| step.work().is_some_and(|work| work.check.is_some()));
        [(parallel, PARALLEL), (check, CHECK)].into_iter().filter_map(|(needed, name)| needed.then_some(name)).collect()
    }

    /// Optional tools that the process needs (§4.2): `upload` for file evidence, `send_event` for `wait_for`.
    pub fn tools_needed(&self) -> Vec<&'static str> {
        let upload = self.steps.iter().any(Step::needs_upload);
        let event = self.steps.iter().any(|step| matches!(step.kind, StepKind::WaitFor { .. }));
        [(upload, "upload"), (event, "send_event")]
            .into_iter()
            .filter_map(|(needed, name)| needed.then_some(name))
            .collect()
    }

    /// How a record names a target: the step's id, or `join`.
    pub fn target_name(&self, target: Target) -> &str {
        match target {
            Target::Step(index) => &self.steps[index].id,
            Target::Join => "join",
        }
    }

    /// The allowed target that an actor calls `name`, if `next` is a list that has it.
    pub fn chosen(&self, next: &Next, name: &str) -> Option<Target> {
        next.routes().iter().map(|route| route.to).find(|to| self.target_name(*to) == name)
    }

    /// Positions of the steps of one branch, its entry first among equals in file order.
    pub fn branch_steps(&self, branch: Branch) -> impl Iterator<Item = StepIndex> {
        (0..self.steps.len()).filter(move |&index| self.steps[index].branch == Some(branch))
    }

    /// How a file writes this path.
    pub fn path_name(&self, path: &DataPath) -> String {
        match path {
            DataPath::Input(field) => format!("inputs.{field}"),
            DataPath::Output { step, field } => format!("steps.{}.output.{field}", self.steps[*step].id),
        }
    }
}

impl Step {
    /// The kind key: `agent`, `task`, `approve`, `wait`, `wait_until`, `wait_for`, `finish` or `parallel`.
    pub fn kind_word(&self) -> &'static str {
        match self.kind {
            StepKind::Agent(_) => "agent",
            StepKind::Task { .. } => "task",
            StepKind::Approve { .. } => "approve",
            StepKind::Wait { .. } => "wait",
            StepKind::WaitUntil { .. } => "wait_until",
            StepKind::WaitFor { .. } => "wait_for",
            StepKind::Finish { .. } => "finish",
            StepKind::Parallel { .. } => "parallel",
        }
    }

    /// What an agent or task step asks for.
    pub fn work(&self) -> Option<&Work> {
        match &self.kind {
            StepKind::Agent(work) | StepKind::Task { work, .. } => Some(work),
            StepKind::Approve { .. }
            | StepKind::Wait { .. }
            | StepKind::WaitUntil { .. }
            | StepKind::WaitFor { .. }
            | StepKind::Finish { .. }
            | StepKind::Parallel { .. } => None,
        }
    }

    /// The instructions or what is to be approved; `None` for steps that the server completes.
    pub fn text(&self) -> Option<&str> {
        if let StepKind::Approve { text, .. } = &self.kind { Some(text) } else { Some(&self.work()?.instructions) }
    }

    /// Who completes a task or approval.
    pub fn person(&self) -> Option<&Assignee> {
        match &self.kind {
            StepKind::Task { person, .. } | StepKind::Approve { person, .. } => Some(person),
            StepKind::Agent(_)
            | StepKind::Wait { .. }
            | StepKind::WaitUntil { .. }
            | StepKind::WaitFor { .. }
            | StepKind::Finish { .. }
            | StepKind::Parallel { .. } => None,
        }
    }

    /// How long after readiness it becomes overdue.
    pub fn due(&self) -> Option<Span> {
        if let StepKind::Approve { due, .. } = self.kind { due } else { self.work()?.due }
    }

    /// Whether this is a parallel step.
    pub fn is_parallel(&self) -> bool {
        matches!(self.kind, StepKind::Parallel { .. })
    }

    /// Whether it demands file evidence.
    pub fn needs_upload(&self) -> bool {
        let evidence = self.work().and_then(|work| work.evidence.as_deref());
        evidence.unwrap_or_default().contains(&EvidenceKind::File)
    }

    /// Every target its `next` may lead to, in file order; empty for a finish.
    pub fn next_targets(&self) -> Vec<Target> {
        match &self.kind {
            StepKind::Agent(work) | StepKind::Task { work, .. } => work.next.targets(),
            StepKind::Approve { next, .. }
            | StepKind::Wait { next, .. }
            | StepKind::WaitUntil { next, .. }
            | StepKind::WaitFor { next, .. } => vec![*next],
            StepKind::Parallel { next, .. } => vec![Target::Step(*next)],
            StepKind::Finish { .. } => Vec::new(),
        }
    }
}

impl Next {
    /// The single target, unless the actor chooses.
    pub fn single(&self) -> Option<Target> {
        if let Self::One(target) = self { Some(*target) } else { None }
    }

    /// The routes to choose from; empty when there is one target.
    pub fn routes(&self) -> &[Route] {
        if let Self::Choice(routes) = self { routes } else { &[] }
    }

    /// Every target, in file order.
    pub fn targets(&self) -> Vec<Target> {
        match self {
            Self::One(target) => vec![*target],
            Self::Choice(routes) => routes.iter().map(|route| route.to).collect(),
        }
    }
}

impl EvidenceKind {
    /// Its name in a file and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Link => "link",
        }
    }

    /// The kind called `word`.
    pub fn named(word: &str) -> Option<Self> {
        [Self::File, Self::Link].into_iter().find(|kind| kind.word() == word)
    }
}

impl fmt::Display for EvidenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
