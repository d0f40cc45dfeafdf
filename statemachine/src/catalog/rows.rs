//! Rows of the catalog, and what reads make of them.

use std::collections::BTreeMap;

use agentprocess::Process;
use agentprocess::time::Timestamp;
use quorate_proto::catalog::{ImportDraft, Node};
use serde::{Deserialize, Serialize};

/// A draft and when it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftRow {
    /// What was imported.
    pub draft: ImportDraft,
    /// When.
    pub imported_at: Timestamp,
}

/// A node of the cluster. The row of a removed one stays, so that its number is not given again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow {
    /// The node.
    pub node: Node,
    /// Whether it was taken out.
    pub removed: bool,
}

/// A node that is to lead nothing until it is resumed. In a row of its own: whoever knows nothing of it reads all else as ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainRow {
    /// Since when.
    pub at: Timestamp,
    /// Identity id of who wants it.
    pub by: String,
}

/// What stands of a process in an organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRow {
    /// Number of the latest version.
    pub latest: u32,
    /// Whether the process is retired (VERSIONS).
    pub retired: bool,
}

/// A published version as it is stored. Only `roles` may change later, and `mapping` with them (ROLE-VERSIONS).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredVersion {
    /// Content hash, lower-case hex.
    pub hash: String,
    /// The process.
    pub process: Process,
    /// The body exactly as written.
    pub body: String,
    /// Role name to group id.
    pub roles: BTreeMap<String, String>,
    /// How often they were mapped anew: tells an older map from a newer one wherever a copy of it comes late.
    pub mapping: u64,
    /// Group for escalations; `None` takes the operators (ESC-WHERE).
    pub escalations: Option<String>,
    /// When it was published.
    pub published_at: Timestamp,
    /// Identity id of who published it.
    pub by: String,
}

/// A published version as a reader gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRow {
    /// Its number: 1, 2, 3… (VERSIONS).
    pub number: u32,
    /// Content hash, lower-case hex.
    pub hash: String,
    /// The process.
    pub process: Process,
    /// The body exactly as written.
    pub body: String,
    /// Role name to group id.
    pub roles: BTreeMap<String, String>,
    /// How often they were mapped anew: tells an older map from a newer one wherever a copy of it comes late.
    pub mapping: u64,
    /// Group for escalations; `None` takes the operators (ESC-WHERE).
    pub escalations: Option<String>,
    /// When it was published.
    pub published_at: Timestamp,
    /// Identity id of who published it.
    pub by: String,
    /// Whether its process is retired now.
    pub retired: bool,
}

/// Who did what, when: the catalog's audit record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordRow {
    /// When.
    pub at: Timestamp,
    /// Identity id.
    pub by: String,
    /// The process.
    pub process: String,
    /// What.
    pub done: Done,
}

/// What an operator did to a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Done {
    /// Imported a draft.
    Imported {
        /// Its content hash.
        hash: String,
    },
    /// Published a version.
    Published {
        /// Its number.
        version: u32,
        /// Its content hash.
        hash: String,
        /// Its role map.
        roles: BTreeMap<String, String>,
    },
    /// Re-mapped roles.
    Mapped {
        /// The version.
        version: u32,
        /// The whole map after it.
        roles: BTreeMap<String, String>,
    },
    /// Retired the process.
    Retired,
    /// Brought it back.
    Restored,
}
