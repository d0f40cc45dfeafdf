//! Commands of the catalog group.

use std::collections::{BTreeMap, BTreeSet};

use agentprocess::Process;
use serde::{Deserialize, Serialize};

/// A command for the catalog group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatalogCommand {
    /// Adds a signing key to the ring; the newest signs, all verify.
    AddKey {
        /// 32 random bytes, chosen by the proposer.
        secret: [u8; 32],
    },
    /// Stores a draft of a process (PUB-WHO: the edge has checked that the caller is an operator).
    ImportDraft(Box<ImportDraft>),
    /// Publishes the draft of `process`, or returns the latest version when it is identical (PUB-AGAIN).
    Publish {
        /// The organization.
        org: String,
        /// The process.
        process: String,
        /// Role name to group id.
        roles: BTreeMap<String, String>,
        /// Group for escalations; `None` takes the operators (ESC-WHERE).
        escalations: Option<String>,
        /// Identity id of who publishes.
        by: String,
        /// The draft's hash the publisher saw; refused when the draft has changed since.
        hash: Option<String>,
    },
    /// Re-maps roles of a published version (ROLE-VERSIONS).
    MapRoles {
        /// The organization.
        org: String,
        /// The process.
        process: String,
        /// The version.
        version: u32,
        /// Role name to group id.
        roles: BTreeMap<String, String>,
        /// Identity id of who re-maps.
        by: String,
    },
    /// Retires a process, or brings it back (VERSIONS).
    Retire {
        /// The organization.
        org: String,
        /// The process.
        process: String,
        /// `false` brings it back.
        retired: bool,
        /// Identity id of who retires.
        by: String,
    },
    /// Changes which nodes the cluster has.
    Node(NodeCommand),
}

/// A command about the cluster's nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeCommand {
    /// Notes the founders, and with what they found the shards. Of no effect once there are nodes: each founder may say it.
    Found {
        /// The founders, by number.
        nodes: BTreeMap<u64, Node>,
        /// How many replicas each shard is to have; it never changes.
        replicas: u16,
        /// The nodes of each shard's replicas.
        shards: BTreeMap<u16, BTreeSet<u64>>,
    },
    /// Takes a new node in, under the next number. A disk that is in gets the number it has.
    Join(Node),
    /// Notes that a node is elsewhere now.
    Move {
        /// Its number.
        node: u64,
        /// Where peers reach it.
        address: String,
        /// Its zone, if it is in one.
        zone: Option<String>,
    },
    /// Takes a node out, for good: its number is never given again.
    Remove {
        /// Its number.
        node: u64,
    },
    /// Wants the replicas of a shard elsewhere. Refused when they are not wanted where the planner thought.
    Place {
        /// The shard.
        shard: u16,
        /// Where they are wanted until now.
        from: BTreeSet<u64>,
        /// Where they are wanted from now on: one replica differs.
        to: BTreeSet<u64>,
    },
    /// Wants a node to lead nothing until it is resumed. Refused when nobody would be left to lead some group.
    Drain {
        /// Its number.
        node: u64,
        /// Identity id of who wants it.
        by: String,
        /// Who votes in the catalog group, as whoever proposes this has worked out.
        catalog: BTreeSet<u64>,
    },
    /// Lets a node lead again.
    Resume {
        /// Its number.
        node: u64,
    },
}

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Node {
    /// Where peers reach it: host and port.
    pub address: String,
    /// Names the life of its disk: random, chosen when the disk is first used.
    pub instance: [u8; 16],
    /// What it may be lost with: replicas of a shard are kept in different zones. None: it is a zone of its own.
    pub zone: Option<String>,
}

/// A draft: a valid document waiting to be published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportDraft {
    /// The organization.
    pub org: String,
    /// The file as imported, for `show` and export.
    pub source: String,
    /// The validated process.
    pub process: Process,
    /// The body exactly as written.
    pub body: String,
    /// Content hash, lower-case hex.
    pub hash: String,
    /// Identity id of the importer.
    pub by: String,
}

/// The catalog's answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatalogReply {
    /// A key was added.
    KeyAdded {
        /// Its number.
        key: u32,
    },
    /// The draft is stored.
    Drafted,
    /// The version that now stands.
    Published {
        /// Its number.
        version: u32,
        /// Whether this call created it.
        created: bool,
    },
    /// Roles were mapped.
    Mapped,
    /// Retired or brought back.
    Retired,
    /// The node has this number, or had it.
    Node {
        /// Its number; 0 for all founders.
        node: u64,
    },
    /// The replicas of the shard are wanted there now.
    Placed,
}
