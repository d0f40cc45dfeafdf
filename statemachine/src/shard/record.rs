//! What completions leave in run data (§3.1).

use agentprocess::EvidenceKind;
use agentprocess::json::Object;
use serde::{Deserialize, Serialize};

use super::head::Pointer;

/// What a completion leaves in run data (§3.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// Of an agent or task step.
    Work(WorkRecord),
    /// Of an approval.
    Approved {
        /// A note, if one was given.
        note: Option<String>,
    },
    /// Of an approval.
    Rejected {
        /// The note.
        note: String,
        /// Whether the run goes back to `on_reject`, which keeps this current (REWORK-KEPT).
        kept: bool,
    },
    /// Of the step that ended the run `failed`.
    Failed {
        /// Why.
        note: String,
    },
    /// Of a wait whose time came, or a `wait_for` that timed out (WAIT-TIMEOUT).
    Waited,
    /// Of a `wait_for` that an event satisfied.
    Delivered(Delivery),
}

/// Where a delivered event's data is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delivery {
    /// Here.
    Now(Object),
    /// In the `EventHeld` at this place.
    Held(Pointer),
}

/// Completed work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRecord {
    /// The output.
    pub output: Object,
    /// The evidence.
    pub evidence: Vec<EvidenceRecord>,
    /// What was done and found.
    pub summary: Option<String>,
    /// The chosen route.
    pub next: Option<String>,
    /// Why that route.
    pub reason: Option<String>,
}

/// One evidence item on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    /// Its kind.
    pub kind: EvidenceKind,
    /// Upload id, URL or document number.
    pub reference: String,
    /// Hash of a file's bytes.
    pub sha256: Option<[u8; 32]>,
}
