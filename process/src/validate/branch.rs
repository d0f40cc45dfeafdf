//! Branches of parallel steps and their publication rules (profile-parallel §2).

use std::collections::BTreeSet;

use super::draft::Draft;
use super::keys::Kind;
use super::links::{Link, Links};
use crate::issues::Issues;
use crate::model::{Branch, StepIndex, Target};

/// The branch of each step.
pub(super) fn branches(drafts: &[Draft<'_>], links: &Links<'_>, issues: &mut Issues) -> Vec<Option<Branch>> {
    let mut finder = Finder { drafts, links, owner: vec![None; drafts.len()], issues };
    for parallel in (0..drafts.len()).filter(|&at| drafts[at].kind == Some(Kind::Parallel)) {
        let mut listed = BTreeSet::new();
        for link in &links.out[parallel].entries {
            let Target::Step(entry) = link.to else { continue };
            if listed.insert(entry) {
                finder.enter(Branch { parallel, entry }, link);
            } else {
                finder.issues.add(&link.path, "listed twice; keep one");
            }
        }
    }
    let owner = finder.owner;
    for at in 0..drafts.len() {
        match owner[at] {
            Some(branch) => inside(at, branch, drafts, links, &owner, issues),
            None => outside(at, drafts, links, &owner, issues),
        }
    }
    if owner.first().is_some_and(Option::is_some) {
        issues.add("steps[0]", "the first step is inside a branch; a run must start outside of it");
    }
    owner
}

struct Finder<'f, 'a> {
    drafts: &'f [Draft<'a>],
    links: &'f Links<'a>,
    owner: Vec<Option<Branch>>,
    issues: &'f mut Issues,
}

impl Finder<'_, '_> {
    /// Follows `next` and `on_timeout` from the entry and stops at `join`. Each step is entered once over all branches.
    fn enter(&mut self, branch: Branch, entry: &Link) {
        let finish = format!("branch {} cannot contain a finish", name(self.drafts, branch.entry));
        if !self.take(branch, entry, &finish) {
            return;
        }
        let mut open = vec![branch.entry];
        let links = self.links;
        while let Some(at) = open.pop() {
            let out = &links.out[at];
            for link in out.next.iter().filter(|_| out.next_given).chain(&out.on_timeout) {
                let Target::Step(to) = link.to else { continue };
                let finish = format!("leaves its branch: {} is a finish; write join", name(self.drafts, to));
                if self.owner[to] != Some(branch) && self.take(branch, link, &finish) {
                    open.push(to);
                }
            }
        }
    }

    /// Adds the step that `link` leads to; `false` if it cannot belong to the branch.
    fn take(&mut self, branch: Branch, link: &Link, finish: &str) -> bool {
        let Target::Step(to) = link.to else { return false };
        let id = name(self.drafts, to);
        if to == branch.parallel {
            self.issues.add(&link.path, "routes to the parallel step; write join to end the branch");
        } else if self.drafts[to].kind == Some(Kind::Finish) {
            self.issues.add(&link.path, finish);
        } else if self.drafts[to].kind == Some(Kind::Parallel) {
            self.issues.add(&link.path, format!("nested parallel: a branch cannot contain {id}, a parallel step"));
        } else if self.owner[to].is_some() {
            self.issues.add(&link.path, format!("{id} is in two branches"));
        } else {
            self.owner[to] = Some(branch);
            return true;
        }
        false
    }
}

/// A step inside a branch. That it reaches `join` follows: it names where it goes, cannot leave, and cannot go round.
fn inside(
    at: StepIndex,
    branch: Branch,
    drafts: &[Draft<'_>],
    links: &Links<'_>,
    owner: &[Option<Branch>],
    issues: &mut Issues,
) {
    if !links.out[at].next_given {
        issues.add(drafts[at].at("next"), "missing: inside a branch every step names next or join");
    }
    if links.out[at].on_reject.is_some_and(|to| owner[to] != Some(branch)) {
        issues.add(drafts[at].at("on_reject"), "must stay in the same branch");
    }
}

fn outside(at: StepIndex, drafts: &[Draft<'_>], links: &Links<'_>, owner: &[Option<Branch>], issues: &mut Issues) {
    let out = &links.out[at];
    for link in out.next.iter().chain(&out.on_timeout) {
        match link.to {
            Target::Join => issues.add(&link.path, "join is allowed only inside a branch"),
            Target::Step(to) if owner[to].is_none() => {}
            Target::Step(to) => {
                let id = name(drafts, to);
                let mend = if out.next_given { "route elsewhere" } else { "name next" };
                issues.add(&link.path, format!("routes into a branch from outside: {id} is in a branch; {mend}"));
            }
        }
    }
    if let Some(to) = out.on_reject.filter(|&to| owner[to].is_some()) {
        let id = name(drafts, to);
        issues.add(drafts[at].at("on_reject"), format!("{id} is inside a branch; name the parallel step or another"));
    }
}

fn name<'a>(drafts: &[Draft<'a>], at: StepIndex) -> &'a str {
    drafts[at].id.unwrap_or("?")
}
