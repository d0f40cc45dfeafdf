//! `/livez`, `/readyz` and `/metrics`, for the listener of operators.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;

use super::observe::Metrics;

/// Why a node is not ready; empty when it is.
pub type Reasons = Vec<String>;

/// Tells whether the node is ready to take calls.
pub type Readiness = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Reasons> + Send>> + Send + Sync>;

/// The three routes. A node that lives but is not ready answers 503 with each reason on its own line.
pub fn health(metrics: Arc<Metrics>, readiness: Readiness) -> Router {
    let ready = move || {
        let reasons = readiness();
        async move {
            let reasons = reasons.await;
            if reasons.is_empty() {
                (StatusCode::OK, "ready\n".to_owned()).into_response()
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n").into_response()
            }
        }
    };
    Router::new()
        .route("/livez", get(async || "alive\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(move || std::future::ready(metrics.scrape())))
}
