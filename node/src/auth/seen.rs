//! Groups that this node has seen identities of, for warnings when roles are bound (ROLE-UNMAPPED).

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use quorate_proto::Caller;

/// The most groups remembered; more are not noted.
const GROUPS_MAX: usize = 100_000;

/// Pairs of organization and group.
#[derive(Default)]
pub(super) struct Seen(Mutex<BTreeSet<(String, String)>>);

impl Seen {
    pub(super) fn note(&self, caller: &Caller) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for group in &caller.groups {
            if seen.len() < GROUPS_MAX {
                seen.insert((caller.org.clone(), group.clone()));
            }
        }
    }

    pub(super) fn has(&self, org: &str, group: &str) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.contains(&(org.to_owned(), group.to_owned()))
    }
}
