//! Collecting issues, and the paths they stand at.

use std::collections::BTreeSet;

use crate::model::Issue;

/// Issues in the order found.
#[derive(Default)]
pub(crate) struct Issues(Vec<Issue>);

impl Issues {
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Issue { path: path.into(), message: message.into() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds `others`, except at places that already have an issue: that one is the cause.
    pub(crate) fn add_consequences(&mut self, others: Self) {
        let causes: BTreeSet<String> = self.0.iter().map(|issue| issue.path.clone()).collect();
        self.0.extend(others.0.into_iter().filter(|issue| !causes.contains(&issue.path)));
    }

    pub(crate) fn into_vec(self) -> Vec<Issue> {
        self.0
    }
}

/// One issue alone.
pub(crate) fn only(path: &str, message: impl Into<String>) -> Issues {
    let mut issues = Issues::default();
    issues.add(path, message);
    issues
}

/// The path of `key` in the mapping at `path`; the root mapping's path is empty.
pub(crate) fn at(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
