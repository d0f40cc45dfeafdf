//! From names of steps to positions.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::keys::Kind;
use super::routes::RawNext;
use crate::issues::Issues;
use crate::model::{StepIndex, Target};

/// An edge as the file writes it.
pub(super) struct Link {
    pub to: Target,
    pub path: String,
}

/// Where one step leads.
#[derive(Default)]
pub(super) struct Out {
    pub next: Vec<Link>,
    /// Whether the file names `next`; else it is the following step, outside of branches.
    pub next_given: bool,
    pub on_timeout: Option<Link>,
    pub on_reject: Option<StepIndex>,
    pub entries: Vec<Link>,
}

pub(super) struct Links<'a> {
    /// Positions by id, the first of equal ones.
    pub index: BTreeMap<&'a str, StepIndex>,
    pub out: Vec<Out>,
    /// Whether every edge is known; if not, reachability says nothing that its cause does not say.
    pub complete: bool,
}

pub(super) fn resolve<'a>(drafts: &[Draft<'a>], issues: &mut Issues) -> Links<'a> {
    let parallel = drafts.iter().any(|draft| draft.kind == Some(Kind::Parallel));
    let mut index = BTreeMap::new();
    for (at, draft) in drafts.iter().enumerate() {
        let Some(id) = draft.id else { continue };
        if let Some(first) = index.get(id) {
            issues.add(draft.at("id"), format!("duplicate of steps[{first}]"));
            continue;
        }
        if id == "join" && parallel {
            issues.add(draft.at("id"), "join is reserved in a process with a parallel step; take another id");
        }
        index.insert(id, at);
    }
    let complete = drafts.iter().all(|draft| draft.id.is_some() && draft.kind.is_some());
    let mut names = Names { index: &index, parallel, complete, issues };
    let out = drafts.iter().enumerate().map(|(at, draft)| names.out(at, draft, drafts.len())).collect();
    let complete = names.complete;
    Links { index, out, complete }
}

struct Names<'n, 'a> {
    index: &'n BTreeMap<&'a str, StepIndex>,
    parallel: bool,
    complete: bool,
    issues: &'n mut Issues,
}

impl Names<'_, '_> {
    fn out(&mut self, at: StepIndex, draft: &Draft<'_>, count: usize) -> Out {
        let next_path = draft.at("next");
        let next = match &draft.next {
            Some(RawNext::One(to)) => self.link(to, &next_path).into_iter().collect(),
            Some(RawNext::Choice(routes)) => routes.iter().filter_map(|r| self.link(r.to, &r.path)).collect(),
            Some(RawNext::Broken) => self.unknown(),
            None => self.following(at, draft, &next_path, count),
        };
        let on_timeout = draft.on_timeout.and_then(|to| self.link(to, &draft.at("on_timeout")));
        let on_reject = draft.on_reject.and_then(|to| self.step(to, &draft.at("on_reject")));
        let entry = |(i, to): (usize, &&str)| {
            let path = format!("{}[{i}]", draft.at("parallel"));
            self.step(to, &path).map(|to| Link { to: Target::Step(to), path })
        };
        let entries = draft.entries.iter().flatten().enumerate().filter_map(entry).collect();
        Out { next, next_given: draft.next.is_some(), on_timeout, on_reject, entries }
    }

    fn unknown(&mut self) -> Vec<Link> {
        self.complete = false;
        Vec::new()
    }

    /// The default `next`: the following step in the list (§2.2).
    fn following(&mut self, at: StepIndex, draft: &Draft<'_>, path: &str, count: usize) -> Vec<Link> {
        if matches!(draft.kind, None | Some(Kind::Finish)) {
            return Vec::new();
        }
        if at + 1 < count {
            return vec![Link { to: Target::Step(at + 1), path: path.to_owned() }];
        }
        self.issues.add(path, "last step must name next");
        self.unknown()
    }

    fn link(&mut self, name: &str, path: &str) -> Option<Link> {
        let to = if name == "join" && self.parallel { Target::Join } else { Target::Step(self.step(name, path)?) };
        Some(Link { to, path: path.to_owned() })
    }

    fn step(&mut self, name: &str, path: &str) -> Option<StepIndex> {
        if name == "join" && self.parallel {
            self.issues.add(path, "join is no step; it stands only in next and on_timeout inside a branch");
            self.complete = false;
            return None;
        }
        let found = self.index.get(name).copied();
        if found.is_none() {
            self.issues.add(path, format!("no step named {name}"));
            self.complete = false;
        }
        found
    }
}
