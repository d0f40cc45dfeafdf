//! The current state of one step.

use agentprocess::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::head::Pointer;

/// The states of a step (§3.5). "Not currently reached" is `None` of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StepState {
    /// An agent may claim it.
    Ready,
    /// An agent holds it.
    Claimed,
    /// Waits on a person, a timer, an event, an escalation or its branches.
    Waiting,
    /// Completed.
    Done,
    /// Its `failed` decision, or its missing value, ended the run.
    Failed,
    /// Was open when the run ended.
    Cancelled,
}

impl StepState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Claimed => "claimed",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the step is unfinished (END-STATES).
    pub fn is_open(self) -> bool {
        match self {
            Self::Ready | Self::Claimed | Self::Waiting => true,
            Self::Done | Self::Failed | Self::Cancelled => false,
        }
    }
}

/// The current state of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepHead {
    /// Its state; `None` is "not currently reached".
    pub state: Option<StepState>,
    /// When this attempt became ready (READY-SINCE).
    pub ready_since: Timestamp,
    /// When this attempt is overdue (DUE-ATTEMPT).
    pub due: Option<Timestamp>,
    /// Whether that was announced (DUE-NOTIFY).
    pub overdue_told: bool,
    /// When a wait, or the timeout of a wait, fires.
    pub fires: Option<Timestamp>,
    /// The live claim; there is one exactly while `claimed`.
    pub claim: Option<ClaimHead>,
    /// The open work item.
    pub item: Option<ItemHead>,
    /// What this attempt left behind so far (HANDOFF-LIFE).
    pub handoff: Handoff,
    /// The current completion.
    pub current: Option<Completion>,
    /// Earlier completions, oldest first.
    pub history: Vec<Completion>,
    /// Of a parallel step: how many completions the run had at the fork.
    pub forked_after: u64,
    /// Of a parallel step: entries of the branches that have joined.
    pub joined: Vec<u32>,
}

impl StepHead {
    /// Whether the step is unfinished.
    pub fn is_open(&self) -> bool {
        self.state.is_some_and(StepState::is_open)
    }
}

/// A live claim (§6.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimHead {
    /// Its number: the token names it.
    pub number: u64,
    /// Identity id of the holder.
    pub holder: String,
    /// When the lease ends; live strictly before (LEASE-EDGE).
    pub expires: Timestamp,
    /// The latest progress note under this claim.
    pub progress: Option<Pointer>,
}

/// An open work item (§3.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemHead {
    /// Its number in the run (ITEM-ID).
    pub number: u32,
    /// When it was opened.
    pub opened: Timestamp,
    /// Who may decide it.
    pub assigned: Assigned,
    /// The escalation behind it, if any.
    pub escalation: Option<Pointer>,
}

/// Who may decide a work item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Assigned {
    /// Members of a group, judged at each call (GROUP-LIVE).
    Group(String),
    /// The person of this value, ignoring ASCII case (PERSON-VALUE).
    Person(String),
}

/// Where the parts of `handoff` are (§3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// The last progress note of an ended claim.
    pub progress: Option<Pointer>,
    /// The last return by a person.
    pub returned: Option<Pointer>,
    /// The last refused submission (HANDOFF-ISSUES).
    pub issues: Option<Pointer>,
}

/// A completion of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Where its record is.
    pub at: Pointer,
    /// Its number in order of time.
    pub order: u64,
    /// Compact bytes of its record without `history` (CAP-MEASURE).
    pub bytes: u64,
    /// A rejection that stays current until the approval completes again (REWORK-KEPT).
    pub kept: bool,
}
