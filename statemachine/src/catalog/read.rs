//! Reads of the catalog. Each is of one organization: another's rows look absent.

use std::collections::{BTreeMap, BTreeSet};

use agentprocess::time::Timestamp;
use quorate_proto::codec;
use serde::de::DeserializeOwned;

use super::keys::{self, Key};
use super::rows::StoredVersion;
pub use super::rows::{DraftRow, DrainRow, HeadRow, NodeRow, RecordRow, VersionRow};
use crate::store::{Fatal, Read};

pub(super) fn row<T: DeserializeOwned>(store: &dyn Read, key: &Key<'_>) -> Result<Option<T>, Fatal> {
    Ok(store.get(&key.bytes())?.map(|bytes| codec::decode(&bytes)).transpose()?)
}

pub(super) fn stored(store: &dyn Read, org: &str, process: &str, number: u32) -> Result<Option<StoredVersion>, Fatal> {
    row(store, &Key::Version(org, process, number))
}

/// The group's clock: the instant of its last entry.
pub fn clock(store: &dyn Read) -> Result<Timestamp, Fatal> {
    Ok(row(store, &Key::Clock)?.unwrap_or_default())
}

/// The signing keys by number; the last signs, all verify.
pub fn keys(store: &dyn Read) -> Result<Vec<(u32, [u8; 32])>, Fatal> {
    let bad = || Fatal("a signing key's row is not what this build writes".to_owned());
    let rows = store.scan(keys::secrets(), false, usize::MAX)?;
    let ring = rows.into_iter().map(|(key, secret)| {
        let number = key.last_chunk::<4>().copied().map(u32::from_be_bytes).ok_or_else(bad)?;
        Ok((number, secret.try_into().map_err(|_| bad())?))
    });
    ring.collect()
}

/// The nodes of the cluster by number, removed ones too; none before the founders are noted.
pub fn nodes(store: &dyn Read) -> Result<Vec<(u64, NodeRow)>, Fatal> {
    let bad = || Fatal("a node's key is not what this build writes".to_owned());
    let rows = store.scan(keys::nodes(), false, usize::MAX)?;
    let all = rows.into_iter().map(|(key, value)| {
        Ok((key.last_chunk::<8>().copied().map(u64::from_be_bytes).ok_or_else(bad)?, codec::decode(&value)?))
    });
    all.collect()
}

/// The nodes that are to lead nothing, by number.
pub fn drained(store: &dyn Read) -> Result<BTreeMap<u64, DrainRow>, Fatal> {
    let bad = || Fatal("a drained node's key is not what this build writes".to_owned());
    let rows = store.scan(keys::drains(), false, usize::MAX)?;
    let all = rows.into_iter().map(|(key, value)| {
        Ok((key.last_chunk::<8>().copied().map(u64::from_be_bytes).ok_or_else(bad)?, codec::decode(&value)?))
    });
    all.collect()
}

/// How many replicas each shard is to have; `None` before the founders are noted.
pub fn replicas(store: &dyn Read) -> Result<Option<u16>, Fatal> {
    row(store, &Key::Replicas)
}

/// The nodes on which the replicas of each shard are wanted; none before the founders are noted.
pub fn placement(store: &dyn Read) -> Result<BTreeMap<u16, BTreeSet<u64>>, Fatal> {
    let bad = || Fatal("a placement's key is not what this build writes".to_owned());
    let rows = store.scan(keys::placements(), false, usize::MAX)?;
    let all = rows.into_iter().map(|(key, value)| {
        Ok((key.last_chunk::<2>().copied().map(u16::from_be_bytes).ok_or_else(bad)?, codec::decode(&value)?))
    });
    all.collect()
}

/// What stands of a process; `None` when it was never published.
pub fn head(store: &dyn Read, org: &str, process: &str) -> Result<Option<HeadRow>, Fatal> {
    row(store, &Key::Head(org, process))
}

/// The latest version; `None` when there is none or the process is retired (VERSIONS).
pub fn latest(store: &dyn Read, org: &str, process: &str) -> Result<Option<VersionRow>, Fatal> {
    match head(store, org, process)? {
        Some(head) if !head.retired => version(store, org, process, head.latest),
        Some(_) | None => Ok(None),
    }
}

/// One version, of a retired process too: look at its `retired`.
pub fn version(store: &dyn Read, org: &str, process: &str, number: u32) -> Result<Option<VersionRow>, Fatal> {
    let Some(head) = head(store, org, process)? else { return Ok(None) };
    let stored = stored(store, org, process, number)?;
    Ok(stored.map(|stored| assemble(number, stored, head.retired)))
}

/// Versions of a process from the newest down, at most `limit`, with numbers below `before` if one is given.
pub fn versions(
    store: &dyn Read,
    org: &str,
    process: &str,
    before: Option<u32>,
    limit: usize,
) -> Result<Vec<VersionRow>, Fatal> {
    let Some(head) = head(store, org, process)? else { return Ok(Vec::new()) };
    let rows = store.scan(keys::versions(org, process, before.unwrap_or(u32::MAX)), true, limit)?;
    let all = rows.into_iter().map(|(key, value)| {
        let number = key.last_chunk::<4>().copied().map(u32::from_be_bytes);
        let number = number.ok_or_else(|| Fatal("a version's key is too short".to_owned()))?;
        Ok(assemble(number, codec::decode(&value)?, head.retired))
    });
    all.collect()
}

/// The file of a version as it was imported.
pub fn source(store: &dyn Read, org: &str, process: &str, number: u32) -> Result<Option<String>, Fatal> {
    row(store, &Key::Source(org, process, number))
}

/// The latest version of each process not retired, by name after `after` (PROC-PAGE).
pub fn list(store: &dyn Read, org: &str, after: Option<&str>, limit: usize) -> Result<Vec<VersionRow>, Fatal> {
    let rows = store.scan(keys::processes(b'a', org, after), false, limit)?;
    let all = rows.into_iter().map(|(key, _)| {
        let name = name(&key)?;
        latest(store, org, &name)?.ok_or_else(|| Fatal(format!("{name} is listed but has no version")))
    });
    all.collect()
}

/// Every process ever published, retired or not, by name after `after`, with what stands of it.
pub fn heads(store: &dyn Read, org: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, HeadRow)>, Fatal> {
    let rows = store.scan(keys::processes(b'h', org, after), false, limit)?;
    rows.into_iter().map(|(key, value)| Ok((name(&key)?, codec::decode(&value)?))).collect()
}

/// The draft of a process.
pub fn draft(store: &dyn Read, org: &str, process: &str) -> Result<Option<DraftRow>, Fatal> {
    row(store, &Key::Draft(org, process))
}

/// Drafts by process name after `after`.
pub fn drafts(store: &dyn Read, org: &str, after: Option<&str>, limit: usize) -> Result<Vec<DraftRow>, Fatal> {
    let rows = store.scan(keys::processes(b'd', org, after), false, limit)?;
    rows.into_iter().map(|(_, value)| Ok(codec::decode(&value)?)).collect()
}

/// The audit record from the newest down, at most `limit`, before the sequence number `before` if one is given.
pub fn records(store: &dyn Read, org: &str, before: Option<u64>, limit: usize) -> Result<Vec<(u64, RecordRow)>, Fatal> {
    let rows = store.scan(keys::records(org, before), true, limit)?;
    let all = rows.into_iter().map(|(key, value)| {
        let sequence = key.last_chunk::<8>().copied().map(u64::from_be_bytes);
        let sequence = sequence.ok_or_else(|| Fatal("a record's key is too short".to_owned()))?;
        Ok((sequence, codec::decode(&value)?))
    });
    all.collect()
}

fn name(key: &[u8]) -> Result<String, Fatal> {
    keys::process_of(key).ok_or_else(|| Fatal("a process's key is not what this build writes".to_owned()))
}

fn assemble(number: u32, stored: StoredVersion, retired: bool) -> VersionRow {
    let StoredVersion { hash, process, body, roles, mapping, escalations, published_at, by } = stored;
    VersionRow { number, hash, process, body, roles, mapping, escalations, published_at, by, retired }
}
