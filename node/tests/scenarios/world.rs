//! What a scenario needs of a server. Kept small, so that another kind of server is little work to add.

use agentprocess::json::Value;
use agentprocess::time::{Span, Timestamp};

/// A server with the actors of the scenarios: organization A with agents `a1`, `a2` and people `rita`, `ron` (`g_rev`),
/// `fay` (`g_fin`), `olga` (operator), `sam` (no group); organization B with agent `b1`, person `bea`, operator `ben`.
pub trait World: Sync {
    /// Calls a tool as `actor` and gives the whole envelope; `Err` is a fault of the test, never a refusal.
    fn call(&self, actor: &str, tool: &str, arguments: &Value) -> Result<Value, String>;

    /// Imports and publishes a document in `org` (`A` or `B`) with each role mapped to the group that `group` gives.
    /// `Err` holds every issue.
    fn publish(&self, org: &str, source: &str, group: &dyn Fn(&str) -> String) -> Result<Published, Vec<String>>;

    /// Imports a document as a draft and leaves it at that; its process's roles.
    fn import(&self, org: &str, source: &str) -> Result<Vec<String>, Vec<String>>;

    /// The agreed clock.
    fn now(&self) -> Timestamp;

    /// Moves the agreed clock on.
    fn advance(&self, by: Span);

    /// Moves the agreed clock on and fires nothing: the next call finds what is due.
    fn pass(&self, by: Span);

    /// Opens a file's url: the bytes, or the status that refused it.
    fn open(&self, url: &str) -> Result<Vec<u8>, u16>;

    /// What left the server since the last look, in order, each as `kind run step → receivers`.
    fn notifications(&self) -> Vec<Value>;

    /// The process that reads documents.
    fn pid(&self) -> u32;

    /// The identity id that records show for `actor`.
    fn identity(&self, actor: &str) -> String;
}

/// A version that was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its number.
    pub version: u32,
    /// Its content hash.
    pub hash: String,
}

/// Settings a file may ask for in its header.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many shards runs are spread over.
    pub shards: u16,
}

impl Default for Settings {
    /// Two shards, so that lists go over more than one.
    fn default() -> Self {
        Self { shards: 2 }
    }
}

/// The actors with their organization, kind and groups. An operator is in `g_ops`.
pub const ACTORS: &[(&str, &str, bool, &[&str])] = &[
    ("a1", "A", false, &[]),
    ("a2", "A", false, &[]),
    ("rita", "A", true, &["g_rev"]),
    ("ron", "A", true, &["g_rev"]),
    ("fay", "A", true, &["g_fin"]),
    ("olga", "A", true, &["g_ops"]),
    ("sam", "A", true, &[]),
    ("b1", "B", false, &[]),
    ("bea", "B", true, &["g_rev"]),
    ("ben", "B", true, &["g_ops"]),
];

/// The group that the scenarios map a role to.
pub fn group_of(role: &str) -> String {
    match role {
        "reviewer" => "g_rev".to_owned(),
        "finance" => "g_fin".to_owned(),
        other => format!("g_{other}"),
    }
}

/// The organization of an actor.
pub fn org_of(actor: &str) -> &'static str {
    ACTORS.iter().find(|(name, ..)| *name == actor).map_or("A", |(_, org, ..)| org)
}
