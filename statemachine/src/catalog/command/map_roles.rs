//! `MapRoles`: gives roles of a version other groups (ROLE-VERSIONS). Roles that are not named keep theirs.

use std::collections::BTreeMap;

use agentprocess::time::Timestamp;
use quorate_proto::catalog::CatalogReply;
use quorate_proto::{Code, Refusal, codec};

use super::no_process;
use crate::catalog::apply::{Judged, record};
use crate::catalog::keys::Key;
use crate::catalog::rows::Done;
use crate::catalog::{read, roles};
use crate::store::{Fatal, Store};

pub(in crate::catalog) fn apply(
    store: &mut dyn Store,
    at: Timestamp,
    (org, process, version): (&str, &str, u32),
    changes: &BTreeMap<String, String>,
    by: &str,
) -> Result<Judged, Fatal> {
    let Some(mut stored) = read::stored(store, org, process, version)? else {
        return Ok(Err(no_process(&format!("{process} with version {version}"))));
    };
    let issues = roles::unused(&stored.process, changes);
    if !issues.is_empty() {
        return Ok(Err(Refusal::new(Code::Invalid, "Not mapped: mend each issue.").with(issues)));
    }
    stored.roles.extend(changes.clone());
    stored.mapping += 1;
    store.put(Key::Version(org, process, version).bytes(), codec::encode(&stored));
    record(store, at, (org, process), by, Done::Mapped { version, roles: stored.roles })?;
    Ok(Ok(CatalogReply::Mapped))
}
