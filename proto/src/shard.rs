//! Commands of a shard group.

use std::collections::BTreeMap;

use agentprocess::json::{Object, Value};
use agentprocess::time::{Span, Timestamp};
use agentprocess::{EvidenceKind, Process};
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::id::{FileId, RunId};
use crate::request::{RequestCommand, Right};

/// A command for a shard group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShardCommand {
    /// Installs a version's definition and role map, before the first run that uses it or after a re-map.
    InstallVersion(Box<InstallVersion>),
    /// A write of §4.
    Write {
        /// By what right it uses its request id here.
        right: Right,
        /// The call.
        write: Box<Write>,
    },
    /// Fires due timers: all of one run, or a bounded number of the shard's.
    Tick {
        /// The run, or `None` for the shard's earliest.
        run: Option<RunId>,
    },
    /// One chunk of a file whose `Upload` follows.
    StoreChunk {
        /// The file.
        file: FileId,
        /// 0, 1, 2…
        index: u32,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Notifications that were delivered, or told to the log since the outbox was full; their rows go.
    OutboxSent {
        /// Their sequence numbers.
        sequences: Vec<u64>,
    },
    /// Coordinates a request id with another shard.
    Request {
        /// The organization.
        org: String,
        /// The request id.
        request: String,
        /// What is to be done.
        command: RequestCommand,
    },
}

/// A version as a shard needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallVersion {
    /// The organization.
    pub org: String,
    /// The version's number.
    pub version: u32,
    /// Content hash, lower-case hex.
    pub hash: String,
    /// Role name to group id (ROLE-VERSIONS).
    pub roles: BTreeMap<String, String>,
    /// Number of the role map: a map never takes the place of one with a higher number.
    pub mapping: u64,
    /// Group whose members decide escalations (ESC-WHERE).
    pub escalations: String,
    /// Group of the organization's operators, told of overdue steps (DUE-NOTIFY).
    pub operators: String,
    /// The process.
    pub process: Process,
    /// The body exactly as written.
    pub body: String,
}

/// A write of §4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Who calls.
    pub caller: Caller,
    /// The request id (IDEM-SCOPE).
    pub request: String,
    /// SHA-256 over tool, caller and arguments in the NUM-COMPARE form (IDEM-SAME, IDEM-IDENTITY).
    pub fingerprint: [u8; 32],
    /// The settings in force.
    pub limits: Limits,
    /// What is to be done.
    pub action: Action,
}

/// Settings that decide an outcome travel in the entry, since only the entry may influence the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long a claim lasts.
    pub lease: Span,
    /// `limits.runDataBytes` (CAP-MEASURE).
    pub run_data_bytes_max: u64,
}

/// The writes of §4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// `start_run`
    StartRun {
        /// Chosen by the proposer, in this shard.
        run: RunId,
        /// Process name.
        process: String,
        /// Version, resolved by the proposer.
        version: u32,
        /// The inputs as sent.
        inputs: Object,
        /// `mode: "test"`.
        test: bool,
    },
    /// `claim`
    Claim {
        /// The run.
        run: RunId,
        /// The step's id as sent.
        step: String,
        /// Key for the token.
        key: u32,
    },
    /// `renew`
    Renew {
        /// The verified token.
        token: Token,
        /// The note, if any.
        progress: Option<String>,
        /// Key for the new token.
        key: u32,
    },
    /// `submit`
    Submit {
        /// The verified token.
        token: Token,
        /// The work.
        submission: Submission,
    },
    /// `escalate`
    Escalate {
        /// The verified token.
        token: Token,
        /// The note.
        note: String,
        /// Whether anybody is known to be in the escalation group, as far as the proposer can tell (ESC-WHERE).
        attended: bool,
    },
    /// `decide`
    Decide(Box<Decide>),
    /// `cancel`
    Cancel {
        /// The run.
        run: RunId,
        /// Why.
        reason: String,
    },
    /// `send_event`
    SendEvent {
        /// The run.
        run: RunId,
        /// The event's name as sent.
        name: String,
        /// Its data; `None` when omitted (EVENT-DATA).
        data: Option<Object>,
    },
    /// `upload`, after its chunks.
    Upload {
        /// Chosen by the proposer, in this shard.
        file: FileId,
        /// The label.
        file_name: String,
        /// The MIME type.
        content_type: String,
        /// SHA-256 of the bytes.
        sha256: [u8; 32],
        /// How many bytes.
        bytes: u64,
        /// How many chunks.
        chunks: u32,
    },
}

/// What a token that verified says. Whether it is current is the state's to judge (TOKEN-FORM).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// The run.
    pub run: RunId,
    /// Position of the step.
    pub step: u32,
    /// The claim's number.
    pub number: u64,
    /// Identity id of the holder (TOKEN-OTHER).
    pub holder: String,
}

/// A decision on a work item (§3.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decide {
    /// The run.
    pub run: RunId,
    /// The work item's id as sent.
    pub work_item: String,
    /// The snapshot as sent (SNAP-ECHO).
    pub snapshot: String,
    /// What was decided.
    pub decision: Decision,
}

/// The decisions, each with what it takes; the cross-argument rules were checked before (DECIDE-ARGS).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// With the work; `output` may be absent (RECORD-EMPTY, CHK-CANDIDATE).
    Completed(Submission),
    /// With an optional note.
    Approved {
        /// Non-blank, or absent.
        note: Option<String>,
    },
    /// With a note.
    Rejected {
        /// Non-blank.
        note: String,
    },
    /// With a note.
    Returned {
        /// Non-blank.
        note: String,
    },
    /// With a note.
    Failed {
        /// Non-blank.
        note: String,
    },
}

/// Submitted work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The output; `None` when a person left it out.
    pub output: Option<Object>,
    /// The evidence with the facts gathered about files; `None` when left out.
    pub evidence: Option<Vec<Evidence>>,
    /// What was done and found.
    pub summary: Option<String>,
    /// The chosen route.
    pub next: Option<String>,
    /// Why that route.
    pub reason: Option<String>,
}

/// One evidence item with what the proposer found out about it (FILE-VERIFY).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its kind.
    pub kind: EvidenceKind,
    /// Upload id, URL or document number, as sent.
    pub reference: String,
    /// For a file: what its stored bytes say.
    pub file: FileFact,
}

/// What the proposer found under a file reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileFact {
    /// Not a file item.
    NotAFile,
    /// No such upload in this organization.
    Missing,
    /// The bytes no longer match the recorded hash.
    Mismatch,
    /// The bytes match this hash.
    Verified([u8; 32]),
}

/// A notification, as an outbox row holds it. None exists for a test run (§3.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// What happened: `step_overdue`, or `escalation_unattended`.
    pub kind: String,
    /// When.
    pub at: Timestamp,
    /// The organization.
    pub org: String,
    /// The run.
    pub run: RunId,
    /// The process.
    pub process: String,
    /// The step's id.
    pub step: String,
    /// Groups that hear of it.
    pub groups: Vec<String>,
    /// Person values that hear of it.
    pub people: Vec<String>,
    /// Kind-specific details for the message.
    pub details: Value,
}
