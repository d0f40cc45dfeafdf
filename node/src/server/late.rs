//! A listener answers from the start: that the node lives, and what it waits for until it can serve.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tokio::sync::watch;
use tower::ServiceExt;

/// What a listener will serve.
#[derive(Clone, Default)]
pub(super) struct Late(Arc<OnceLock<Router>>);

impl Late {
    /// Serves this from now on. Once: a node starts once.
    pub(super) fn set(&self, router: Router) {
        drop(self.0.set(router));
    }

    /// The routes of the listener: `meanwhile` until there are others.
    pub(super) fn router(&self, meanwhile: Router) -> Router {
        let late = Arc::clone(&self.0);
        Router::new().fallback_service(tower::service_fn(move |request: Request| {
            let router = late.get().unwrap_or(&meanwhile).clone();
            async move { Ok::<Response, Infallible>(router.oneshot(request).await.into_response()) }
        }))
    }
}

/// Answers everything with 503 and the reason; `/livez` with 200 where operators ask.
pub(super) fn starting(waits_for: watch::Receiver<String>, operators: bool) -> Router {
    let not_yet = move || {
        let why = format!("not ready: {}\n", *waits_for.borrow());
        std::future::ready((StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], why))
    };
    let router = Router::new().fallback(any(not_yet));
    if operators { router.route("/livez", get(async || "alive\n")) } else { router }
}
