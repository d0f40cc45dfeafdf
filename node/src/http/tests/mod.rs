//! The public routes over a real socket, with made-up tools behind them.
#![expect(clippy::unwrap_used, reason = "tests")]

mod door;
mod mcp;
mod stop;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentprocess::json::{Object, Value, parse};
use axum::body::Bytes;
use quorate_proto::{Caller, CallerKind};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use tokio::sync::{Notify, oneshot};
use tokio_util::task::TaskTracker;

use super::guard::Guard;
use super::observe::Metrics;
use super::serve::{Limits, serve};
use super::tools::{FileBody, FileError, ToolInfo, Tools};
use super::{Public, public};
use crate::api::{DEPTH_MAX, envelope};
use crate::auth::Authenticator;
use crate::auth::dev::{DevIdentity, DevIssuer, DevToken};

const PUBLIC_URL: &str = "https://quorate.example.com";
const UPLOAD_BYTES_MAX: u64 = 3000;

/// Tools that show what reaches them.
#[derive(Default)]
struct Fake {
    begun: Notify,
    slow: AtomicUsize,
    go_on: Notify,
    finished: AtomicUsize,
}

impl Tools for Fake {
    fn tools(&self) -> Vec<ToolInfo> {
        let input_schema = include_str!("../../../../schemas/tools/get_run.arguments.json");
        let output_schema = Some(include_str!("../../../../schemas/shared/envelope.json"));
        let info = |name, writes| ToolInfo { name, description: "For tests.", input_schema, output_schema, writes };
        vec![
            info("echo", false),
            info("who", false),
            info("slow", true),
            info("late", true),
            info("panic", true),
            info("refuse", true),
        ]
    }

    fn busy(&self) -> Value {
        envelope::refused(&envelope::invalid(vec!["busy".to_owned()]))
    }

    fn too_large(&self, tool: &str) -> Value {
        envelope::refused(&envelope::invalid(vec![format!("{tool}: too large")]))
    }

    fn limit(&self, tool: &str) -> Duration {
        if tool == "late" { Duration::from_millis(200) } else { Duration::from_mins(1) }
    }

    fn late(&self, tool: &str) -> Value {
        envelope::refused(&envelope::retry(&format!("{tool} goes on")))
    }

    async fn call(&self, caller: &Caller, tool: &str, arguments: Bytes) -> Option<Value> {
        let mut data = Object::new();
        match tool {
            "echo" => match parse(&arguments, DEPTH_MAX) {
                Ok(arguments) => data = arguments.as_object().cloned().unwrap_or_default(),
                Err(e) => return Some(envelope::refused(&envelope::invalid(vec![e.message]))),
            },
            "who" => {
                let kind = if caller.kind == CallerKind::Human { "human" } else { "agent" };
                data.set("id", caller.id.as_str()).set("org", caller.org.as_str()).set("kind", kind);
            }
            "slow" | "late" => {
                self.slow.fetch_add(1, Ordering::SeqCst);
                self.begun.notify_one();
                self.go_on.notified().await;
                self.finished.fetch_add(1, Ordering::SeqCst);
            }
            "panic" => panic!("a secret in a panic"),
            "refuse" => return Some(parse(br#"{"ok":false,"error":{"code":"stale","message":"m"}}"#, 9).unwrap()),
            _ => return None,
        }
        let mut envelope = Object::new();
        envelope.set("ok", true).set("data", data);
        Some(envelope.into())
    }

    async fn file(&self, id: &str, query: &str) -> Result<FileBody, FileError> {
        match (id, query) {
            ("f_1", "s=1") => {
                let (file_name, content_type) = ("päge.html".to_owned(), "text/html".to_owned());
                Ok(FileBody { file_name, content_type, bytes: b"<script>1</script>".to_vec() })
            }
            ("f_2", "s=1") => {
                let (file_name, content_type) = ("x".to_owned(), "text/html\r\nx: y".to_owned());
                Ok(FileBody { file_name, content_type, bytes: vec![0, 255] })
            }
            ("f_3", "s=1") => Err(FileError::Expired),
            ("f_4", "s=1") => Err(FileError::Missing),
            ("f_5", "s=1") => Err(FileError::Damaged),
            ("f_6", "s=1") => Err(FileError::Unavailable("disk /var/secret".to_owned())),
            _ => Err(FileError::NotSigned),
        }
    }
}

/// A running server.
struct Server {
    base: String,
    tools: Arc<Fake>,
    metrics: Arc<Metrics>,
    issuer: DevIssuer,
    client: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
    ended: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start() -> Self {
        Self::start_with(Limits { stop_timeout: Duration::from_secs(5), ..Limits::default() }).await
    }

    async fn start_with(limits: Limits) -> Self {
        Self::start_as(limits, Guard::loopback(), UPLOAD_BYTES_MAX).await
    }

    async fn start_as(limits: Limits, guard: Guard, upload_bytes_max: u64) -> Self {
        let dir = std::env::temp_dir().join(format!("quorate-http-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&dir).unwrap();
        let issuer = DevIssuer::open(&dir).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        let (tools, metrics) = (Arc::new(Fake::default()), Arc::new(Metrics::default()));
        let tracker = TaskTracker::new();
        let router = public(Public {
            tools: Arc::clone(&tools),
            authenticator: Arc::new(Authenticator::new(&issuer.config()).unwrap()),
            authorization_servers: vec!["https://login.example.com/".to_owned()],
            public_url: PUBLIC_URL.to_owned(),
            guard,
            upload_bytes_max,
            metrics: Arc::clone(&metrics),
            tracker: tracker.clone(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { drop(stopped.await) };
        let ended = tokio::spawn(serve(listener, router, limits, Arc::clone(&metrics), tracker, stopped));
        let client = super::client::client(Duration::from_secs(10)).unwrap();
        Self { base, tools, metrics, issuer, client, stop: Some(stop), ended }
    }

    fn token(&self, who: DevIdentity) -> String {
        let (organization, groups) = ("demo".to_owned(), vec![]);
        let ttl = Duration::from_hours(1);
        self.issuer.token(&DevToken { who, organization, groups, operator: false, ttl }).unwrap()
    }

    fn agent(&self) -> String {
        self.token(DevIdentity::Agent("a1".to_owned()))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// A POST to `/mcp` as an official client of `version` makes it.
    fn post(&self, version: &str, body: impl Into<String>) -> RequestBuilder {
        self.request(Method::POST, "/mcp")
            .bearer_auth(self.agent())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", version)
            .body(body.into())
    }

    async fn send(&self, version: &str, body: impl Into<String>) -> (StatusCode, Value) {
        read(self.post(version, body).send().await.unwrap()).await
    }

    fn metrics(&self) -> String {
        let body = self.metrics.scrape().into_body();
        let bytes = futures_now(axum::body::to_bytes(body, 1 << 20)).unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }
}

/// The value of a future that is ready at once.
fn futures_now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("not ready"),
    }
}

async fn read(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let text = response.bytes().await.unwrap();
    (status, parse(&text, 100).unwrap_or_else(|_| String::from_utf8_lossy(&text).into_owned().into()))
}

/// The value at a path of names and list indexes.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    path.split('.').fold(value, |value, part| match value {
        Value::Object(object) => object.get(part).unwrap_or(&NULL),
        Value::Array(list) => part.parse::<usize>().ok().and_then(|n| list.get(n)).unwrap_or(&NULL),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => &NULL,
    })
}
