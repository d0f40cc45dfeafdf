//! No step twice along `next` and `on_timeout` (GRAPH-TWICE), and every step reachable (REACH-REJECT).

use super::draft::Draft;
use super::links::Links;
use crate::issues::Issues;
use crate::model::{Branch, StepIndex, Target};

/// A longer loop is told by its beginning and its end.
const LOOP_NAMES_MAX: usize = 12;

pub(super) fn judge(drafts: &[Draft<'_>], links: &Links<'_>, branches: &[Option<Branch>], issues: &mut Issues) {
    let name = |at: StepIndex| drafts[at].id.unwrap_or("?");
    let forward: Vec<Vec<StepIndex>> = (0..drafts.len()).map(|at| forward(at, links, branches[at], true)).collect();
    for cycle in cycles(&forward) {
        let mut names: Vec<&str> = cycle.iter().chain(cycle.first()).map(|&at| name(at)).collect();
        if names.len() > LOOP_NAMES_MAX {
            names.splice(LOOP_NAMES_MAX / 2..names.len() - 2, ["…"]);
        }
        let message = "returns to a step; only on_reject may go back";
        issues.add("steps", format!("{} {message}", names.join(" → ")));
    }
    if !links.complete {
        return;
    }
    for at in unreachable(drafts, links, branches) {
        let message = format!("({}) not reachable from the first step; route to it or remove it", name(at));
        issues.add(&drafts[at].path, message);
    }
}

/// Steps that `at` leads to by `next` and, if asked for, `on_timeout`.
fn forward(at: StepIndex, links: &Links<'_>, branch: Option<Branch>, timeout: bool) -> Vec<StepIndex> {
    let out = &links.out[at];
    // Inside a branch there is no default next.
    let next = out.next.iter().filter(|_| out.next_given || branch.is_none());
    let step = |to| if let Target::Step(to) = to { Some(to) } else { None };
    next.chain(out.on_timeout.iter().filter(|_| timeout)).filter_map(|link| step(link.to)).collect()
}

/// Loops that share no step with each other, at least one from every knot of loops. Iterative: files may be long.
fn cycles(forward: &[Vec<StepIndex>]) -> Vec<Vec<StepIndex>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
        Told,
    }
    let mut marks = vec![Mark::New; forward.len()];
    let mut found = Vec::new();
    for start in 0..forward.len() {
        let mut trail: Vec<(StepIndex, usize)> = Vec::new();
        if marks[start] == Mark::New {
            marks[start] = Mark::Open;
            trail.push((start, 0));
        }
        while let Some((at, edge)) = trail.last_mut() {
            let Some(&to) = forward[*at].get(*edge) else {
                if marks[*at] == Mark::Open {
                    marks[*at] = Mark::Done;
                }
                trail.pop();
                continue;
            };
            *edge += 1;
            match marks[to] {
                Mark::New => {
                    marks[to] = Mark::Open;
                    trail.push((to, 0));
                }
                Mark::Open => {
                    let from = trail.iter().position(|(at, _)| *at == to).unwrap_or(0);
                    let cycle: Vec<StepIndex> = trail[from..].iter().map(|(at, _)| *at).collect();
                    if cycle.iter().all(|&at| marks[at] == Mark::Open) {
                        for &at in &cycle {
                            marks[at] = Mark::Told;
                        }
                        found.push(cycle);
                    }
                }
                Mark::Done | Mark::Told => {}
            }
        }
    }
    found
}

/// Steps that no edge the server can take leads to. Without `timeout`, `on_timeout` is never taken (TIMEOUT-PAIR).
fn unreachable(drafts: &[Draft<'_>], links: &Links<'_>, branches: &[Option<Branch>]) -> Vec<StepIndex> {
    let mut reached = vec![false; drafts.len()];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut reached[at], true) {
            continue;
        }
        let step = |to| if let Target::Step(to) = to { Some(to) } else { None };
        let out = &links.out[at];
        open.extend(forward(at, links, branches[at], drafts[at].timeout.is_some()));
        open.extend(out.entries.iter().filter_map(|link| step(link.to)).chain(out.on_reject));
    }
    (0..drafts.len()).filter(|&at| !reached[at]).collect()
}
