//! The small current state of a run. It points at journal rows instead of copying what they hold.

use agentprocess::time::Timestamp;
use quorate_proto::RunId;
use serde::{Deserialize, Serialize};

pub use super::step::{Assigned, ClaimHead, Completion, Handoff, ItemHead, StepHead, StepState};

/// A place in a run's journal: the row and the event in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pointer {
    /// The journal row's number, from 1.
    pub revision: u64,
    /// Position of the event in the row.
    pub index: u32,
}

/// The current state of a run. Only [`super::fold::fold`] changes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The run.
    pub run: RunId,
    /// Number of journal rows folded in.
    pub revision: u64,
    /// The organization.
    pub org: String,
    /// The process's name.
    pub process: String,
    /// The pinned version (§6.5).
    pub version: u32,
    /// `mode: "test"`.
    pub test: bool,
    /// Identity id of the starter.
    pub started_by: String,
    /// Person value of the starter, when a person started it (§3.4 `initiator`).
    pub initiator: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// Latest change that a view shows (VIEW-UPDATED).
    pub updated_at: Timestamp,
    /// How it ended, once it has.
    pub ended: Option<Ended>,
    /// Compact bytes of the inputs (CAP-MEASURE).
    pub input_bytes: u64,
    /// Digest of each input, for lists.
    pub input_digests: Vec<[u8; 16]>,
    /// The steps in file order.
    pub steps: Vec<StepHead>,
    /// Number of the last claim or renewal.
    pub claims: u64,
    /// Number of the last work item.
    pub items: u32,
    /// Number of the last completion, in order of time (REWORK-AFTER).
    pub completions: u64,
    /// Held events, oldest first (§3.6).
    pub held: Vec<Held>,
}

/// How a run ended (§3.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The outcome; `None` when cancelled (END-RECORD).
    pub outcome: Option<String>,
    /// Identity id, or `server`.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// The note, if the ending has one.
    pub note: Option<String>,
}

/// The states of a run (§3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RunState {
    /// Some step is ready or claimed.
    Active,
    /// Only people, timers, events or escalations are pending.
    Waiting,
    /// Ended with an outcome.
    Ended,
    /// Cancelled by an operator.
    Cancelled,
}

impl RunState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Active, Self::Waiting, Self::Ended, Self::Cancelled];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Waiting => "waiting",
            Self::Ended => "ended",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of a word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }

    pub(super) fn tag(self) -> u8 {
        match self {
            Self::Active => 0,
            Self::Waiting => 1,
            Self::Ended => 2,
            Self::Cancelled => 3,
        }
    }

    pub(super) fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.tag() == tag)
    }
}

/// A held event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Where its data and sender are.
    pub at: Pointer,
    /// Compact bytes of its data.
    pub bytes: u64,
}

impl Head {
    /// The run's state (VIEW-STATES).
    pub fn state(&self) -> RunState {
        match &self.ended {
            Some(Ended { outcome: Some(_), .. }) => RunState::Ended,
            Some(Ended { outcome: None, .. }) => RunState::Cancelled,
            None => {
                let active = |s: &StepHead| matches!(s.state, Some(StepState::Ready | StepState::Claimed));
                if self.steps.iter().any(active) { RunState::Active } else { RunState::Waiting }
            }
        }
    }

    /// The step that has this open item.
    pub fn open_item(&self, number: u32) -> Option<(usize, &ItemHead)> {
        self.steps.iter().enumerate().find_map(|(i, s)| Some((i, s.item.as_ref().filter(|w| w.number == number)?)))
    }
}
