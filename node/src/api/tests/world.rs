//! A server in memory with callers and a published process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentprocess::Document;
use agentprocess::json::Value;
use agentprocess::time::{Span, Timestamp};
use quorate_proto::catalog::{CatalogCommand, CatalogReply, ImportDraft};
use quorate_proto::{Caller, CallerKind, Command, GroupId, Reply};

use super::results::check_result;
use crate::api::{Api, Settings};
use crate::clock::Clock;
use crate::groups::Groups;
use crate::memory::MemoryGroups;

/// The server and its clock.
pub struct World {
    pub groups: Arc<MemoryGroups>,
    pub clock: Arc<Clock>,
    pub api: Api<MemoryGroups>,
}

impl World {
    pub fn new() -> Self {
        let clock = Arc::new(Clock::test(Timestamp::parse("2026-10-06T09:00:00Z").unwrap()));
        let groups = Arc::new(MemoryGroups::new(4, Arc::clone(&clock)));
        let settings = Settings { operators: "g_ops".to_owned(), ..Settings::new("https://q.example/") };
        Self { api: Api::new(Arc::clone(&groups), settings, Arc::clone(&clock)), groups, clock }
    }

    /// Publishes a document in `demo`; returns its version's number.
    pub fn publish(&self, source: &str) -> u32 {
        let document = Document::read(source.as_bytes()).unwrap();
        let roles: BTreeMap<_, _> = [("finance-approver".to_owned(), "g_finance".to_owned())].into();
        let process = document.process.name.clone();
        let roles = if source.contains("finance-approver") { roles } else { BTreeMap::new() };
        self.catalog(CatalogCommand::ImportDraft(Box::new(ImportDraft {
            org: "demo".to_owned(),
            source: source.to_owned(),
            process: document.process,
            body: document.body,
            hash: document.hash,
            by: "u_olga".to_owned(),
        })));
        let (org, by) = ("demo".to_owned(), "u_olga".to_owned());
        let publish = CatalogCommand::Publish { org, process, roles, escalations: None, by, hash: None };
        let CatalogReply::Published { version, .. } = self.catalog(publish) else { panic!("not published") };
        version
    }

    pub fn catalog(&self, command: CatalogCommand) -> CatalogReply {
        match wait(self.groups.propose(GroupId::Catalog, Command::Catalog(command))) {
            Ok(Ok(Reply::Catalog(reply))) => reply,
            other => panic!("{other:?}"),
        }
    }

    /// Calls a tool and returns the envelope; every result is checked against the schemas.
    pub fn call(&self, who: &str, tool: &str, arguments: &str) -> Value {
        let envelope = wait(self.api.call(&caller(who), tool, arguments)).unwrap();
        if let Some(data) = at(&envelope, "data") {
            check_result(tool, data).unwrap();
        }
        assert_eq!(self.groups.stopped(), None);
        envelope
    }

    /// The data of a call that must be ok.
    pub fn ok(&self, who: &str, tool: &str, arguments: &str) -> Value {
        let envelope = self.call(who, tool, arguments);
        at(&envelope, "data").unwrap_or_else(|| panic!("{tool} {arguments}: {envelope}")).clone()
    }

    /// Code and issues of a call that must be refused.
    pub fn refused(&self, who: &str, tool: &str, arguments: &str) -> (String, Vec<String>) {
        let envelope = self.call(who, tool, arguments);
        let code = text(&envelope, "error.code");
        let issues = at(&envelope, "error.issues").and_then(Value::as_array).unwrap_or_default();
        (code, issues.iter().map(|i| i.as_str().unwrap().to_owned()).collect())
    }

    pub fn advance(&self, minutes: u64) {
        self.clock.advance(Span(minutes * 60_000));
    }
}

/// Runs a future to its end.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// `a…` and `b…` are agents, the rest people; `b…` are in `other`.
pub fn caller(who: &str) -> Caller {
    let agent = who.starts_with(['a', 'b']);
    let groups: &[&str] = match who {
        "fin" => &["g_finance"],
        "olga" => &["g_ops"],
        _ => &[],
    };
    Caller {
        org: if who.starts_with('b') { "other" } else { "demo" }.to_owned(),
        kind: if agent { CallerKind::Agent } else { CallerKind::Human },
        id: who.to_owned(),
        person: (!agent).then(|| format!("{who}@example.com")),
        groups: groups.iter().map(|g| (*g).to_owned()).collect::<BTreeSet<_>>(),
        operator: who == "olga",
        processes: None,
    }
}

/// The value at a dotted path; numbers index lists.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| match key.parse::<usize>() {
        Ok(n) => value.as_array()?.get(n),
        Err(_) => value.as_object()?.get(key),
    })
}

/// The text at a dotted path.
pub fn text(value: &Value, path: &str) -> String {
    at(value, path).and_then(Value::as_str).unwrap_or_else(|| panic!("no {path} in {value}")).to_owned()
}

/// How many items a page has, and its cursor.
pub fn page(value: &Value) -> (usize, Option<String>) {
    let items = at(value, "items").and_then(Value::as_array).unwrap().len();
    (items, at(value, "nextCursor").and_then(Value::as_str).map(str::to_owned))
}

/// The supplier process of the examples.
pub const SUPPLIER: &str = include_str!("../../../../examples/supplier-onboarding/PROCESS.md");

/// One agent step, then done.
pub fn simple(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: A test.\ninputs:\n  n: {{ type: number, optional: true }}\nsteps:\n  \
         - id: a\n    agent: Work.\n    next: done\n  - id: done\n    finish: finished\n---\nBody.\n"
    )
}
