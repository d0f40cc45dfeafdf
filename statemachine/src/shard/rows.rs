//! Stored rows that are not a run's: versions, definitions, requests, files.

use std::collections::BTreeMap;

use agentprocess::Process;
use agentprocess::time::Timestamp;
use quorate_proto::{Reply, Reservation};
use serde::{Deserialize, Serialize};

/// A version as this shard installed it. The hash never changes (§6.5); the maps may (ROLE-VERSIONS).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledVersion {
    /// Content hash, lower-case hex.
    pub hash: String,
    /// Role name to group id.
    pub roles: BTreeMap<String, String>,
    /// Number of the role map.
    pub mapping: u64,
    /// Group whose members decide escalations (ESC-WHERE).
    pub escalations: String,
    /// Group of the operators, told of overdue steps (DUE-NOTIFY).
    pub operators: String,
}

/// What an installed version says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The process.
    pub process: Process,
    /// The body exactly as written.
    pub body: String,
}

/// A request id that is not free. The fingerprint is SHA-256 over tool, caller and arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestRow {
    /// An accepted write of this shard used it (IDEM-KEEP).
    Recorded {
        /// Of the call.
        fingerprint: [u8; 32],
        /// The original answer.
        reply: Reply,
    },
    /// This shard is its home and gave it to a call whose run lives elsewhere.
    Reserved {
        /// Of the call.
        fingerprint: [u8; 32],
        /// Where to ask what came of it.
        reservation: Reservation,
    },
}

/// The fences of this shard against attempts that a home numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fences {
    /// Attempts with lower numbers are stale, fence or not: theirs may be gone.
    pub floor: u64,
    /// How many there are.
    pub held: u64,
}

/// An uploaded file. Its bytes are in its chunk rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// The organization.
    pub org: String,
    /// The label, never a path.
    pub file_name: String,
    /// The MIME type.
    pub content_type: String,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
    /// How many bytes.
    pub bytes: u64,
    /// How many chunk rows.
    pub chunks: u32,
    /// Identity id of the uploader.
    pub by: String,
    /// When.
    pub at: Timestamp,
}
