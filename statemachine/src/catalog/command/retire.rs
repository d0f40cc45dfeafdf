//! `Retire`: the process leaves `list_processes` and cannot be started; its runs go on (VERSIONS). Or it comes back.

use agentprocess::time::Timestamp;
use quorate_proto::catalog::CatalogReply;
use quorate_proto::codec;

use super::no_process;
use crate::catalog::apply::{Judged, record};
use crate::catalog::keys::Key;
use crate::catalog::read;
use crate::catalog::rows::{Done, HeadRow};
use crate::store::{Fatal, Store};

pub(in crate::catalog) fn apply(
    store: &mut dyn Store,
    at: Timestamp,
    (org, process): (&str, &str),
    retired: bool,
    by: &str,
) -> Result<Judged, Fatal> {
    let Some(head) = read::row::<HeadRow>(store, &Key::Head(org, process))? else {
        return Ok(Err(no_process(process)));
    };
    // Asking again for what is so already is no second event.
    if head.retired != retired {
        store.put(Key::Head(org, process).bytes(), codec::encode(&HeadRow { retired, ..head }));
        let active = Key::Active(org, process).bytes();
        if retired {
            store.delete(active);
        } else {
            store.put(active, Vec::new());
        }
        record(store, at, (org, process), by, if retired { Done::Retired } else { Done::Restored })?;
    }
    Ok(Ok(CatalogReply::Retired))
}
