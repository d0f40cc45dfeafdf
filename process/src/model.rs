//! The validated document: a value of these types is a process that a server may run.
//!
//! Only the validator builds them, so every index is in range, every target exists and every path is declared.

use serde::{Deserialize, Serialize};

use crate::json::{Number, Object, Value};
use crate::time::Span;

/// Position of a step in [`Process::steps`] (file order).
pub type StepIndex = usize;

/// A valid file: its process, its body exactly as written, its content hash and what an importer should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The parsed and validated frontmatter.
    pub process: Process,
    /// Every byte after the closing fence's line break (BODY-EXACT).
    pub body: String,
    /// Content hash, lower-case hex (§6.5, HASH-INPUT).
    pub hash: String,
    /// Doubtful things that publish all the same (G1).
    pub warnings: Vec<Issue>,
}

/// One thing wrong (or doubtful) in a document: where, what, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Place of the offence, such as `steps[0].next[1].to`.
    pub path: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl std::fmt::Display for Issue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A process (§2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The process's name.
    pub name: String,
    /// What it does and when to start it.
    pub description: String,
    /// What a run starts with.
    pub inputs: Fields,
    /// External systems the work needs (`requires.systems`), empty when undeclared.
    pub systems: Vec<String>,
    /// The steps in file order; the first is where a run starts.
    pub steps: Vec<Step>,
}

/// Declared fields (§2.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fields {
    /// The fields in file order.
    pub declared: Vec<Field>,
    /// The mapping as written, for views; `None` when the file has no such key (REQ-NULL).
    pub written: Option<Object>,
}

/// One declared field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What values it takes.
    pub shape: Shape,
}

/// What values a field or a list element takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The type.
    pub kind: FieldType,
    /// Whether it may be left out.
    pub optional: bool,
    /// Allowed values, if limited.
    pub one_of: Option<Vec<Value>>,
    /// Shape of list elements, if declared.
    pub items: Option<Box<Shape>>,
}

/// The field types (§2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FieldType {
    /// Any text.
    String,
    /// A JSON number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `YYYY-MM-DD`.
    Date,
    /// RFC 3339 with offset.
    Datetime,
    /// A list.
    List,
    /// A mapping.
    Object,
    /// A reference to a person.
    Person,
}

/// A step (§2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its id.
    pub id: String,
    /// What it does, with the keys that kind allows.
    pub kind: StepKind,
    /// The branch it lies in, if any (profile-parallel §2).
    pub branch: Option<Branch>,
}

/// Which branch of which parallel step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The parallel step.
    pub parallel: StepIndex,
    /// The branch's entry step.
    pub entry: StepIndex,
}

/// The kinds of step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// `agent:`
    Agent(Work),
    /// `task:`
    Task {
        /// Who.
        person: Assignee,
        /// What.
        work: Work,
    },
    /// `approve:`
    Approve {
        /// What they are approving.
        text: String,
        /// Who.
        person: Assignee,
        /// When it becomes overdue, after readiness.
        due: Option<Span>,
        /// Where an approval goes on.
        next: Target,
        /// Where a rejection goes; `None` ends the run `rejected`.
        on_reject: Option<StepIndex>,
    },
    /// `wait:`
    Wait {
        /// How long.
        span: Span,
        /// Where it goes on.
        next: Target,
    },
    /// `wait_until:`
    WaitUntil {
        /// The datetime in run data.
        at: DataPath,
        /// Where it goes on.
        next: Target,
    },
    /// `wait_for:`
    WaitFor {
        /// The event's name.
        event: String,
        /// How long to wait at most.
        timeout: Option<Span>,
        /// Where it goes on.
        next: Target,
        /// Where a time-out goes on (`next` when the file names none).
        on_timeout: Target,
    },
    /// `finish:`
    Finish {
        /// The run's outcome.
        outcome: String,
    },
    /// `parallel:`
    Parallel {
        /// The branch entries in file order of the list.
        branches: Vec<StepIndex>,
        /// Where the run goes on once all have joined.
        next: StepIndex,
    },
}

/// What an agent or task step asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The instructions.
    pub instructions: String,
    /// Fields the submission must contain.
    pub output: Fields,
    /// Evidence kinds that must be attached, as written; `None` without the key.
    pub evidence: Option<Vec<EvidenceKind>>,
    /// Where the run goes next.
    pub next: Next,
    /// When it becomes overdue, after readiness.
    pub due: Option<Span>,
    /// The check profile's questions, if any.
    pub check: Option<Check>,
}

/// `next` of an agent or task step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Next {
    /// One target, named or by the default.
    One(Target),
    /// A list the actor chooses from, as written.
    Choice(Vec<Route>),
}

/// One of several routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Where it leads.
    pub to: Target,
    /// When to take it, in plain language.
    pub when: Option<String>,
}

/// Where an edge leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// A step.
    Step(StepIndex),
    /// The end of this branch (profile-parallel §2).
    Join,
}

/// `person:` of a task or approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assignee {
    /// A role local to the process.
    Role(String),
    /// The person who started the run.
    Initiator,
    /// A `person` value in run data.
    Path(DataPath),
}

/// A path into run data (ROLE-PATH).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataPath {
    /// `inputs.<field>`
    Input(String),
    /// `steps.<id>.output.<field>`
    Output {
        /// The step.
        step: StepIndex,
        /// The field.
        field: String,
    },
}

/// Evidence kinds (§5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EvidenceKind {
    /// An uploaded file.
    File,
    /// A URL or document number.
    Link,
}

/// `check:` with `advisory:` (profile-check §2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The questions in order.
    pub questions: Vec<Question>,
    /// Whether verdicts are recorded without ever blocking.
    pub advisory: bool,
}

/// One question of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question in plain language.
    pub ask: String,
    /// Its kind with its thresholds.
    pub kind: QuestionKind,
}

/// The kinds of question. Probabilities are exact decimals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuestionKind {
    /// A yes-probability.
    YesNo {
        /// At or above passes; `None` takes the server's default.
        pass: Option<Number>,
        /// Below fails.
        fail: Option<Number>,
    },
    /// A choice of named answers.
    Choice {
        /// Answer names and descriptions in order.
        one_of: Vec<(String, String)>,
        /// Names that pass.
        pass: Vec<String>,
        /// Names that are unsure.
        unsure: Vec<String>,
        /// Below this confidence the answer is unsure.
        confidence: Option<Number>,
    },
    /// A level.
    Rubric {
        /// Level descriptions, worst first.
        levels: Vec<String>,
        /// The level at or above which the answer passes.
        pass: usize,
        /// Below this confidence the answer is unsure.
        confidence: Option<Number>,
    },
}
