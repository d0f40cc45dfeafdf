//! The index rows of a run, from its head alone, so that an index cannot drift from its run.

use std::collections::BTreeSet;

use super::head::{Assigned, Head, StepState};
use super::keys::{Facet, Key, RunsKey, WorkKey};
use super::timer::{Timer, timers};

/// Keys of all index rows that a run has now.
pub fn rows(head: &Head) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    lists(head, &mut keys);
    for (position, step) in (0..).zip(&head.steps) {
        if step.state == Some(StepState::Ready) {
            let place = WorkKey { since: step.ready_since, run: head.run, position };
            for process in [None, Some(head.process.clone())] {
                keys.insert(Key::Ready { org: head.org.clone(), process, place }.encode());
            }
        }
        if let Some(item) = &step.item {
            let place = WorkKey { since: item.opened, run: head.run, position };
            for process in [None, Some(head.process.clone())] {
                let assigned = index_form(&item.assigned);
                keys.insert(Key::Item { org: head.org.clone(), assigned, process, place }.encode());
            }
        }
    }
    for Timer { at, position, kind } in timers(head) {
        keys.insert(Key::Timer { at, run: head.run, position, kind }.encode());
    }
    keys
}

/// An assignee as the item index has it: persons ignore ASCII case (PERSON-VALUE).
pub fn index_form(assigned: &Assigned) -> Assigned {
    match assigned {
        Assigned::Group(group) => Assigned::Group(group.clone()),
        Assigned::Person(person) => Assigned::Person(person.to_ascii_lowercase()),
    }
}

fn lists(head: &Head, keys: &mut BTreeSet<Vec<u8>>) {
    let state = head.state();
    let facets = [
        Facet::All,
        Facet::Process(head.process.clone()),
        Facet::State(state),
        Facet::ProcessState(head.process.clone(), state),
    ];
    let place = RunsKey { started: head.started_at, run: head.run };
    for facet in facets.into_iter().chain(head.input_digests.iter().map(|d| Facet::Input(*d))) {
        keys.insert(Key::RunList { org: head.org.clone(), facet, place }.encode());
    }
}
