#![expect(clippy::unwrap_used, reason = "tests")]

mod nodes;
mod publishing;
mod standing;

use std::collections::BTreeMap;

use agentprocess::time::Timestamp;
use agentprocess::{Assignee, Fields, Process, Step, StepKind, Target};
use quorate_proto::catalog::{CatalogCommand, CatalogReply, ImportDraft};
use quorate_proto::{Refusal, Reply};

use super::apply;
use crate::store::Memory;

/// A catalog with a hand on it.
#[derive(Default)]
pub(super) struct World {
    pub(super) state: Memory,
    at: i64,
}

impl World {
    pub(super) fn run(&mut self, command: &CatalogCommand) -> Result<CatalogReply, Refusal> {
        self.at += 1;
        apply(&mut self.state, Timestamp(self.at), command).unwrap().map(|reply| {
            let Reply::Catalog(reply) = reply else { unreachable!("not a catalog's reply: {reply:?}") };
            reply
        })
    }

    pub(super) fn import(&mut self, org: &str, process: &Process, body: &str) {
        let draft = ImportDraft {
            org: org.to_owned(),
            source: format!("source of {body}"),
            process: process.clone(),
            body: body.to_owned(),
            hash: format!("hash of {body}"),
            by: "u_ops".to_owned(),
        };
        assert_eq!(self.run(&CatalogCommand::ImportDraft(Box::new(draft))), Ok(CatalogReply::Drafted));
    }

    pub(super) fn publish(&mut self, org: &str, name: &str, roles: &[(&str, &str)]) -> Result<(u32, bool), Refusal> {
        let publish = CatalogCommand::Publish {
            org: org.to_owned(),
            process: name.to_owned(),
            roles: map(roles),
            escalations: None,
            by: "u_ops".to_owned(),
            hash: None,
        };
        self.run(&publish).map(|reply| {
            let CatalogReply::Published { version, created } = reply else { unreachable!("{reply:?}") };
            (version, created)
        })
    }

    /// Imports and publishes.
    pub(super) fn released(&mut self, org: &str, name: &str, body: &str) -> (u32, bool) {
        self.import(org, &process(name, &[]), body);
        self.publish(org, name, &[]).unwrap()
    }
}

pub(super) fn map(roles: &[(&str, &str)]) -> BTreeMap<String, String> {
    roles.iter().map(|(role, group)| ((*role).to_owned(), (*group).to_owned())).collect()
}

/// A process with one approval for each role.
pub(super) fn process(name: &str, roles: &[&str]) -> Process {
    let approval = |(index, role): (usize, &&str)| Step {
        id: format!("s{index}"),
        kind: StepKind::Approve {
            text: "approve".to_owned(),
            person: Assignee::Role((*role).to_owned()),
            due: None,
            next: Target::Step(index + 1),
            on_reject: None,
        },
        branch: None,
    };
    let mut steps: Vec<Step> = roles.iter().enumerate().map(approval).collect();
    steps.push(Step { id: "z".to_owned(), kind: StepKind::Finish { outcome: "ok".to_owned() }, branch: None });
    Process {
        name: name.to_owned(),
        description: "d".to_owned(),
        inputs: Fields::default(),
        systems: Vec::new(),
        steps,
    }
}
