//! A small world for the fuzz targets: the tools over groups in memory, with one published process and open runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentprocess::Document;
use agentprocess::json::{Object, Value};
use agentprocess::time::Timestamp;
use futures_util::FutureExt;
use quorate::api::{Api, Settings};
use quorate::clock::Clock;
use quorate::groups::Groups;
use quorate::memory::MemoryGroups;
use quorate_proto::catalog::{CatalogCommand, ImportDraft};
use quorate_proto::{Caller, CallerKind, Command, GroupId};

const PROCESS: &str = "---
name: p
description: Every kind of value.
inputs: { s: string, n: { type: number, optional: true }, l: { type: list, items: date, optional: true }, o: { type: object, optional: true } }
steps:
  - id: a
    agent: Do it.
    output: { ok: boolean, at: { type: datetime, optional: true }, who: { type: person, optional: true } }
    evidence: [link]
    next: [w, z]
  - id: w
    wait_for: go
    next: t
  - id: t
    person: checker
    task: Look.
    output: { rows: { type: list, items: { type: list, items: number }, optional: true } }
    next: r
  - id: r
    person: checker
    approve: Is it right?
    on_reject: a
    next: z
  - id: z
    finish: done
---
Body.
";

/// The world.
pub struct World {
    /// The tools.
    pub api: Api<MemoryGroups>,
    /// An agent.
    pub agent: Caller,
    /// A person in the role's group who is an operator too.
    pub person: Caller,
    /// A run whose step `a` is claimed.
    pub run: String,
    /// The token of that claim.
    pub token: String,
    /// A cursor of the agent's `get_work`.
    pub cursor: String,
}

/// A caller of the world's organization.
fn caller(kind: CallerKind, id: &str) -> Caller {
    let groups: BTreeSet<_> = ["g".to_owned(), "operators".to_owned()].into();
    let human = kind == CallerKind::Human;
    Caller {
        org: "demo".to_owned(),
        kind,
        id: id.to_owned(),
        person: human.then(|| id.to_owned()),
        groups: if human { groups } else { BTreeSet::new() },
        operator: human,
        processes: None,
    }
}

impl World {
    /// Publishes the process, starts two runs and claims a step.
    pub fn new() -> Self {
        let clock = Arc::new(Clock::test(Timestamp(1_800_000_000_000)));
        let groups = Arc::new(MemoryGroups::new(1, Arc::clone(&clock)));
        let document = Document::read(PROCESS.as_bytes()).expect("the process is valid");
        let draft = ImportDraft {
            org: "demo".to_owned(),
            source: PROCESS.to_owned(),
            process: document.process,
            body: document.body,
            hash: document.hash,
            by: "op".to_owned(),
        };
        let publish = CatalogCommand::Publish {
            org: "demo".to_owned(),
            process: "p".to_owned(),
            roles: BTreeMap::from([("checker".to_owned(), "g".to_owned())]),
            escalations: None,
            by: "op".to_owned(),
            hash: None,
        };
        for command in [CatalogCommand::ImportDraft(Box::new(draft)), publish] {
            let done = now(groups.propose(GroupId::Catalog, Command::Catalog(command)));
            done.expect("the group answers").expect("the catalog accepts");
        }
        let api = Api::new(groups, Settings::new("http://127.0.0.1"), clock);
        let (agent, person) = (caller(CallerKind::Agent, "a1"), caller(CallerKind::Human, "p@example.com"));
        let mut world = Self { api, agent, person, run: String::new(), token: String::new(), cursor: String::new() };
        for request in ["s1", "s2", "s3"] {
            let started = world.done("start_run", &format!(r#"{{"process":"p","inputs":{{"s":"x"}},"requestId":"{request}"}}"#));
            world.run = text(&started, &["run", "id"]);
        }
        let claim = world.done("claim", &format!(r#"{{"runId":"{}","stepId":"a","requestId":"c1"}}"#, world.run));
        world.token = text(&claim, &["token"]);
        world.cursor = text(&world.done("get_work", r#"{"limit":1}"#), &["nextCursor"]);
        world
    }

    fn done(&self, tool: &str, arguments: &str) -> Value {
        let envelope = self.call(&self.agent, tool, arguments);
        envelope.as_object().and_then(|e| e.get("data")).unwrap_or_else(|| panic!("{tool}: {envelope}")).clone()
    }

    /// Calls a tool and holds the answer to the envelope's rules.
    pub fn call(&self, caller: &Caller, tool: &str, arguments: &str) -> Value {
        let envelope = now(self.api.call(caller, tool, arguments)).expect("the tool exists");
        let fields = envelope.as_object().expect("an envelope");
        match fields.get("ok").and_then(Value::as_bool) {
            Some(true) => assert!(fields.get("data").is_some(), "{envelope}"),
            Some(false) => assert!(code(&envelope).is_some(), "{envelope}"),
            None => panic!("no envelope: {envelope}"),
        }
        assert_eq!(self.api.groups().stopped(), None, "input must not stop a replica");
        envelope
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// The error code of an envelope.
pub fn code(envelope: &Value) -> Option<String> {
    let error = envelope.as_object()?.get("error")?.as_object()?;
    error.get("code").and_then(Value::as_str).map(str::to_owned)
}

/// `{key: value, …}` of texts.
pub fn texts(fields: &[(&str, &str)]) -> String {
    let mut object = Object::new();
    for (key, value) in fields {
        object.set(*key, *value);
    }
    object.to_string()
}

/// A known text with a few of its characters changed as the fuzzer says: pairs of place and new byte.
pub fn edited(text: &str, edits: &[u8]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for edit in edits.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % (bytes.len() + 1);
        match edit[2] {
            0 => bytes.truncate(place),
            byte if place == bytes.len() => bytes.push(byte & 0x7f),
            byte => bytes[place] = byte & 0x7f,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Groups in memory answer at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing to wait for")
}

fn text(value: &Value, path: &[&str]) -> String {
    let found = path.iter().try_fold(value, |v, key| v.as_object()?.get(key));
    found.and_then(Value::as_str).unwrap_or_else(|| panic!("no {path:?} in {value}")).to_owned()
}
