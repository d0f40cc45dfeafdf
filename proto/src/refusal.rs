//! A call that was refused (§4.3).

use serde::{Deserialize, Serialize};

/// The error codes of §4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Code {
    /// Bad arguments.
    Invalid,
    /// The submission broke a rule; nothing changed.
    NotAccepted,
    /// The token, claim or snapshot is no longer current.
    Stale,
    /// Someone else holds it, it is decided, or the request id is taken.
    Conflict,
    /// Not allowed for this identity.
    Forbidden,
    /// No such run, step or process in this organization.
    NotFound,
    /// Transient; the same request id settles it.
    Retry,
}

impl Code {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotAccepted => "not_accepted",
            Self::Stale => "stale",
            Self::Conflict => "conflict",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Retry => "retry",
        }
    }
}

/// Why a call was refused; what the caller is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// For people: what is wrong and what to do next.
    pub message: String,
    /// Each thing wrong, in the order of ISSUE-ORDER.
    pub issues: Vec<String>,
}

impl Refusal {
    /// A refusal without issues.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), issues: Vec::new() }
    }

    /// The same with issues.
    #[must_use]
    pub fn with(mut self, issues: Vec<String>) -> Self {
        self.issues = issues;
        self
    }
}
