//! HTTP: MCP, files, metadata, metrics, and serving them.

pub mod bearer;
mod body;
pub mod client;
mod exact;
mod files;
pub mod guard;
mod handler;
pub mod health;
pub mod mcp;
pub mod observe;
mod outline;
mod room;
pub mod serve;
#[cfg(test)]
mod tests;
pub mod tools;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get};
use tokio_util::task::TaskTracker;

use bearer::Door;
use guard::Guard;
use mcp::Mcp;
use observe::Metrics;
use tools::Tools;

use crate::auth::Authenticator;

/// Room in a body beside an upload's bytes, in bytes.
const BODY_OVERHEAD_BYTES: u64 = 1 << 20;

/// What the public listener is made of.
pub struct Public<T> {
    /// The tools.
    pub tools: Arc<T>,
    /// Judges tokens.
    pub authenticator: Arc<Authenticator>,
    /// Issuers that clients can be sent to ([`crate::auth::config::AuthConfig::authorization_servers`]).
    pub authorization_servers: Vec<String>,
    /// Public base address, without a slash at the end; never taken from a request.
    pub public_url: String,
    /// Hosts and origins.
    pub guard: Guard,
    /// Largest upload in decoded bytes (UPLOAD-LIMIT); a body may hold that in base64 and some more.
    pub upload_bytes_max: u64,
    /// Where calls are counted.
    pub metrics: Arc<Metrics>,
    /// Where calls run; give the same to [`serve::serve`].
    pub tracker: TaskTracker,
}

/// The public routes: `/mcp`, `/files/{id}`, and the metadata of RFC 9728.
pub fn public<T: Tools>(public: Public<T>) -> Router {
    let Public { tools, authenticator, authorization_servers, public_url, guard, upload_bytes_max, metrics, tracker } =
        public;
    let body_bytes_max = (upload_bytes_max.saturating_mul(4) / 3).saturating_add(BODY_OVERHEAD_BYTES);
    let body_bytes_max = usize::try_from(body_bytes_max).unwrap_or(usize::MAX);
    let mcp = Mcp::new(Arc::clone(&tools), Arc::clone(&metrics), tracker, body_bytes_max);
    let door = Arc::new(Door { authenticator, metrics: Arc::clone(&metrics), public_url, authorization_servers });

    let mcp = Router::new()
        .route("/mcp", any(mcp::handle::<T>))
        .with_state(mcp)
        .route_layer(from_fn_with_state(Arc::clone(&door), bearer::check));
    let metadata = get(move || std::future::ready(door.metadata()));
    Router::new()
        .route("/files/{id}", get(files::get::<T>))
        .with_state(tools)
        .route("/.well-known/oauth-protected-resource", metadata.clone())
        .route("/.well-known/oauth-protected-resource/mcp", metadata)
        .merge(mcp)
        .layer(from_fn_with_state(Arc::new(guard), guard::check))
        .layer(from_fn_with_state(metrics, observe::watch))
}
