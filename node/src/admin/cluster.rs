//! What the cluster is like: nodes, leaders, how far replicas are behind.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use futures_util::future::BoxFuture;

use super::Office;
use super::extract::Operator;
use super::model::{ClusterStatus, ErrorBody};

/// Asks the nodes how they are.
pub type Cluster = Arc<dyn Fn() -> BoxFuture<'static, ClusterStatus> + Send + Sync>;

/// How the nodes and groups of the cluster are. Any node answers; one that cannot be reached is told as such.
#[utoipa::path(
    get, path = "/admin/v1/cluster", tag = "cluster",
    responses((status = 200, body = ClusterStatus), (status = 403, body = ErrorBody))
)]
pub(super) async fn status(State(office): State<Arc<Office>>, Operator(_): Operator) -> Json<ClusterStatus> {
    Json((office.cluster)().await)
}
