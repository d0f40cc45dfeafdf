//! One file per command.

pub(super) mod add_key;
pub(super) mod import_draft;
pub(super) mod map_roles;
pub(super) mod nodes;
pub(in crate::catalog) mod publish;
pub(super) mod retire;

use quorate_proto::{Code, Refusal};

/// A process that is not there, in words for its operator.
fn no_process(process: &str) -> Refusal {
    Refusal::new(
        Code::NotFound,
        format!("No published process is named {process}. Look for it with quorate process list."),
    )
}
