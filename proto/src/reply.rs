//! What an accepted command is answered with. Small: views are rebuilt from the journal at `revision`, so that an
//! answer and its replay come from one function (IDEM-ORIGINAL).

use agentprocess::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::catalog::CatalogReply;
use crate::id::{FileId, RunId};
use crate::request::RequestReply;

/// The answer to an accepted command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Nothing to tell (ticks, installs, chunks, outbox acknowledgements).
    Done,
    /// `start_run`, `submit`, `escalate`, `decide`, `cancel`: the run view at `revision` as seen at `at`.
    Run(Seen),
    /// `claim`.
    Claimed {
        /// The run as the claim saw it.
        seen: Seen,
        /// The claim.
        claim: Claim,
    },
    /// `renew`.
    Renewed {
        /// The claim under its new number.
        claim: Claim,
    },
    /// `send_event`.
    EventSent {
        /// The step that consumed it, if any did.
        consumed_by: Option<String>,
    },
    /// `upload`.
    Uploaded {
        /// The file.
        file: FileId,
        /// SHA-256 of its bytes.
        sha256: [u8; 32],
        /// How many bytes.
        bytes: u64,
    },
    /// The catalog's answers.
    Catalog(CatalogReply),
    /// About a request id.
    Request(RequestReply),
}

/// A run at one revision, seen at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The run.
    pub run: RunId,
    /// Number of journal rows that make the state.
    pub revision: u64,
    /// The agreed instant of the entry.
    pub at: Timestamp,
}

/// A claim as the edge makes a token of it. The token is a MAC over these, so a replay gives the same token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The run.
    pub run: RunId,
    /// Position of the step.
    pub step: u32,
    /// Advances with each claim and renewal of the run.
    pub number: u64,
    /// Identity id of the holder.
    pub holder: String,
    /// Which key of the ring signs the token.
    pub key: u32,
    /// When the lease ends.
    pub expires: Timestamp,
}
