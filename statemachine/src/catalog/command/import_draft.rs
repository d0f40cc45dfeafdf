//! `ImportDraft`: a draft is seen by operators only until it is published. A new one takes the place of the old.

use agentprocess::time::Timestamp;
use quorate_proto::catalog::{CatalogReply, ImportDraft};
use quorate_proto::codec;

use crate::catalog::apply::{Judged, record};
use crate::catalog::keys::Key;
use crate::catalog::rows::{Done, DraftRow};
use crate::store::{Fatal, Store};

pub(in crate::catalog) fn apply(store: &mut dyn Store, at: Timestamp, draft: &ImportDraft) -> Result<Judged, Fatal> {
    let (org, process) = (draft.org.as_str(), draft.process.name.as_str());
    let row = DraftRow { draft: draft.clone(), imported_at: at };
    store.put(Key::Draft(org, process).bytes(), codec::encode(&row));
    record(store, at, (org, process), &draft.by, Done::Imported { hash: draft.hash.clone() })?;
    Ok(Ok(CatalogReply::Drafted))
}
