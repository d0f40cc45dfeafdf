//! `Publish`: the draft becomes the next version, or the latest version is returned when it is identical (PUB-AGAIN).
//!
//! The draft stays, so that a repeated publication finds it and returns the same version.

use std::collections::BTreeMap;

use agentprocess::time::Timestamp;
use quorate_proto::catalog::{CatalogReply, ImportDraft};
use quorate_proto::{Code, Refusal, codec};

use crate::catalog::apply::{Judged, record};
use crate::catalog::keys::Key;
use crate::catalog::rows::{Done, HeadRow, StoredVersion};
use crate::catalog::{read, roles};
use crate::store::{Fatal, Store};

/// What to publish, and how.
pub(in crate::catalog) struct Publish<'a> {
    pub(in crate::catalog) org: &'a str,
    pub(in crate::catalog) process: &'a str,
    pub(in crate::catalog) roles: &'a BTreeMap<String, String>,
    pub(in crate::catalog) escalations: Option<&'a str>,
    pub(in crate::catalog) by: &'a str,
}

/// The refusal for a publisher who saw another draft than the one that stands: a publication never takes a file under a
/// claim that was made for another.
pub fn changed(draft: &ImportDraft, seen: Option<&str>) -> Option<Refusal> {
    seen.filter(|seen| *seen != draft.hash)?;
    let ImportDraft { process, hash, by, .. } = draft;
    let message = format!(
        "The draft of {} is not the one you saw: the one that stands, imported by {by}, has hash {hash}. Look at it, \
         or import yours again, then publish with the hash you were told.",
        process.name
    );
    Some(Refusal::new(Code::Conflict, message))
}

pub(in crate::catalog) fn apply(
    store: &mut dyn Store,
    at: Timestamp,
    publish: &Publish<'_>,
    seen: Option<&str>,
) -> Result<Judged, Fatal> {
    let Publish { org, process, by, .. } = *publish;
    let Some(draft) = read::draft(store, org, process)?.map(|row| row.draft) else {
        let message = format!("There is no draft of {process}. Import its PROCESS.md first.");
        return Ok(Err(Refusal::new(Code::NotFound, message)));
    };
    if let Some(changed) = changed(&draft, seen) {
        return Ok(Err(changed));
    }
    let mut issues = roles::issues(&draft.process, publish.roles);
    if publish.escalations.is_some_and(|group| !roles::is_group(group)) {
        issues.push("escalations: not a group id".to_owned());
    }
    if !issues.is_empty() {
        return Ok(Err(Refusal::new(Code::Invalid, "Not published: mend each issue.").with(issues)));
    }
    let head: HeadRow = read::row(store, &Key::Head(org, process))?.unwrap_or_default();
    let stands = read::stored(store, org, process, head.latest)?;
    if stands.is_some_and(|version| version.hash == draft.hash) {
        return Ok(Ok(CatalogReply::Published { version: head.latest, created: false }));
    }
    let number = head.latest + 1;
    let done = Done::Published { version: number, hash: draft.hash.clone(), roles: publish.roles.clone() };
    let version = StoredVersion {
        hash: draft.hash,
        process: draft.process,
        body: draft.body,
        roles: publish.roles.clone(),
        mapping: 0,
        escalations: publish.escalations.map(str::to_owned),
        published_at: at,
        by: by.to_owned(),
    };
    store.put(Key::Version(org, process, number).bytes(), codec::encode(&version));
    store.put(Key::Source(org, process, number).bytes(), codec::encode(&draft.source));
    // A retired process stays so: bringing it back is an act of its own.
    store.put(Key::Head(org, process).bytes(), codec::encode(&HeadRow { latest: number, ..head }));
    if !head.retired {
        store.put(Key::Active(org, process).bytes(), Vec::new());
    }
    record(store, at, (org, process), by, done)?;
    Ok(Ok(CatalogReply::Published { version: number, created: true }))
}
