//! Collecting issues, and the paths they stand at.

use std::collections::BTreeSet;

use crate::issue_list::ISSUES_MAX;
use crate::model::Issue;

/// Longest path or message before it is cut.
const TEXT_BYTES_MAX: usize = 1000;

/// Issues in the order found.
#[derive(Default)]
pub(crate) struct Issues(Vec<Issue>);

impl Issues {
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if !self.full() {
            self.0.push(Issue { path: short(path.into()), message: short(message.into()) });
        }
    }

    /// Whether further issues are dropped: a hostile file must not cost more than a bad one.
    pub(crate) fn full(&self) -> bool {
        self.0.len() >= ISSUES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds `others`, except at places that already have an issue: that one is the cause.
    pub(crate) fn add_consequences(&mut self, others: Self) {
        let causes: BTreeSet<String> = self.0.iter().map(|issue| issue.path.clone()).collect();
        self.0.extend(others.0.into_iter().filter(|issue| !causes.contains(&issue.path)));
        self.0.truncate(ISSUES_MAX);
    }

    pub(crate) fn into_vec(self) -> Vec<Issue> {
        self.0
    }
}

/// Names from the file may be as long as the file.
fn short(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
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
