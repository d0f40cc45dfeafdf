//! The fast world: the tools over groups in memory, with a clock that stands.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentprocess::json::{Object, Value};
use agentprocess::time::{Span, Timestamp};
use agentprocess::{Document, Issue, Offer, PARALLEL};
use quorate::api::{Api, FileError, Settings as ApiSettings, tools};
use quorate::clock::Clock;
use quorate::groups::Groups;
use quorate::memory::MemoryGroups;
use quorate_proto::catalog::{CatalogCommand, CatalogReply, ImportDraft};
use quorate_proto::shard::{Notification, ShardCommand};
use quorate_proto::{Caller, CallerKind, Command, GroupId, Outcome, Reply};
use quorate_statemachine::shard::read;
use tokio::runtime::Runtime;

use crate::world::{ACTORS, Published, Settings, World};

/// The address that file urls are made for; nothing listens there.
const PUBLIC: &str = "https://files.example";

/// The tools over groups in memory.
pub struct MemoryWorld {
    api: Api<MemoryGroups>,
    groups: Arc<MemoryGroups>,
    clock: Arc<Clock>,
    runtime: Runtime,
}

impl MemoryWorld {
    /// An empty world.
    pub fn new(settings: Settings) -> Self {
        let clock = Arc::new(Clock::test(Timestamp::parse("2026-10-06T09:00:00Z").unwrap()));
        let groups = Arc::new(MemoryGroups::new(settings.shards, Arc::clone(&clock)));
        let mut given = ApiSettings::new(PUBLIC);
        "g_ops".clone_into(&mut given.operators);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { api: Api::new(Arc::clone(&groups), given, Arc::clone(&clock)), groups, clock, runtime }
    }

    fn propose(&self, group: GroupId, command: Command) -> Outcome {
        self.runtime.block_on(self.groups.propose(group, command)).unwrap()
    }

    fn shards(&self) -> impl Iterator<Item = GroupId> {
        (0..self.groups.shards()).map(GroupId::Shard)
    }

    fn caller(&self, actor: &str) -> Result<Caller, String> {
        let found = ACTORS.iter().find(|(name, ..)| *name == actor);
        let (name, org, human, groups) = found.ok_or_else(|| format!("there is no actor {actor}"))?;
        let groups: BTreeSet<_> = groups.iter().map(|g| (*g).to_owned()).collect();
        Ok(Caller {
            org: (*org).to_owned(),
            kind: if *human { CallerKind::Human } else { CallerKind::Agent },
            id: self.identity(name),
            person: human.then(|| format!("{name}@example.com")),
            operator: groups.contains("g_ops"),
            groups,
            processes: None,
        })
    }
}

impl World for MemoryWorld {
    fn call(&self, actor: &str, tool: &str, arguments: &Value) -> Result<Value, String> {
        let caller = self.caller(actor)?;
        let envelope = self.runtime.block_on(self.api.call(&caller, tool, arguments.to_string()));
        match self.groups.stopped() {
            Some(fatal) => Err(format!("a group stopped: {fatal}")),
            None => envelope.ok_or_else(|| format!("there is no tool {tool}")),
        }
    }

    fn import(&self, org: &str, source: &str) -> Result<Vec<String>, Vec<String>> {
        let document = Document::read(source.as_bytes())
            .map_err(|issues| issues.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let roles = document.process.roles().into_iter().map(str::to_owned).collect();
        let draft = ImportDraft {
            org: org.to_owned(),
            source: source.to_owned(),
            process: document.process,
            body: document.body,
            hash: document.hash,
            by: "u_publisher".to_owned(),
        };
        match self.propose(GroupId::Catalog, Command::Catalog(CatalogCommand::ImportDraft(Box::new(draft)))) {
            Ok(_) => Ok(roles),
            Err(refusal) => Err(vec![refusal.message]),
        }
    }

    fn publish(&self, org: &str, source: &str, group: &dyn Fn(&str) -> String) -> Result<Published, Vec<String>> {
        let shown = |issues: Vec<Issue>| issues.iter().map(ToString::to_string).collect::<Vec<_>>();
        let document = Document::read(source.as_bytes()).map_err(shown)?;
        let tools: Vec<_> = tools().iter().map(|tool| tool.name).collect();
        let lacking = document.not_offered(&Offer { profiles: &[PARALLEL], tools: &tools });
        if !lacking.is_empty() {
            return Err(shown(lacking));
        }
        let roles = self.import(org, source)?.into_iter().map(|role| (role.clone(), group(&role))).collect();
        let (process, hash) = (document.process.name, document.hash);
        let (org, by, seen) = (org.to_owned(), "u_publisher".to_owned(), Some(hash.clone()));
        let publish = CatalogCommand::Publish { org, process, roles, escalations: None, by, hash: seen };
        match self.propose(GroupId::Catalog, Command::Catalog(publish)) {
            Ok(Reply::Catalog(CatalogReply::Published { version, .. })) => Ok(Published { version, hash }),
            Ok(_) => Err(vec!["publishing gave no version".to_owned()]),
            Err(refusal) if refusal.issues.is_empty() => Err(vec![refusal.message]),
            Err(refusal) => Err(refusal.issues),
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn advance(&self, by: Span) {
        self.clock.advance(by);
    }

    fn pass(&self, by: Span) {
        self.clock.pass(by);
    }

    fn pid(&self) -> u32 {
        std::process::id()
    }

    fn open(&self, url: &str) -> Result<Vec<u8>, u16> {
        let (id, query) =
            url.strip_prefix(&format!("{PUBLIC}/files/")).and_then(|u| u.split_once('?')).ok_or(404u16)?;
        match self.runtime.block_on(self.api.file(id, query)) {
            Ok(file) => Ok(file.bytes),
            Err(FileError::NotSigned | FileError::Expired) => Err(403),
            Err(FileError::Missing) => Err(404),
            Err(FileError::Damaged) => Err(410),
            Err(FileError::Unavailable(_)) => Err(503),
        }
    }

    fn notifications(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for group in self.shards() {
            let due = || {
                let read = self.groups.read(group, |rows, at| read::due(rows, None, at).unwrap());
                self.runtime.block_on(read).unwrap()
            };
            while due() {
                self.propose(group, Command::Shard(ShardCommand::Tick { run: None })).unwrap();
            }
            let rows = self.groups.read(group, |rows, _| read::outbox(rows, 0, 1000).unwrap());
            let rows = self.runtime.block_on(rows).unwrap();
            let sequences = rows.iter().map(|(sequence, _)| *sequence).collect();
            all.extend(rows.iter().map(|(_, n)| shown(n)));
            self.propose(group, Command::Shard(ShardCommand::OutboxSent { sequences })).unwrap();
        }
        all
    }

    fn identity(&self, actor: &str) -> String {
        format!("u_{actor}")
    }
}

/// A notification in the form that all worlds share.
fn shown(n: &Notification) -> Value {
    let mut out = Object::new();
    let to: Vec<Value> = n.groups.iter().chain(&n.people).map(|to| Value::from(to.as_str())).collect();
    out.set("kind", n.kind.as_str()).set("runId", n.run.to_string()).set("stepId", n.step.as_str()).set("to", to);
    Value::Object(out)
}
