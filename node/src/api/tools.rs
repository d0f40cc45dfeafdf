//! The tools: names, words for agents, schemas.

use std::sync::OnceLock;

use agentprocess::json;

use super::schema::Schema;

/// A tool as a client sees it.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does and when to use it.
    pub description: &'static str,
    /// JSON Schema of its arguments, self-contained.
    pub input_schema: &'static str,
    /// JSON Schema of the envelope it answers with.
    pub output_schema: Option<&'static str>,
    /// Whether it changes anything; all others only read.
    pub writes: bool,
    pub(crate) id: Id,
    schema: OnceLock<Schema>,
}

/// Each tool's identity in this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Describe,
    ListProcesses,
    StartRun,
    GetRun,
    GetWork,
    Claim,
    Renew,
    Upload,
    Submit,
    Escalate,
    Decide,
    Cancel,
    SendEvent,
    ListRuns,
}

impl Tool {
    /// The compiled schema of the arguments.
    pub(crate) fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| {
            let parsed = json::parse(self.input_schema.as_bytes(), 100).map_err(|e| e.message);
            #[expect(clippy::expect_used, reason = "embedded text; a test compiles every one")]
            parsed.and_then(|s| Schema::compile(&s)).expect("our own schemas compile")
        })
    }
}

macro_rules! tool {
    ($id:ident, $name:literal, $writes:literal, $description:literal) => {
        Tool {
            name: $name,
            description: $description,
            input_schema: include_str!(concat!("../../../schemas/tools/", $name, ".arguments.json")),
            output_schema: Some(include_str!("../../../schemas/shared/envelope.json")),
            writes: $writes,
            id: Id::$id,
            schema: OnceLock::new(),
        }
    };
}

static TOOLS: [Tool; 14] = [
    tool!(
        Describe,
        "describe",
        false,
        "What this server speaks and allows: protocol version, profiles, how long a claim lasts, sizes. Call it once, first."
    ),
    tool!(
        ListProcesses,
        "list_processes",
        false,
        "The published processes: what each does, when to start it, and the inputs it takes."
    ),
    tool!(StartRun, "start_run", true, "Starts a run of a process with its inputs. Returns the run view."),
    tool!(
        GetRun,
        "get_run",
        false,
        "One run as it stands: its data, the state of every step, the open work items, and the process body."
    ),
    tool!(
        GetWork,
        "get_work",
        false,
        "Your work, oldest first. For an agent: ready steps, each with the exact claim call. For a person: open work items, each with the exact decide call."
    ),
    tool!(
        Claim,
        "claim",
        true,
        "Takes a ready agent step for yourself. Returns a token, when it expires, the instructions, what the output must hold, the run data, and the handoff an earlier attempt left. Do the work, renew in time, then submit or escalate."
    ),
    tool!(
        Renew,
        "renew",
        true,
        "Extends your claim and returns a new token; the old one stops working at once. May leave a progress note."
    ),
    tool!(Upload, "upload", true, "Stores a file and returns its id, to be cited as file evidence."),
    tool!(
        Submit,
        "submit",
        true,
        "Hands in the work of your claim: output, evidence, a summary, and next with reason when the step offers routes. not_accepted lists every issue; mend them and submit again, your claim stands."
    ),
    tool!(
        Escalate,
        "escalate",
        true,
        "Gives your claimed step to a person when you cannot finish it. Your claim ends."
    ),
    tool!(
        Decide,
        "decide",
        true,
        "For people: completes, approves, rejects, returns or fails a work item. Use the decide call of the item as you last read it."
    ),
    tool!(Cancel, "cancel", true, "For operators: stops a run for good, with a reason."),
    tool!(
        SendEvent,
        "send_event",
        true,
        "Delivers a named event to a run, for a step that waits for it now or later. For agents and operators."
    ),
    tool!(ListRuns, "list_runs", false, "The organization's runs, newest first, by process, state and inputs."),
];

/// Every tool this server offers, in the order `describe` names them.
pub fn tools() -> &'static [Tool] {
    &TOOLS
}

/// The tool of a name.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|t| t.name == name)
}
