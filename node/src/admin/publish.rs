//! Publication: on request of an operator only (§7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use quorate_proto::Code;
use quorate_proto::catalog::{CatalogCommand, CatalogReply};
use quorate_statemachine::catalog::{changed, read, roles};
use quorate_statemachine::store::Fatal;

use super::Office;
use super::error::Fault;
use super::extract::{At, Body, Operator};
use super::model::{ErrorBody, PublishRequest, Published};

/// Publishes the draft of a process. The latest content again returns the latest version.
#[utoipa::path(
    post, path = "/admin/v1/processes/{process}/publish", tag = "processes", params(("process" = String, Path)),
    request_body = PublishRequest,
    responses(
        (status = 200, body = Published),
        (status = 404, body = ErrorBody, description = "No draft"),
        (status = 409, body = ErrorBody, description = "The draft has changed"),
        (status = 422, body = ErrorBody, description = "A role without a group, an unknown role or group, a need that is not offered"),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn publish(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    At(process): At<String>,
    Body(request): Body<PublishRequest>,
) -> Result<Json<Published>, Fault> {
    let (org, name) = (caller.org.clone(), process.clone());
    let found = office.reach.catalog(move |state| {
        let Some(row) = read::draft(state, &org, &name)? else { return Ok(None) };
        let latest = match read::head(state, &org, &name)? {
            Some(head) => read::version(state, &org, &name, head.latest)?,
            None => None,
        };
        Ok(Some((row.draft, latest)))
    });
    let Some((draft, latest)) = found.await? else {
        return Err(Fault::new(
            Code::NotFound,
            format!("There is no draft of {process}. Import its PROCESS.md first."),
        ));
    };
    // Before anything is judged: issues of another's file would only mislead.
    if let Some(changed) = changed(&draft, request.hash.as_deref()) {
        return Err(changed.into());
    }
    let mut bound = request.roles;
    // Offered pre-filled from the last version (ROLE-VERSIONS).
    if let Some(latest) = &latest {
        for role in draft.process.roles() {
            if let (false, Some(group)) = (bound.contains_key(role), latest.roles.get(role)) {
                bound.insert(role.to_owned(), group.clone());
            }
        }
    }
    let settings = office.organizations.get(&caller.org);
    let escalations = request.escalations.or_else(|| settings.and_then(|s| s.escalation_group.clone()));
    let mut issues = roles::issues(&draft.process, &bound);
    issues.extend(office.undeclared(&caller.org, &bound));
    issues.extend(office.not_offered(&draft.source));
    if !issues.is_empty() {
        return Err(Fault::with(Code::Invalid, format!("{process} is not published: mend each issue."), issues));
    }
    let warnings = office.unseen(&caller.org, bound.values().chain(&escalations));
    let publish = CatalogCommand::Publish {
        org: caller.org.clone(),
        process: process.clone(),
        roles: bound,
        escalations,
        by: caller.id.clone(),
        // What was judged here is what must be published.
        hash: Some(draft.hash),
    };
    let CatalogReply::Published { version, created } = office.reach.change(publish).await? else {
        return Err(Fatal("a publication was answered with something else".to_owned()).into());
    };
    // Nothing was bound where nothing was created.
    let warnings = if created { warnings } else { Vec::new() };
    let version = office.version(&caller.org, &process, version).await?;
    Ok(Json(Published { created, version, warnings }))
}

impl Office {
    /// Bindings to groups that the organization's declared list lacks (ROLE-UNMAPPED).
    pub(super) fn undeclared(&self, org: &str, roles: &BTreeMap<String, String>) -> Vec<String> {
        let Some(declared) = self.organizations.get(org).and_then(|o| o.groups.as_ref()) else { return Vec::new() };
        let unknown = roles.iter().filter(|(_, group)| !declared.contains(*group));
        unknown.map(|(role, group)| format!("roles.{role}: {org} has no group {group}")).collect()
    }

    /// Groups that no identity of has been seen here, where there is no declared list (ROLE-UNMAPPED).
    pub(super) fn unseen<'a>(&self, org: &str, groups: impl Iterator<Item = &'a String>) -> Vec<String> {
        if self.organizations.get(org).is_some_and(|o| o.groups.is_some()) {
            return Vec::new();
        }
        let groups: BTreeSet<&String> = groups.filter(|group| !self.authenticator.has_seen(org, group)).collect();
        groups.into_iter().map(|group| format!("nobody of group {group} has signed in at this node yet")).collect()
    }
}
