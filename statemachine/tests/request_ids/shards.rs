//! Three shards with runs in them. The one request id of these tests has its home in shard 0.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use agentprocess::time::Timestamp;
use quorate_proto::shard::{Action, InstallVersion, Limits, ShardCommand, Write};
use quorate_proto::{Caller, Command, Entry, Outcome, Reply, RequestCommand, Right, RunId, Unique, codec};
use quorate_statemachine::Machine;
use quorate_statemachine::shard::event::JournalRow;
use quorate_statemachine::shard::keys::Key;
use quorate_statemachine::shard::read::{self, RequestRow};
use quorate_statemachine::store::Memory;

use crate::support::process::{self, finish, object, one};
use crate::support::{AT_HOME, BYTES_MAX, LEASE, agent, fingerprint, good, token};

pub const HOME: u16 = 0;
pub const ID: &str = "one id";
const SHARDS: u16 = 3;

/// The state of every shard, with what is asked of it often.
#[derive(Clone)]
pub struct Shards {
    pub stores: Vec<Rc<Memory>>,
    pub digests: Vec<u64>,
    /// How many writes took effect with [`ID`], shard by shard.
    effects: Vec<usize>,
    records: Vec<Option<Record>>,
}

/// The fingerprint and the answer of a call.
pub type Record = ([u8; 32], Reply);

impl Shards {
    /// Each shard holds two runs: 1 can be claimed; in 2 agent a9 holds the first step.
    pub fn new(machine: &Machine) -> Self {
        let stores = vec![Rc::default(); usize::from(SHARDS)];
        let mut shards = Self { stores, digests: vec![0; 3], effects: vec![0; 3], records: vec![None; 3] };
        let steps = vec![process::agent("a", one(1)), process::agent("b", one(2)), finish("done", "ok")];
        let process = process::process("p", &[], steps);
        for shard in 0..SHARDS {
            let install = InstallVersion {
                org: "o".to_owned(),
                version: 1,
                hash: "hash of p".to_owned(),
                roles: std::collections::BTreeMap::new(),
                mapping: 0,
                escalations: "g_ops".to_owned(),
                operators: "g_ops".to_owned(),
                process: process.clone(),
                body: String::new(),
            };
            shards.apply(machine, shard, &ShardCommand::InstallVersion(Box::new(install))).unwrap();
            for number in [1, 2] {
                let start = start(run(shard, number), "p");
                shards.other(machine, shard, &agent("a9"), &format!("start {number}"), start).unwrap();
            }
            let claim = Action::Claim { run: run(shard, 2), step: "a".to_owned(), key: 1 };
            shards.other(machine, shard, &agent("a9"), "claim", claim).unwrap();
        }
        shards
    }

    /// Applies a command and says what it came to.
    pub fn apply(&mut self, machine: &Machine, shard: u16, command: &ShardCommand) -> Outcome {
        let at = Timestamp(1_800_000_000_000);
        let entry = Entry { at, origin: 1, command: Command::Shard(command.clone()) };
        let store: &mut Memory = Rc::make_mut(&mut self.stores[usize::from(shard)]);
        let outcome = machine.apply(store, &entry).unwrap();
        self.look(shard);
        outcome
    }

    /// Looks again at a shard that was changed.
    pub fn look(&mut self, shard: u16) {
        let store = self.stores[usize::from(shard)].as_ref();
        let mut hash = DefaultHasher::new();
        store.rows().for_each(|row| row.hash(&mut hash));
        self.digests[usize::from(shard)] = hash.finish();
        let ours = |(key, value): &(&[u8], &[u8])| match Key::decode(key).unwrap() {
            Key::Journal { .. } => codec::decode::<JournalRow>(value).unwrap().request.as_deref() == Some(ID),
            _ => false,
        };
        self.effects[usize::from(shard)] = store.rows().filter(ours).count();
        self.records[usize::from(shard)] = match read::request(store, "o", ID).unwrap() {
            Some(RequestRow::Recorded { fingerprint, reply }) => Some((fingerprint, reply)),
            Some(RequestRow::Reserved { .. }) | None => None,
        };
    }

    /// Agent a9 hands in its work everywhere: then step b of each run 2 can be claimed.
    pub fn work_is_done(&mut self, machine: &Machine) {
        for shard in 0..SHARDS {
            let Some(RequestRow::Recorded { reply: Reply::Claimed { claim, .. }, .. }) =
                read::request(self.stores[usize::from(shard)].as_ref(), "o", "claim").unwrap()
            else {
                panic!("a9 claimed")
            };
            let submit = Action::Submit { token: token(&claim), submission: good() };
            self.other(machine, shard, &agent("a9"), "submit", submit).unwrap();
        }
    }

    /// A call under an id of its own.
    fn other(&mut self, machine: &Machine, shard: u16, caller: &Caller, id: &str, action: Action) -> Outcome {
        let write = Box::new(Write { request: id.to_owned(), ..write(caller, action) });
        self.apply(machine, shard, &ShardCommand::Write { right: AT_HOME, write })
    }

    /// How many writes took effect with [`ID`].
    pub fn effects(&self) -> usize {
        self.effects.iter().sum()
    }

    /// The record of the call that took effect: its fingerprint and answer.
    pub fn recorded(&self) -> Vec<&Record> {
        self.records.iter().flatten().collect()
    }
}

pub fn run(shard: u16, number: u8) -> RunId {
    RunId(Unique { shard, random: [number; 10] })
}

pub fn start(run: RunId, process: &str) -> Action {
    let (process, inputs) = (process.to_owned(), object("{}"));
    Action::StartRun { run, process, version: 1, inputs, test: false }
}

/// A call under [`ID`].
pub fn write(caller: &Caller, action: Action) -> Write {
    let limits = Limits { lease: LEASE, run_data_bytes_max: BYTES_MAX };
    let fingerprint = fingerprint(caller, &action);
    Write { caller: caller.clone(), request: ID.to_owned(), fingerprint, limits, action }
}

pub fn with(right: Right, write: &Write) -> ShardCommand {
    ShardCommand::Write { right, write: Box::new(write.clone()) }
}

pub fn request(command: RequestCommand) -> ShardCommand {
    ShardCommand::Request { org: "o".to_owned(), request: ID.to_owned(), command }
}
