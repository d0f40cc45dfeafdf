//! `AddKey`: the newest key signs, all verify.

use quorate_proto::catalog::CatalogReply;

use crate::catalog::apply::Judged;
use crate::catalog::keys::Key;
use crate::catalog::read;
use crate::store::{Fatal, Store};

pub(in crate::catalog) fn apply(store: &mut dyn Store, secret: [u8; 32]) -> Result<Judged, Fatal> {
    let key = read::keys(store)?.last().map_or(1, |(number, _)| number + 1);
    store.put(Key::Secret(key).bytes(), secret.to_vec());
    Ok(Ok(CatalogReply::KeyAdded { key }))
}
