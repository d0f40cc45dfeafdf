//! What the clients of the simulation propose.

use std::collections::{BTreeMap, BTreeSet};

use agentprocess::Document;
use agentprocess::json::Object;
use agentprocess::time::Span;
use quorate_proto::shard::{Action, InstallVersion, Limits, ShardCommand, Write};
use quorate_proto::{Attempt, Caller, CallerKind, Command, FileId, Right, RunId, Unique};

/// The organization of all clients.
pub(crate) const ORG: &str = "o";

/// Waits, then ends: its runs move by timers alone.
const REST: &str = "---
name: rest
description: Waits.
steps:
  - id: wait
    wait: 1m
  - id: end
    finish: rested
---
";

/// Installs the process.
pub(crate) fn install() -> Result<Command, String> {
    let document = Document::read(REST.as_bytes()).map_err(|issues| format!("{issues:?}"))?;
    let install = InstallVersion {
        org: ORG.to_owned(),
        version: 1,
        hash: document.hash,
        roles: BTreeMap::new(),
        mapping: 0,
        escalations: "g_ops".to_owned(),
        operators: "g_ops".to_owned(),
        process: document.process,
        body: document.body,
    };
    Ok(Command::Shard(ShardCommand::InstallVersion(Box::new(install))))
}

/// The file of a client; its rows are numbered.
pub(crate) fn file(client: u16, shard: u16) -> FileId {
    let mut random = [1; 10];
    random[..2].copy_from_slice(&client.to_be_bytes());
    FileId(Unique { shard, random })
}

/// The smallest write: one numbered row.
pub(crate) fn row(client: u16, shard: u16, index: u32) -> Command {
    let bytes = index.to_be_bytes().to_vec();
    Command::Shard(ShardCommand::StoreChunk { file: file(client, shard), index, bytes })
}

/// The run a client starts under a number.
pub(crate) fn run(client: u16, shard: u16, index: u32) -> RunId {
    let mut random = [2; 10];
    random[..2].copy_from_slice(&client.to_be_bytes());
    random[2..6].copy_from_slice(&index.to_be_bytes());
    RunId(Unique { shard, random })
}

/// Starts a run.
pub(crate) fn start(client: u16, shard: u16, index: u32) -> Command {
    let run = run(client, shard, index);
    let write = Write {
        caller: Caller {
            org: ORG.to_owned(),
            kind: CallerKind::Agent,
            id: format!("client-{client}"),
            person: None,
            groups: BTreeSet::new(),
            operator: false,
            processes: None,
        },
        request: format!("{client} {index}"),
        fingerprint: [7; 32],
        limits: Limits { lease: Span(60_000), run_data_bytes_max: 1 << 20 },
        action: Action::StartRun { run, process: "rest".to_owned(), version: 1, inputs: Object::new(), test: false },
    };
    // No client of the simulation has an id refused and used again.
    let right = Right::Home(Attempt { home: shard, number: 1 });
    Command::Shard(ShardCommand::Write { right, write: Box::new(write) })
}
