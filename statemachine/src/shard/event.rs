//! The facts that make up a run. A run is nothing but its journal of these.

use agentprocess::json::Object;
use agentprocess::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::head::Assigned;
pub use super::record::{Delivery, EvidenceRecord, Record, WorkRecord};

/// One accepted write to a run, or its due timers, or a refused submission's issues: the audit record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalRow {
    /// The agreed instant.
    pub at: Timestamp,
    /// Identity id of the caller, or `server`.
    pub by: String,
    /// The request id of the write; `None` for timers.
    pub request: Option<String>,
    /// What happened, in order.
    pub events: Vec<Event>,
}

/// One fact about a run. Steps are named by their position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The run exists.
    Started(Box<Started>),
    /// A step became ready in a new attempt: `ready` for agents, `waiting` for all else.
    Reached {
        /// The step.
        step: u32,
        /// Whether an agent may claim it.
        claimable: bool,
        /// When it is overdue.
        due: Option<Timestamp>,
        /// When its wait, or the timeout of its wait, fires.
        fires: Option<Timestamp>,
    },
    /// A work item was opened for a person step.
    ItemOpened {
        /// The step.
        step: u32,
        /// Who may decide it.
        assigned: Assigned,
    },
    /// An agent took a step.
    Claimed {
        /// The step.
        step: u32,
        /// Identity id of the agent.
        holder: String,
        /// When the lease ends.
        expires: Timestamp,
    },
    /// The holder extended the lease.
    Renewed {
        /// The step.
        step: u32,
        /// When the lease ends now.
        expires: Timestamp,
        /// A non-blank note, if one came with it.
        progress: Option<String>,
    },
    /// A lease ended; the step is claimable again.
    LeaseEnded {
        /// The step.
        step: u32,
    },
    /// A submission was not accepted; only its issues are kept (HANDOFF-UNCHANGED).
    Refused {
        /// The step.
        step: u32,
        /// Each issue.
        issues: Vec<String>,
    },
    /// The holder handed the step to people.
    Escalated {
        /// The step.
        step: u32,
        /// Identity id of the agent.
        by: String,
        /// Why.
        note: String,
        /// Who may decide it.
        group: String,
    },
    /// A person sent an escalated step back: the same attempt goes on.
    Returned {
        /// The step.
        step: u32,
        /// Identity id of the person.
        by: String,
        /// What to do.
        note: String,
    },
    /// A step completed, or failed, with a record in run data.
    Completed {
        /// The step.
        step: u32,
        /// Identity id, or `server`.
        by: String,
        /// What it leaves in run data.
        record: Record,
        /// Compact bytes of the record.
        bytes: u64,
    },
    /// A step that records nothing is done: a finish, a joined parallel step.
    Passed {
        /// The step.
        step: u32,
    },
    /// A branch reached `join`.
    Joined {
        /// The parallel step.
        parallel: u32,
        /// The branch's entry.
        entry: u32,
    },
    /// Completions moved to history by a rejection.
    Rewound {
        /// The steps.
        steps: Vec<u32>,
    },
    /// An event that no wait could take yet.
    EventHeld {
        /// Its name.
        name: String,
        /// Identity id of the sender.
        by: String,
        /// Its data.
        data: Object,
        /// Compact bytes of the data.
        bytes: u64,
    },
    /// A step's `due` passed and this was announced.
    Overdue {
        /// The step.
        step: u32,
    },
    /// The run is over.
    Ended {
        /// The outcome; `None` when cancelled.
        outcome: Option<String>,
        /// Identity id, or `server`.
        by: String,
        /// The note, if there is one.
        note: Option<String>,
    },
}

/// How a run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The organization.
    pub org: String,
    /// The process.
    pub process: String,
    /// The version.
    pub version: u32,
    /// Its content hash.
    pub hash: String,
    /// `mode: "test"`.
    pub test: bool,
    /// Identity id of the starter.
    pub by: String,
    /// Person value of the starter, when a person.
    pub initiator: Option<String>,
    /// The inputs as sent.
    pub inputs: Object,
    /// Compact bytes of the inputs.
    pub bytes: u64,
    /// How many steps the process has.
    pub steps: u32,
}
