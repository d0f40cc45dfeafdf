//! Refusals: what a caller is told, and what to do next.

use quorate_proto::{Code, Refusal};

use crate::store::Fatal;

/// Why a command stops. A refusal is told to the caller; a `Fatal` stops the replica. Neither becomes the other.
#[derive(Debug)]
pub enum Stop {
    /// The call is refused and its changes are dropped.
    Refused(Refusal),
    /// A submission broke rules: refused, and its issues are kept in the step's handoff (HANDOFF-UNCHANGED).
    Unaccepted {
        /// The step.
        step: u32,
        /// Each issue, in ISSUE-ORDER.
        issues: Vec<String>,
    },
    /// The replica stops.
    Fatal(Fatal),
}

impl From<Fatal> for Stop {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}
impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// No such run here; the same words whether it exists elsewhere or not (AUTH-401).
pub fn run_not_found() -> Refusal {
    Refusal::new(Code::NotFound, "No such run in this organization. Check the runId, or list runs with list_runs.")
}

/// The run is over.
pub fn run_ended() -> Refusal {
    let message = "The run has ended or was cancelled: nothing in it can change. Read it with get_run.";
    Refusal::new(Code::Conflict, message).with(vec!["run_ended".to_owned()])
}

/// The request id belongs to another call.
pub fn request_id_reused() -> Refusal {
    let message = "This requestId was used for another call. Send this call with a new requestId.";
    Refusal::new(Code::Conflict, message).with(vec!["request_id_reused".to_owned()])
}

/// The submission broke rules.
pub fn not_accepted(issues: Vec<String>) -> Refusal {
    let message = "The work was not accepted and nothing changed. Mend each issue and send it again.";
    Refusal::new(Code::NotAccepted, message).with(issues)
}

/// Bad arguments that only the run's process can judge.
pub fn invalid(issues: Vec<String>) -> Refusal {
    Refusal::new(Code::Invalid, "The arguments are not valid. Mend each issue and call again.").with(issues)
}

/// The token's lease ended, or its claim was renewed, used or replaced.
pub fn stale_token() -> Refusal {
    let message = "This token is no longer current: its lease ended, or its claim was renewed, used or replaced. \
                   Stop, and find work with get_work.";
    Refusal::new(Code::Stale, message)
}

/// Not allowed for this identity.
pub fn forbidden(message: &str) -> Refusal {
    Refusal::new(Code::Forbidden, message)
}

/// A conflict with its one issue.
pub fn conflict(issue: &str, message: &str) -> Refusal {
    Refusal::new(Code::Conflict, message).with(vec![issue.to_owned()])
}
