//! Roles of a published version, mapped anew (ROLE-VERSIONS).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use quorate_proto::Code;
use quorate_proto::catalog::CatalogCommand;

use super::Office;
use super::error::Fault;
use super::extract::{At, Body, Operator};
use super::model::{ErrorBody, MapRequest, Version};

/// Gives roles of a version other groups. Work items created afterwards use them.
#[utoipa::path(
    put, path = "/admin/v1/processes/{process}/versions/{version}/roles", tag = "processes",
    params(("process" = String, Path), ("version" = u32, Path)), request_body = MapRequest,
    responses(
        (status = 200, body = Version),
        (status = 404, body = ErrorBody),
        (status = 422, body = ErrorBody),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn map(
    State(office): State<Arc<Office>>,
    Operator(caller): Operator,
    At((process, version)): At<(String, u32)>,
    Body(request): Body<MapRequest>,
) -> Result<Json<Version>, Fault> {
    let issues = office.undeclared(&caller.org, &request.roles);
    if !issues.is_empty() {
        return Err(Fault::with(Code::Invalid, "Not mapped: mend each issue.", issues));
    }
    let map = CatalogCommand::MapRoles {
        org: caller.org.clone(),
        process: process.clone(),
        version,
        roles: request.roles,
        by: caller.id.clone(),
    };
    office.reach.change(map).await?;
    // The same call again finishes what a fault between these two left.
    office.reach.spread_roles(&caller.org, &process, version).await?;
    office.version(&caller.org, &process, version).await.map(Json)
}
