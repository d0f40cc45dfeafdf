//! What a document needs that its surroundings may not give: profiles, tools, a folder's name.

use crate::lookup::{CHECK, PARALLEL};
use crate::model::{Document, Issue, StepKind};

/// What a server offers, as its `describe` lists it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Profiles, such as `parallel-1`.
    pub profiles: &'a [&'a str],
    /// Tools, such as `upload`.
    pub tools: &'a [&'a str],
}

impl Document {
    /// Every place that needs a profile or tool that `offer` lacks; a server refuses to publish then (§4.2, §8).
    pub fn not_offered(&self, offer: &Offer<'_>) -> Vec<Issue> {
        let mut issues = Vec::new();
        let mut need = |index: usize, key: &str, what: &str, name: &str, offered: &[&str]| {
            if !offered.contains(&name) {
                let message = format!("needs {what} {name}, which this server does not offer");
                issues.push(Issue { path: format!("steps[{index}].{key}"), message });
            }
        };
        for (index, step) in self.process.steps.iter().enumerate() {
            if step.is_parallel() {
                need(index, "parallel", "profile", PARALLEL, offer.profiles);
            }
            if step.work().is_some_and(|work| work.check.is_some()) {
                need(index, "check", "profile", CHECK, offer.profiles);
            }
            if step.needs_upload() {
                need(index, "evidence", "the tool", "upload", offer.tools);
            }
            if matches!(step.kind, StepKind::WaitFor { .. }) {
                need(index, "wait_for", "the tool", "send_event", offer.tools);
            }
        }
        issues
    }
}
