//! One entry of the catalog.

use agentprocess::time::Timestamp;
use quorate_proto::catalog::{CatalogCommand, CatalogReply};
use quorate_proto::{Outcome, Refusal, Reply, codec};

use super::command::{add_key, import_draft, map_roles, nodes, publish, retire};
use super::keys::{self, Key};
use super::rows::{Done, RecordRow};
use crate::store::{Fatal, Store};

/// What a command came to in here.
pub(super) type Judged = Result<CatalogReply, Refusal>;

/// Applies a command stamped `entry_at`. A refusal changes nothing but the clock.
pub fn apply(store: &mut dyn Store, entry_at: Timestamp, command: &CatalogCommand) -> Result<Outcome, Fatal> {
    // Time never runs back in a group (CLOCK-ONE).
    let at = super::read::clock(store)?.max(entry_at);
    store.put(Key::Clock.bytes(), codec::encode(&at));
    let judged = match command {
        CatalogCommand::AddKey { secret } => add_key::apply(store, *secret)?,
        CatalogCommand::ImportDraft(draft) => import_draft::apply(store, at, draft)?,
        CatalogCommand::Publish { org, process, roles, escalations, by, hash } => {
            let publish = publish::Publish { org, process, roles, escalations: escalations.as_deref(), by };
            publish::apply(store, at, &publish, hash.as_deref())?
        }
        CatalogCommand::MapRoles { org, process, version, roles, by } => {
            map_roles::apply(store, at, (org, process, *version), roles, by)?
        }
        CatalogCommand::Retire { org, process, retired, by } => retire::apply(store, at, (org, process), *retired, by)?,
        CatalogCommand::Node(command) => nodes::apply(store, at, command)?,
    };
    Ok(judged.map(Reply::Catalog))
}

/// Appends to the audit record.
pub(super) fn record(
    store: &mut dyn Store,
    at: Timestamp,
    (org, process): (&str, &str),
    by: &str,
    done: Done,
) -> Result<(), Fatal> {
    let last = store.scan(keys::records(org, None), true, 1)?;
    let sequence = match last.first().and_then(|(key, _)| key.last_chunk::<8>()) {
        Some(bytes) => u64::from_be_bytes(*bytes) + 1,
        None => 1,
    };
    let row = RecordRow { at, by: by.to_owned(), process: process.to_owned(), done };
    store.put(Key::Record(org, sequence).bytes(), codec::encode(&row));
    Ok(())
}
