//! Administration for human operators, under `/admin/v1/` (PUB-WHO): drafts, versions, role bindings, retirement.
//!
//! Routes and the `OpenAPI` document come from one declaration, so that they cannot drift apart. The organization is the
//! caller's own.

mod clock;
mod cluster;
mod document;
mod drafts;
mod error;
mod extract;
mod model;
mod publish;
mod reach;
mod record;
mod roles;
#[cfg(test)]
mod tests;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio_util::task::TaskTracker;
use tracing::Instrument;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Authenticator;
use crate::config::Organization;
use crate::http::bearer::{self, Door};
use crate::http::guard::{self, Guard};
use crate::http::health::{Readiness, health};
use crate::http::observe::{self, Metrics};
pub use cluster::{Cluster, Plan};
pub use error::Fault;
pub use model::*;
pub use reach::Reach;

/// What the administration listener is made of.
pub struct Admin {
    /// The groups behind.
    pub reach: Arc<dyn Reach>,
    /// Judges tokens.
    pub authenticator: Arc<Authenticator>,
    /// What is special about some organizations.
    pub organizations: BTreeMap<String, Organization>,
    /// The organization whose operators see and change the nodes; of every one, when not given.
    pub operated_by: Option<String>,
    /// Profiles that this server offers, as `describe` lists them.
    pub profiles: Vec<&'static str>,
    /// Tools that this server offers, as `describe` lists them.
    pub tools: Vec<&'static str>,
    /// Where requests are counted.
    pub metrics: Arc<Metrics>,
    /// Whether the node is ready.
    pub readiness: Readiness,
    /// How the cluster is.
    pub cluster: Cluster,
    /// What its planner wants.
    pub plan: Plan,
    /// Hosts and origins.
    pub guard: Guard,
    /// Base address of the public listener, for the metadata of RFC 9728.
    pub public_url: String,
    /// Where calls run; give the same to [`serve::serve`](crate::http::serve::serve).
    pub tracker: TaskTracker,
}

/// What handlers share.
struct Office {
    reach: Arc<dyn Reach>,
    authenticator: Arc<Authenticator>,
    organizations: BTreeMap<String, Organization>,
    operated_by: Option<String>,
    profiles: Vec<&'static str>,
    tools: Vec<&'static str>,
    cluster: Cluster,
    plan: Plan,
}

/// The routes with their descriptions.
fn described() -> OpenApiRouter<Arc<Office>> {
    OpenApiRouter::new()
        .routes(routes!(drafts::import, drafts::list))
        .routes(routes!(drafts::show))
        .routes(routes!(publish::publish))
        .routes(routes!(versions::list))
        .routes(routes!(versions::show_process))
        .routes(routes!(versions::show_version))
        .routes(routes!(versions::source))
        .routes(routes!(roles::map))
        .routes(routes!(versions::retire))
        .routes(routes!(versions::restore))
        .routes(routes!(record::list))
        .routes(routes!(cluster::status))
        .routes(routes!(cluster::plan))
        .routes(routes!(cluster::join_token))
        .routes(routes!(cluster::remove))
        .routes(routes!(cluster::drain, cluster::resume))
        .routes(routes!(clock::advance))
}

/// The `OpenAPI` document of `/admin/v1/`.
pub fn openapi() -> utoipa::openapi::OpenApi {
    document::finish(described().into_openapi())
}

/// Runs a call to its end even when the client goes away: a change that several groups must learn of may not stop
/// half-way.
async fn to_the_end(State(tracker): State<TaskTracker>, request: Request, next: Next) -> Response {
    let call = tracker.spawn(next.run(request).in_current_span()).await;
    call.unwrap_or_else(|fault| {
        tracing::error!(%fault, "a call of administration broke");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
}

/// All routes of the administration listener: `/admin/v1/…`, `/livez`, `/readyz`, `/metrics`.
pub fn admin(admin: Admin) -> Router {
    let Admin {
        reach,
        authenticator,
        organizations,
        operated_by,
        profiles,
        tools,
        metrics,
        readiness,
        cluster,
        plan,
        guard,
        public_url,
        tracker,
    } = admin;
    let kept = Arc::clone(&authenticator);
    let office =
        Arc::new(Office { reach, authenticator: kept, organizations, operated_by, profiles, tools, cluster, plan });
    let door =
        Arc::new(Door { authenticator, metrics: Arc::clone(&metrics), public_url, authorization_servers: Vec::new() });
    let (routes, api) = described().split_for_parts();
    let document = axum::Json(document::finish(api));
    // Probes and scrapers name a node by whatever address it has at the time. These three tell counts and reasons, nothing of
    // an organization, so that a page which got here by a name of its own learns nothing worth having.
    let any_host = from_fn_with_state(Arc::new(guard.for_any_host()), guard::check);
    let health = health(Arc::clone(&metrics), readiness).layer(any_host);
    Router::new()
        .merge(
            routes
                .layer(from_fn_with_state(tracker, to_the_end))
                .layer(from_fn_with_state(door, bearer::check))
                .with_state(office),
        )
        .route("/admin/v1/openapi.json", get(move || std::future::ready(document.clone())))
        .layer(from_fn_with_state(Arc::new(guard), guard::check))
        .merge(health)
        .layer(from_fn_with_state(metrics, observe::watch))
}
