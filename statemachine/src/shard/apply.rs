//! One entry of a shard's log: clamp the clock, fire what is due, replay, execute, record (design §3).

use agentprocess::time::Timestamp;
use quorate_proto::shard::{InstallVersion, ShardCommand, Write};
use quorate_proto::{Code, FileId, Outcome, Refusal, Reply, Right, RunId, codec};

use super::change::{Change, Writes};
use super::command::{self, Call};
use super::definitions::Definitions;
use super::event::Event;
use super::keys::Key;
use super::read;
use super::refuse::{self, Stop};
use super::request::{self, Standing};
use super::rows::{Definition, InstalledVersion, RequestRow};
use super::tick::{fire_run, fire_some};
use crate::store::{Fatal, Store};

/// Applies one command. `stamped` is the leader's time of the entry.
pub fn apply(
    store: &mut dyn Store,
    definitions: &Definitions,
    stamped: Timestamp,
    command: &ShardCommand,
) -> Result<Outcome, Fatal> {
    let at = advance(store, stamped)?;
    match command {
        ShardCommand::InstallVersion(install) => install_version(store, install),
        ShardCommand::Write { right, write } => {
            if let Some(run) = command::target(&write.action) {
                fire_run(store, definitions, run, at)?;
            }
            fire_some(store, definitions, at)?;
            apply_write(store, definitions, (*right, write), at)
        }
        ShardCommand::Tick { run: Some(run) } => {
            fire_run(store, definitions, *run, at)?;
            Ok(Ok(Reply::Done))
        }
        ShardCommand::Tick { run: None } => {
            fire_some(store, definitions, at)?;
            Ok(Ok(Reply::Done))
        }
        ShardCommand::StoreChunk { file, index, bytes } => store_chunk(store, *file, *index, bytes),
        ShardCommand::Request { org, request, command } => request::apply(store, (org, request), command).map(Ok),
        ShardCommand::OutboxSent { sequences } => {
            for sequence in sequences {
                store.delete(Key::Outbox { sequence: *sequence }.encode());
            }
            Ok(Ok(Reply::Done))
        }
    }
}

/// The group's clock never goes back, whatever the leader's says.
fn advance(store: &mut dyn Store, stamped: Timestamp) -> Result<Timestamp, Fatal> {
    let before = match store.known().and_then(|known| known.clock) {
        Some(before) => before,
        None => read::clock(store)?,
    };
    let at = before.max(stamped);
    store.put(Key::Clock.encode(), codec::encode(&at));
    if let Some(known) = store.known() {
        known.clock = Some(at);
    }
    Ok(at)
}

fn apply_write(
    store: &mut dyn Store,
    definitions: &Definitions,
    (right, write): (Right, &Write),
    at: Timestamp,
) -> Result<Outcome, Fatal> {
    let reused = match request::judge(store, right, write)? {
        Standing::Answered(reply) => return Ok(Ok(reply)),
        Standing::Free => false,
        Standing::Reused => true,
    };
    let refusal = match command::execute(&Call { store, definitions, write, at, reused }) {
        Ok((mut writes, reply)) => {
            let key = Key::Request { org: write.caller.org.clone(), id: write.request.clone() };
            let row = RequestRow::Recorded { fingerprint: write.fingerprint, reply: reply.clone() };
            writes.put(&key, codec::encode(&row));
            writes.apply(store);
            return Ok(Ok(reply));
        }
        Err(Stop::Refused(refusal)) => refusal,
        Err(Stop::Unaccepted { step, issues }) => {
            let run = command::target(&write.action);
            let run = run.ok_or_else(|| Fatal("work refused that belongs to no run".to_owned()))?;
            keep_issues(store, definitions, run, (step, &issues), &write.caller.id, at)?.apply(store);
            refuse::not_accepted(issues)
        }
        Err(Stop::Fatal(fatal)) => return Err(fatal),
    };
    if !reused {
        request::refused(store, right, write)?;
    }
    Ok(Err(refusal))
}

/// All that a refused submission leaves: its issues, in a journal row without a request id (HANDOFF-UNCHANGED).
fn keep_issues(
    store: &dyn Store,
    definitions: &Definitions,
    run: RunId,
    (step, issues): (u32, &[String]),
    by: &str,
    at: Timestamp,
) -> Result<Writes, Fatal> {
    let head = read::any_head(store, run)?.ok_or_else(|| Fatal(format!("run {run} is gone")))?;
    let mut change = Change::open(store, definitions, head, at)?;
    change.emit(Event::Refused { step, issues: issues.to_vec() })?;
    change.finish(by, None)
}

/// Installs a version; its content never changes, its maps may (§6.5, ROLE-VERSIONS).
fn install_version(store: &mut dyn Store, install: &InstallVersion) -> Result<Outcome, Fatal> {
    let name = &install.process.name;
    let installed = read::version(store, &install.org, name, install.version)?;
    if installed.as_ref().is_some_and(|v| v.hash != install.hash) {
        let message = format!("Version {} of {name} is installed with another content hash.", install.version);
        return Ok(Err(Refusal::new(Code::Conflict, message)));
    }
    if let Some(role) = install.process.roles().into_iter().find(|role| !install.roles.contains_key(*role)) {
        let message = format!("Role {role} of {name} has no group. Map every role (ROLE-UNMAPPED).");
        return Ok(Err(Refusal::new(Code::Invalid, message)));
    }
    let definition =
        Key::Definition { org: install.org.clone(), process: name.clone(), version: install.version }.encode();
    if store.get(&definition)?.is_none() {
        let row = Definition { process: install.process.clone(), body: install.body.clone() };
        store.put(definition, codec::encode(&row));
    }
    // A starter that read the catalog before a re-map may come after it: its older map changes nothing.
    let (roles, mapping) = match installed.filter(|has| has.mapping > install.mapping) {
        Some(has) => (has.roles, has.mapping),
        None => (install.roles.clone(), install.mapping),
    };
    let row = InstalledVersion {
        hash: install.hash.clone(),
        roles,
        mapping,
        escalations: install.escalations.clone(),
        operators: install.operators.clone(),
    };
    let key = Key::Version { org: install.org.clone(), process: name.clone(), version: install.version };
    store.put(key.encode(), codec::encode(&row));
    Ok(Ok(Reply::Done))
}

/// Stores a chunk; a file on record never changes.
fn store_chunk(store: &mut dyn Store, file: FileId, index: u32, bytes: &[u8]) -> Result<Outcome, Fatal> {
    let key = Key::FileChunk { file, index }.encode();
    if read::any_file(store, file)?.is_some() && store.get(&key)?.is_none_or(|held| held != bytes) {
        return Ok(Err(Refusal::new(Code::Conflict, "The file is on record and cannot change.")));
    }
    store.put(key, bytes.to_vec());
    Ok(Ok(Reply::Done))
}
