//! What the cluster is like, and which nodes it has.

use std::sync::Arc;

use agentprocess::time::Span;
use axum::Json;
use axum::extract::State;
use futures_util::future::BoxFuture;
use quorate_proto::Code;
use quorate_proto::catalog::{CatalogCommand, NodeCommand};
use quorate_statemachine::catalog::read;

use super::Office;
use super::error::Fault;
use super::extract::{At, Body, NodeOperator};
use super::model::{ClusterPlan, ClusterStatus, Drained, ErrorBody, JoinToken, JoinTokenRequest, Removed};
use crate::cluster::placement::catalog_voters;
use crate::groups::Unavailable;

/// Asks the nodes how they are.
pub type Cluster = Arc<dyn Fn() -> BoxFuture<'static, ClusterStatus> + Send + Sync>;

/// Asks what the planner wants.
pub type Plan = Arc<dyn Fn() -> BoxFuture<'static, Result<ClusterPlan, Unavailable>> + Send + Sync>;

/// Where the replicas of the shards are wanted, and what is done next, with the reason. Any node answers.
#[utoipa::path(
    get, path = "/admin/v1/cluster/plan", tag = "cluster",
    responses(
        (status = 200, body = ClusterPlan),
        (status = 503, body = ErrorBody, description = "The catalog has no leader now"),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn plan(
    State(office): State<Arc<Office>>,
    NodeOperator(_): NodeOperator,
) -> Result<Json<ClusterPlan>, Fault> {
    Ok(Json((office.plan)().await?))
}

/// How the nodes and groups of the cluster are. Any node answers; one that cannot be reached is told as such.
#[utoipa::path(
    get, path = "/admin/v1/cluster", tag = "cluster",
    responses((status = 200, body = ClusterStatus), (status = 403, body = ErrorBody))
)]
pub(super) async fn status(State(office): State<Arc<Office>>, NodeOperator(_): NodeOperator) -> Json<ClusterStatus> {
    Json((office.cluster)().await)
}

/// How long a join token is good for, unless the call says otherwise, and at most.
const JOIN_TTL: Span = Span(3_600_000);
const JOIN_TTL_MAX: Span = Span(30 * 24 * 3_600_000);

/// Makes a token that lets new nodes into the cluster until it ends.
#[utoipa::path(
    post, path = "/admin/v1/cluster/join-tokens", tag = "cluster", request_body = JoinTokenRequest,
    responses((status = 200, body = JoinToken), (status = 422, body = ErrorBody), (status = 403, body = ErrorBody))
)]
pub(super) async fn join_token(
    State(office): State<Arc<Office>>,
    NodeOperator(_): NodeOperator,
    Body(request): Body<JoinTokenRequest>,
) -> Result<Json<JoinToken>, Fault> {
    let ttl =
        request.ttl.as_deref().map_or(Some(JOIN_TTL), Span::parse).filter(|ttl| ttl.0 > 0 && *ttl <= JOIN_TTL_MAX);
    let ttl =
        ttl.ok_or_else(|| Fault::new(Code::Invalid, "ttl: write digits and m, h or d, such as 2h; at most 30d"))?;
    let (token, ends) = office.reach.join_token(ttl).await?;
    Ok(Json(JoinToken { token, expires_at: ends.to_string() }))
}

/// Takes a node out of the cluster, for good: its replicas go from all groups, one after another, and its folder cannot come back.
#[utoipa::path(
    delete, path = "/admin/v1/cluster/nodes/{node}", tag = "cluster",
    params(("node" = u64, Path, description = "Its number")),
    responses(
        (status = 200, body = Removed),
        (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody, description = "It was removed before, or is the last"),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn remove(
    State(office): State<Arc<Office>>,
    NodeOperator(caller): NodeOperator,
    At(node): At<u64>,
) -> Result<Json<Removed>, Fault> {
    office.reach.change(CatalogCommand::Node(NodeCommand::Remove { node })).await?;
    tracing::warn!(node, by = caller.id, org = caller.org, "a node is removed from the cluster");
    Ok(Json(Removed { node }))
}

/// Drains a node: it hands over what it leads, and leads nothing until it is resumed, also when it is restarted meanwhile. It keeps
/// its replicas and votes, and takes calls. Call it before work on a node; `GET /admin/v1/cluster` shows when it leads nothing.
/// Of a node that is drained already nothing changes.
#[utoipa::path(
    put, path = "/admin/v1/cluster/nodes/{node}/drain", tag = "cluster",
    params(("node" = u64, Path, description = "Its number")),
    responses(
        (status = 200, body = Drained),
        (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody, description = "Nobody would be left to lead some group, or it was removed"),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn drain(
    State(office): State<Arc<Office>>,
    NodeOperator(caller): NodeOperator,
    At(node): At<u64>,
) -> Result<Json<Drained>, Fault> {
    let catalog = office.reach.catalog(|state| {
        let nodes = read::nodes(state)?.into_iter().filter(|(_, row)| !row.removed);
        Ok(catalog_voters(&nodes.map(|(node, row)| (node, row.node.zone)).collect()))
    });
    let command = NodeCommand::Drain { node, by: caller.id.clone(), catalog: catalog.await? };
    office.reach.change(CatalogCommand::Node(command)).await?;
    tracing::warn!(node, by = caller.id, org = caller.org, "a node is drained");
    Ok(Json(Drained { node, drained: true }))
}

/// Lets a drained node lead again.
#[utoipa::path(
    delete, path = "/admin/v1/cluster/nodes/{node}/drain", tag = "cluster",
    params(("node" = u64, Path, description = "Its number")),
    responses(
        (status = 200, body = Drained),
        (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody, description = "It was removed"),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn resume(
    State(office): State<Arc<Office>>,
    NodeOperator(caller): NodeOperator,
    At(node): At<u64>,
) -> Result<Json<Drained>, Fault> {
    office.reach.change(CatalogCommand::Node(NodeCommand::Resume { node })).await?;
    tracing::warn!(node, by = caller.id, org = caller.org, "a node may lead again");
    Ok(Json(Drained { node, drained: false }))
}
