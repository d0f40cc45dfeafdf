//! A shard on the memory engine, with a clock that tests move and a log that can be replayed.
#![allow(
    dead_code,
    missing_docs,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::wildcard_enum_match_arm,
    clippy::match_same_arms,
    reason = "shared by several tests"
)]

pub mod coverage;
pub mod guarantees;
pub mod onward;
pub mod ops;
pub mod process;

use std::collections::{BTreeMap, BTreeSet};

use agentprocess::Process;
use agentprocess::json::{Object, Value};
use agentprocess::time::{Span, Timestamp};
use quorate_proto::shard::{Action, Decide, Decision, InstallVersion, Limits, ShardCommand, Submission, Token, Write};
use quorate_proto::{
    Attempt, Caller, CallerKind, Claim, Code, Command, Entry, Outcome, Refusal, Reply, Right, RunId, Seen, Unique,
};
use quorate_statemachine::Machine;
use quorate_statemachine::shard::read;
use quorate_statemachine::store::Memory;

pub const LEASE: Span = Span(10 * 60_000);
pub const BYTES_MAX: u64 = 100_000;
/// The one shard is every id's home, and knows of every refusal.
pub const AT_HOME: Right = Right::Home(Attempt { home: 0, number: u64::MAX });

pub struct World {
    pub machine: Machine,
    pub store: Memory,
    pub at: Timestamp,
    pub log: Vec<Entry>,
    pub limits: Limits,
    next: u64,
}

impl World {
    pub fn new(processes: &[Process]) -> Self {
        let mut world = Self {
            machine: Machine::default(),
            store: Memory::default(),
            at: Timestamp(1_800_000_000_000),
            log: Vec::new(),
            limits: Limits { lease: LEASE, run_data_bytes_max: BYTES_MAX },
            next: 0,
        };
        for process in processes {
            world.install(process, 1).unwrap();
        }
        world
    }

    pub fn install(&mut self, process: &Process, version: u32) -> Outcome {
        let roles = [("reviewer", "g_rev"), ("finance", "g_fin")];
        let roles: BTreeMap<String, String> = roles.iter().map(|(r, g)| ((*r).to_owned(), (*g).to_owned())).collect();
        self.apply(ShardCommand::InstallVersion(Box::new(InstallVersion {
            org: "o".to_owned(),
            version,
            hash: format!("hash of {} {version}", process.name),
            roles,
            mapping: 0,
            escalations: "g_ops".to_owned(),
            operators: "g_ops".to_owned(),
            process: process.clone(),
            body: format!("\n# {}\n", process.name),
        })))
    }

    pub fn apply(&mut self, command: ShardCommand) -> Outcome {
        let entry = Entry { at: self.at, origin: 1, command: Command::Shard(command) };
        let outcome = self.machine.apply(&mut self.store, &entry).unwrap();
        self.log.push(entry);
        outcome
    }

    pub fn advance(&mut self, span: Span) {
        self.at = self.at.plus(span);
    }

    pub fn tick(&mut self) {
        self.apply(ShardCommand::Tick { run: None }).unwrap();
    }

    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A write under a fresh request id.
    pub fn write(&mut self, caller: &Caller, action: Action) -> Outcome {
        let request = format!("request {}", self.number());
        self.write_as(caller, &request, action)
    }

    pub fn write_as(&mut self, caller: &Caller, request: &str, action: Action) -> Outcome {
        let write = self.make(caller, request, action);
        self.apply(write)
    }

    pub fn make(&self, caller: &Caller, request: &str, action: Action) -> ShardCommand {
        let fingerprint = fingerprint(caller, &action);
        let (caller, request) = (caller.clone(), request.to_owned());
        let write = Write { caller, request, fingerprint, limits: self.limits, action };
        ShardCommand::Write { right: AT_HOME, write: Box::new(write) }
    }

    pub fn start(&mut self, caller: &Caller, process: &str, inputs: &str) -> Result<RunId, Refusal> {
        let run = self.new_run();
        let inputs = process::object(inputs);
        let action = Action::StartRun { run, process: process.to_owned(), version: 1, inputs, test: false };
        self.write(caller, action).map(|_| run)
    }

    pub fn new_run(&mut self) -> RunId {
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.number().to_be_bytes());
        RunId(Unique { shard: 0, random })
    }

    pub fn claim(&mut self, caller: &Caller, run: RunId, step: &str) -> Result<Claim, Refusal> {
        let reply = self.write(caller, Action::Claim { run, step: step.to_owned(), key: 1 })?;
        let Reply::Claimed { claim, .. } = reply else { panic!("{reply:?}") };
        Ok(claim)
    }

    pub fn submit(&mut self, caller: &Caller, claim: &Claim, submission: Submission) -> Outcome {
        self.write(caller, Action::Submit { token: token(claim), submission })
    }

    /// Claims and submits good work.
    pub fn work(&mut self, caller: &Caller, run: RunId, step: &str) {
        let claim = self.claim(caller, run, step).unwrap();
        self.submit(caller, &claim, good()).unwrap();
    }

    /// Decides the one open item of a step with the current snapshot.
    pub fn decide(&mut self, caller: &Caller, run: RunId, step: &str, decision: Decision) -> Outcome {
        let item = self.item(run, step);
        let decide = Decide { run, work_item: text(&item, "id"), snapshot: text(&item, "snapshot"), decision };
        self.write(caller, Action::Decide(Box::new(decide)))
    }

    pub fn event(&mut self, caller: &Caller, run: RunId, name: &str, data: &str) -> Outcome {
        let data = Some(process::object(data));
        self.write(caller, Action::SendEvent { run, name: name.to_owned(), data })
    }

    pub fn view(&mut self, run: RunId) -> Value {
        self.apply(ShardCommand::Tick { run: Some(run) }).unwrap();
        self.peek(run).unwrap()
    }

    /// The run view without a tick before.
    pub fn peek(&self, run: RunId) -> Option<Value> {
        read::get_run(&self.store, &self.machine.definitions, "o", run, self.at).unwrap()
    }

    pub fn run_at(&self, seen: &Seen) -> Value {
        read::run_at(&self.store, &self.machine.definitions, seen).unwrap()
    }

    pub fn state(&mut self, run: RunId, step: &str) -> String {
        let view = self.view(run);
        let steps = at(&view, "steps").as_array().unwrap();
        let found = steps.iter().find(|s| text(s, "id") == step).unwrap();
        at(found, "state").as_str().unwrap_or("null").to_owned()
    }

    /// A step's state without a tick before.
    pub fn step_state(&self, run: RunId, step: usize) -> String {
        let view = self.peek(run).unwrap();
        at(&at(&view, "steps").as_array().unwrap()[step], "state").as_str().unwrap_or("null").to_owned()
    }

    pub fn item(&mut self, run: RunId, step: &str) -> Value {
        let view = self.view(run);
        let items = at(&view, "workItems").as_array().unwrap();
        items.iter().find(|i| text(i, "stepId") == step).unwrap_or_else(|| panic!("no item of {step}: {view}")).clone()
    }

    /// `data.steps.<step>`, `null` when absent.
    pub fn data(&mut self, run: RunId, step: &str) -> Value {
        let view = self.view(run);
        at(at(&view, "data"), "steps").as_object().unwrap().get(step).cloned().unwrap_or(Value::Null)
    }

    pub fn work_of(&self, caller: &Caller, process: Option<&str>) -> Vec<Value> {
        let definitions = &self.machine.definitions;
        let size = read::PageSize { items: 100, bytes: u64::MAX };
        let page = read::work_page(&self.store, definitions, caller, process, None, size, self.at).unwrap();
        page.items.into_iter().map(|(_, row)| row.item).collect()
    }
}

pub fn agent(id: &str) -> Caller {
    Caller {
        org: "o".to_owned(),
        kind: CallerKind::Agent,
        id: id.to_owned(),
        person: None,
        groups: BTreeSet::new(),
        operator: false,
        processes: None,
    }
}

pub fn person(id: &str, groups: &[&str]) -> Caller {
    Caller {
        kind: CallerKind::Human,
        person: Some(format!("{id}@example.com")),
        groups: groups.iter().map(|g| (*g).to_owned()).collect(),
        operator: groups.contains(&"g_ops"),
        ..agent(id)
    }
}

pub fn token(claim: &Claim) -> Token {
    Token { run: claim.run, step: claim.step, number: claim.number, holder: claim.holder.clone() }
}

/// Work that a step with one number and one next accepts.
pub fn good() -> Submission {
    submission(r#"{"n":1}"#, "Done.", None)
}

pub fn routed(next: &str) -> Submission {
    submission(r#"{"n":1}"#, "Done.", Some(next))
}

pub fn submission(output: &str, summary: &str, next: Option<&str>) -> Submission {
    Submission {
        output: Some(process::object(output)),
        evidence: None,
        summary: Some(summary.to_owned()),
        next: next.map(str::to_owned),
        reason: next.map(|_| "Because.".to_owned()),
    }
}

pub fn approved() -> Decision {
    Decision::Approved { note: None }
}

pub fn rejected(note: &str) -> Decision {
    Decision::Rejected { note: note.to_owned() }
}

pub fn at<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.as_object().and_then(|o| o.get(key)).unwrap_or_else(|| panic!("no {key} in {value}"))
}

pub fn has(value: &Value, key: &str) -> bool {
    value.as_object().is_some_and(|o| o.get(key).is_some())
}

pub fn text(value: &Value, key: &str) -> String {
    at(value, key).as_str().unwrap_or_else(|| panic!("{key} is no text in {value}")).to_owned()
}

pub fn keys(object: &Object) -> Vec<&str> {
    object.iter().map(|(k, _)| k).collect()
}

/// The code and issues of a refusal.
pub fn refused(outcome: Outcome) -> (Code, Vec<String>) {
    let refusal = outcome.unwrap_err();
    (refusal.code, refusal.issues)
}

pub fn fingerprint(caller: &Caller, action: &Action) -> [u8; 32] {
    use sha2::{Digest, Sha256};
    let mut action = action.clone();
    // The proposer chooses a run's id anew for each try; it is no argument.
    if let Action::StartRun { run, .. } = &mut action {
        *run = RunId(Unique { shard: 0, random: [0; 10] });
    }
    Sha256::digest(quorate_proto::codec::encode(&(caller.id.clone(), action))).into()
}
