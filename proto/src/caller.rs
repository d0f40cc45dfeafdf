//! Who makes a call.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// An authenticated identity in one organization (design §8). One credential is exactly one of these (IDENT-KINDS).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The organization.
    pub org: String,
    /// Agent or human.
    pub kind: CallerKind,
    /// Stable identity id: what `by` and `startedBy` show (BY-FORM).
    pub id: String,
    /// The person value of a human (an e-mail address), if known.
    pub person: Option<String>,
    /// Groups, the organization's operator group included for an operator (GROUP-LIVE).
    pub groups: BTreeSet<String>,
    /// Whether this is a human operator (OPERATOR).
    pub operator: bool,
    /// Processes an agent is limited to; `None` is all (WORK-MAY).
    pub processes: Option<BTreeSet<String>>,
}

/// The two kinds of identity (IDENT-KINDS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CallerKind {
    /// A program.
    Agent,
    /// A person.
    Human,
}

impl CallerKind {
    /// The word for it, in fingerprints and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Human => "human",
        }
    }
}
