//! What an operator sees: a log line with an id per request, metrics, and whether the node lives and is ready.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tracing::Instrument;

/// The header that carries a request's id, in and out.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id taken from a caller, in bytes.
const REQUEST_ID_BYTES_MAX: usize = 128;
/// Upper bounds of the latency buckets, in seconds.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The node's metrics, all named `quorate_…`.
pub struct Metrics {
    registry: Mutex<Registry>,
    calls: Family<CallLabels, Counter>,
    durations: Family<ToolLabels, Histogram, fn() -> Histogram>,
    requests: Family<RequestLabels, Counter>,
    refusals: Family<RefusalLabels, Counter>,
    connections: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: String,
    outcome: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    reason: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("quorate");
        let calls = Family::default();
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let (requests, refusals, connections) = (Family::default(), Family::default(), Gauge::default());
        registry.register("tool_calls", "Tool calls by tool and outcome (ok, an error code, internal)", calls.clone());
        let help = "Time from a tool call's arrival to its answer";
        registry.register_with_unit("tool_call_duration", help, Unit::Seconds, durations.clone());
        registry.register("http_requests", "HTTP requests by route and status", requests.clone());
        registry.register("auth_refusals", "Requests refused at the door, by reason", refusals.clone());
        registry.register("http_connections", "Open HTTP connections", connections.clone());
        Self { registry: Mutex::new(registry), calls, durations, requests, refusals, connections }
    }
}

impl Metrics {
    /// Adds figures that are gathered at each scrape, such as those of the Raft groups.
    pub fn register(&self, collector: Box<dyn Collector>) {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner).register_collector(collector);
    }

    /// Counts a tool call. `tool` must be one of the known names, else the number of series would be the callers' choice.
    pub fn called(&self, tool: &str, outcome: &str, duration: Duration) {
        let labels = CallLabels { tool: tool.to_owned(), outcome: outcome.to_owned() };
        self.calls.get_or_create(&labels).inc();
        self.durations.get_or_create(&ToolLabels { tool: tool.to_owned() }).observe(duration.as_secs_f64());
    }

    /// Counts a request refused at the door.
    pub fn refused(&self, reason: &'static str) {
        self.refusals.get_or_create(&RefusalLabels { reason }).inc();
    }

    /// The gauge of open connections.
    pub fn connections(&self) -> &Gauge {
        &self.connections
    }

    /// `GET /metrics`: all figures as `OpenMetrics` text.
    pub fn scrape(&self) -> Response {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing into a string fails only when a collector does.
        if let Err(fault) = prometheus_client::encoding::text::encode(&mut text, &registry) {
            tracing::error!(%fault, "metrics could not be written");
        }
        let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
        ([(header::CONTENT_TYPE, kind)], text).into_response()
    }
}

/// The id of a request, in its extensions.
#[derive(Clone, Debug)]
pub struct RequestId(pub Arc<str>);

/// What a request came to, when it was a tool call: in the response's extensions.
#[derive(Clone, Debug)]
pub struct Called {
    /// The tool.
    pub tool: String,
    /// `ok`, an error code, or `internal`.
    pub outcome: String,
}

/// Gives each request an id and a span, and logs and counts its end.
pub async fn watch(State(metrics): State<Arc<Metrics>>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id(&request);
    request.extensions_mut().insert(RequestId(Arc::clone(&id)));
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", id = &*id, method = %request.method(), route);
    async move {
        let mut response = next.run(request).await;
        let (status, duration) = (response.status().as_u16(), begun.elapsed());
        let called = response.extensions().get::<Called>();
        let (tool, outcome) = (called.map(|c| c.tool.as_str()), called.map(|c| c.outcome.as_str()));
        tracing::info!(status, tool, outcome, took_ms = duration.as_secs_f64() * 1e3, "answered");
        metrics.requests.get_or_create(&RequestLabels { route, status }).inc();
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID.clone(), id);
        }
        response
    }
    .instrument(span)
    .await
}

/// The caller's own id when it is a short plain word, else a new one.
fn request_id(request: &Request) -> Arc<str> {
    let plain = |id: &&str| {
        !id.is_empty()
            && id.len() <= REQUEST_ID_BYTES_MAX
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    };
    let sent = request.headers().get(&REQUEST_ID).and_then(|id| id.to_str().ok()).filter(plain);
    sent.map_or_else(|| uuid::Uuid::new_v4().to_string().into(), Into::into)
}
