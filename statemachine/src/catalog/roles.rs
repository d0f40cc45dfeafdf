//! Role names and their groups.

use std::collections::{BTreeMap, BTreeSet};

use agentprocess::{Assignee, Process, StepKind};

/// Longest group id, in bytes.
const GROUP_BYTES_MAX: usize = 256;

/// The role names that a process uses.
pub fn names(process: &Process) -> BTreeSet<&str> {
    let assignees = process.steps.iter().filter_map(|step| match &step.kind {
        StepKind::Task { person, .. } | StepKind::Approve { person, .. } => Some(person),
        StepKind::Agent(_)
        | StepKind::Wait { .. }
        | StepKind::WaitUntil { .. }
        | StepKind::WaitFor { .. }
        | StepKind::Finish { .. }
        | StepKind::Parallel { .. } => None,
    });
    assignees
        .filter_map(|person| match person {
            Assignee::Role(name) => Some(name.as_str()),
            Assignee::Initiator | Assignee::Path(_) => None,
        })
        .collect()
}

/// Everything wrong with a role map: an unused name, a group id that is none, a role without a group (ROLE-UNMAPPED).
pub fn issues(process: &Process, roles: &BTreeMap<String, String>) -> Vec<String> {
    let mut issues = unused(process, roles);
    for name in names(process) {
        if !roles.contains_key(name) {
            issues.push(format!("roles.{name}: bind this role to a group"));
        }
    }
    issues
}

/// What is wrong with the bindings that are there: an unused name, or a group id that is none.
pub fn unused(process: &Process, roles: &BTreeMap<String, String>) -> Vec<String> {
    let used = names(process);
    let mut issues = Vec::new();
    for (name, group) in roles {
        if !used.contains(name.as_str()) {
            issues.push(format!("roles.{name}: the process has no such role; take this binding away"));
        } else if !is_group(group) {
            issues.push(format!("roles.{name}: not a group id; write 1 to {GROUP_BYTES_MAX} bytes without blanks"));
        }
    }
    issues
}

/// Whether a text can be a group id.
pub fn is_group(id: &str) -> bool {
    !id.is_empty() && id.len() <= GROUP_BYTES_MAX && !id.chars().any(|c| c.is_whitespace() || c.is_control())
}
