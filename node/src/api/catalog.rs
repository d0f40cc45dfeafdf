//! What the tools read from the catalog.
pub(crate) use quorate_statemachine::catalog::read::{VersionRow, keys, latest, list, version};
