//! MCP at `/mcp`: Streamable HTTP without sessions, so that any node answers any call, in every revision of the protocol
//! that the SDK knows (with `initialize`, and with per-request metadata).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use agentprocess::json::Value;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use quorate_proto::Caller;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::task::TaskTracker;

use super::body::{Received, receive};
use super::exact::{self, Fault};
use super::handler::{Handler, Shared};
use super::observe::{Called, Metrics, RequestId};
use super::room::{Busy, Room, Taken};
use super::tools::Tools;

/// The longest answer of the SDK that is looked into, in bytes: a placeholder, or a list of tools.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// The MCP endpoint.
pub struct Mcp<T: Tools> {
    service: StreamableHttpService<Handler<T>, NeverSessionManager>,
    metrics: Arc<Metrics>,
    body_bytes_max: usize,
    room: Room,
}

/// A tool call on its way through the SDK: what goes in beside it, and what comes out.
pub struct Pending {
    /// Who calls.
    pub caller: Arc<Caller>,
    /// The id in the logs.
    pub request_id: Arc<str>,
    /// The exact arguments, taken by the handler.
    pub sent: Mutex<Option<Sent>>,
    /// What the handler came to.
    pub end: Mutex<Option<End>>,
}

/// What a tool call came with.
pub enum Sent {
    /// Its arguments as they were sent, and the room that the call takes.
    Arguments(Bytes, [Taken; 2]),
    /// Arguments that there was no room for in time.
    Busy,
    /// More than a request may hold; it was not kept.
    TooLarge,
}

/// The end of a tool call.
pub enum End {
    /// An envelope.
    Envelope {
        /// The tool, a known one.
        tool: &'static str,
        /// The exact envelope.
        envelope: Value,
        /// The room that the call takes.
        taken: [Taken; 2],
    },
    /// The call broke inside.
    Broken {
        /// The tool, a known one.
        tool: &'static str,
    },
}

impl<T: Tools> Mcp<T> {
    /// The endpoint over `tools`. Calls run under `tracker`, which a stopping server waits for.
    pub fn new(tools: Arc<T>, metrics: Arc<Metrics>, tracker: TaskTracker, body_bytes_max: usize) -> Arc<Self> {
        let shared = Arc::new(Shared::new(tools, tracker));
        // Host and Origin are checked by `guard`, for every route alike.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(body_bytes_max);
        let service = StreamableHttpService::new(
            move || Ok(Handler(Arc::clone(&shared))),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Arc::new(Self { service, metrics, body_bytes_max, room: Room::default() })
    }
}

/// Any method on `/mcp`. Without sessions only POST means anything; the SDK answers 405 to the others.
pub async fn handle<T: Tools>(State(mcp): State<Arc<Mcp<T>>>, request: Request) -> Response {
    if request.method() != Method::POST {
        return mcp.service.handle(request).await.map(Body::new);
    }
    let begun = Instant::now();
    let (mut parts, body) = request.into_parts();
    let (message, sent) = match read(body, mcp.body_bytes_max, &mcp.room).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let request_id = parts.extensions.get::<RequestId>().map_or_else(|| "".into(), |id| Arc::clone(&id.0));
    let Some(caller) = parts.extensions.get::<Arc<Caller>>().cloned() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let pending = sent.map(|sent| {
        let sent = Mutex::new(Some(sent));
        Arc::new(Pending { caller, request_id, sent, end: Mutex::new(None) })
    });
    if let Some(pending) = &pending {
        parts.extensions.insert(Arc::clone(pending));
    }
    accept_json(&mut parts.headers);
    parts.headers.remove(header::CONTENT_LENGTH);
    let answer = mcp.service.handle(Request::from_parts(parts, Body::from(message))).await.map(Body::new);
    let end = pending.and_then(|pending| pending.end.lock().unwrap_or_else(PoisonError::into_inner).take());
    match end {
        Some(End::Envelope { tool, envelope, taken }) => {
            let outcome = outcome(&envelope).to_owned();
            mcp.metrics.called(tool, &outcome, begun.elapsed());
            let mut response = joined(answer, envelope).await;
            drop(taken);
            response.extensions_mut().insert(Called { tool: tool.to_owned(), outcome });
            response
        }
        Some(End::Broken { tool }) => {
            mcp.metrics.called(tool, "internal", begun.elapsed());
            let mut response = answer;
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response.extensions_mut().insert(Called { tool: tool.to_owned(), outcome: "internal".to_owned() });
            response
        }
        // The body was JSON and had the right type; the SDK's complaint is about the message.
        None if answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE => unreadable(answer).await,
        None => answer,
    }
}

/// The message for the SDK and, if it is a tool call, what came with it.
async fn read(body: Body, max: usize, room: &Room) -> Result<(Bytes, Option<Sent>), Response> {
    let too_large = || {
        let text = format!("a request may have at most {max} bytes");
        rpc_error(StatusCode::PAYLOAD_TOO_LARGE, &Fault { code: -32600, message: text, id: None })
    };
    match receive(body, max, room).await {
        Ok(Received::Whole(body, taken)) => {
            let split = exact::split(&body).map_err(|fault| refuse(&fault))?;
            let Some(arguments) = split.arguments else { return Ok((split.message, None)) };
            let sent = match room.call(&arguments).await {
                Ok(call) => Sent::Arguments(arguments, [taken, call]),
                Err(Busy) => Sent::Busy,
            };
            Ok((split.message, Some(sent)))
        }
        // Only a tool call has an answer of its own for this (JSON-LIMITS, UPLOAD-LIMIT).
        Ok(Received::Outline(outline)) => match exact::split(&outline) {
            Ok(split) if split.arguments.is_some() => Ok((split.message, Some(Sent::TooLarge))),
            Ok(_) | Err(_) => Err(too_large()),
        },
        Ok(Received::TooLarge) => Err(too_large()),
        Err(status) => Err(status.into_response()),
    }
}

/// Answers are always JSON here, so a client that takes JSON is served even when it does not list the event stream.
fn accept_json(headers: &mut header::HeaderMap) {
    let takes_json = match headers.get(header::ACCEPT).map(HeaderValue::to_str) {
        None => true,
        Some(Ok(accept)) => accept.contains("application/json") || accept.contains("*/*"),
        Some(Err(_)) => false,
    };
    if takes_json {
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
}

async fn joined(answer: Response, envelope: Value) -> Response {
    let (mut parts, body) = answer.into_parts();
    let joined = to_bytes(body, ANSWER_BYTES_MAX).await.ok().and_then(|body| exact::join(&body, envelope));
    let Some(body) = joined else {
        tracing::error!("a tool's answer does not fit the protocol's message");
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(body))
}

async fn unreadable(answer: Response) -> Response {
    let body = to_bytes(answer.into_body(), ANSWER_BYTES_MAX).await.unwrap_or_default();
    let message = String::from_utf8_lossy(&body).into_owned();
    let code = if message.starts_with("Unsupported Media Type") { None } else { Some(-32600) };
    match code {
        Some(code) => refuse(&Fault { code, message, id: None }),
        None => (StatusCode::UNSUPPORTED_MEDIA_TYPE, message).into_response(),
    }
}

fn refuse(fault: &Fault) -> Response {
    rpc_error(StatusCode::BAD_REQUEST, fault)
}

fn rpc_error(status: StatusCode, fault: &Fault) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], exact::fault_text(fault)).into_response()
}

/// `ok`, or the error code.
fn outcome(envelope: &Value) -> &str {
    let Some(envelope) = envelope.as_object() else { return "internal" };
    if envelope.get("ok").and_then(Value::as_bool) == Some(true) {
        return "ok";
    }
    let error = envelope.get("error").and_then(Value::as_object);
    error.and_then(|e| e.get("code")).and_then(Value::as_str).unwrap_or("internal")
}
