#![expect(clippy::unwrap_used, reason = "tests")]

mod catalog;
mod document;
mod guard;
mod hashes;
mod manage;
mod offer;
mod racing;
mod stop;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentprocess::time::Timestamp;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use quorate_proto::{Caller, CallerKind};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::{Admin, Reach, admin};
use crate::api::{Api, Settings, tools};
use crate::auth::Authenticator;
use crate::auth::dev::{DevIdentity, DevIssuer, DevToken};
use crate::clock::Clock;
use crate::config::Organization;
use crate::groups::Groups;
use crate::http::guard::Guard;
use crate::http::observe::Metrics;
use crate::memory::MemoryGroups;

/// The smallest valid file (BASE of the scenarios).
pub(super) const BASE: &str = "---\nname: p\ndescription: d\nsteps:\n  - { id: a, agent: do it, next: z }\n  - { id: z, finish: ok }\n---\n\nBody.\n";

/// A file with the role `lead`.
pub(super) fn with_role(body: &str) -> String {
    let steps = "  - { id: a, agent: do it, next: b }\n  - { id: b, approve: all well, person: lead, next: z }\n";
    format!("---\nname: p\ndescription: d\nsteps:\n{steps}  - {{ id: z, finish: ok }}\n---\n{body}")
}

/// Who calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Operator,
    OtherOperator,
    Person,
    Agent,
}

/// A server's administration and tools over groups in memory.
pub(super) struct World<G: Groups = MemoryGroups> {
    pub(super) router: Router,
    pub(super) api: Arc<Api<G>>,
    tokens: BTreeMap<Who, String>,
    authenticator: Arc<Authenticator>,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with_clock(Clock::test(Timestamp(1_800_000_000_000)))
    }

    pub(super) fn with_clock(clock: Clock) -> Self {
        let clock = Arc::new(clock);
        Self::over(Arc::new(MemoryGroups::new(2, Arc::clone(&clock))), clock)
    }
}

impl<G: Groups> World<G> {
    pub(super) fn over(groups: Arc<G>, clock: Arc<Clock>) -> Self {
        let dir = std::env::temp_dir().join(format!("quorate-admin-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&dir).unwrap();
        let issuer = DevIssuer::open(&dir).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        let token = |who, organization: &str, operator| {
            let (organization, groups, ttl) =
                (organization.to_owned(), vec!["g_seen".to_owned()], Duration::from_mins(10));
            issuer.token(&DevToken { who, organization, groups, operator, ttl }).unwrap()
        };
        let human = |name: &str| DevIdentity::Human(format!("{name}@example.com"));
        let tokens = BTreeMap::from([
            (Who::Operator, token(human("ops"), "demo", true)),
            (Who::OtherOperator, token(human("boss"), "other", true)),
            (Who::Person, token(human("mira"), "demo", false)),
            (Who::Agent, token(DevIdentity::Agent("agent-1".to_owned()), "demo", false)),
        ]);
        let api = Arc::new(Api::new(groups, Settings::new("http://127.0.0.1:8080"), clock));
        let authenticator = Arc::new(Authenticator::new(&issuer.config()).unwrap());
        let mut world = Self { router: Router::new(), api, tokens, authenticator };
        let names = tools().iter().map(|tool| tool.name).collect();
        world.offer(vec!["parallel-1"], names, None);
        world
    }

    /// Starts administration anew: with what it offers, and a declared list of groups of `demo`.
    pub(super) fn offer(&mut self, profiles: Vec<&'static str>, tools: Vec<&'static str>, groups: Option<&[&str]>) {
        self.serve(Arc::clone(&self.api) as Arc<dyn Reach>, profiles, tools, groups);
    }

    /// Starts administration anew, over `reach`.
    pub(super) fn serve(
        &mut self,
        reach: Arc<dyn Reach>,
        profiles: Vec<&'static str>,
        tools: Vec<&'static str>,
        groups: Option<&[&str]>,
    ) {
        let groups = groups.map(|groups| groups.iter().map(|g| (*g).to_owned()).collect());
        let demo = Organization { groups, escalation_group: None };
        self.router = admin(Admin {
            reach,
            authenticator: Arc::clone(&self.authenticator),
            organizations: BTreeMap::from([("demo".to_owned(), demo)]),
            operated_by: Some("demo".to_owned()),
            profiles,
            tools,
            metrics: Arc::new(Metrics::default()),
            readiness: Arc::new(|| Box::pin(std::future::ready(Vec::new()))),
            cluster: Arc::new(|| {
                Box::pin(std::future::ready(crate::admin::ClusterStatus {
                    asked: 1,
                    nodes: Vec::new(),
                    groups: Vec::new(),
                }))
            }),
            plan: Arc::new(|| Box::pin(std::future::ready(Err(crate::groups::Unavailable("no catalog".to_owned()))))),
            guard: Guard::loopback(),
            public_url: "http://127.0.0.1:8080".to_owned(),
            tracker: TaskTracker::new(),
        });
    }

    pub(super) fn token(&self, who: Who) -> &str {
        &self.tokens[&who]
    }

    /// One call; status and JSON body (a body that is no JSON comes as a string).
    pub(super) async fn call(&self, who: Who, method: &str, path: &str, body: impl Into<Body>) -> (StatusCode, Value) {
        self.send(Some(&self.tokens[&who]), method, &format!("/admin/v1{path}"), body).await
    }

    /// One call with any token or none, to any route.
    pub(super) async fn send(
        &self,
        token: Option<&str>,
        method: &str,
        uri: &str,
        body: impl Into<Body>,
    ) -> (StatusCode, Value) {
        let mut request = Request::builder().method(method).uri(uri).header("host", "localhost:8081");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let response = self.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// A call of the operator that works.
    pub(super) async fn done(&self, method: &str, path: &str, body: impl Into<Body>) -> Value {
        let (status, answer) = self.call(Who::Operator, method, path, body).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer
    }

    /// A call of the operator that is refused: code and issues.
    pub(super) async fn refused(&self, method: &str, path: &str, body: impl Into<Body>) -> (String, Vec<String>) {
        let (status, answer) = self.call(Who::Operator, method, path, body).await;
        assert!(!status.is_success(), "{answer}");
        let issues = answer["error"]["issues"].as_array().unwrap();
        let issues = issues.iter().map(|issue| issue.as_str().unwrap().to_owned()).collect();
        (answer["error"]["code"].as_str().unwrap().to_owned(), issues)
    }

    pub(super) async fn import(&self, file: &str) -> Value {
        self.done("POST", "/drafts", file.to_owned()).await
    }

    pub(super) async fn publish(&self, process: &str, roles: Value) -> Value {
        self.done("POST", &format!("/processes/{process}/publish"), json!({ "roles": roles }).to_string()).await
    }

    /// Imports and publishes; the version's number and whether it was created.
    pub(super) async fn release(&self, file: &str, roles: Value) -> (u64, bool) {
        let draft = self.import(file).await;
        let published = self.publish(draft["process"].as_str().unwrap(), roles).await;
        (published["version"]["version"].as_u64().unwrap(), published["created"].as_bool().unwrap())
    }

    /// A tool call as a client makes it; the envelope.
    pub(super) async fn tool(&self, org: &str, tool: &str, arguments: Value) -> Value {
        let caller = Caller {
            org: org.to_owned(),
            kind: CallerKind::Agent,
            id: "agent-1".to_owned(),
            person: None,
            groups: [].into(),
            operator: false,
            processes: None,
        };
        let answer = self.api.call(&caller, tool, arguments.to_string()).await.unwrap();
        serde_json::from_str(&answer.to_string()).unwrap()
    }

    /// `list_processes` of an organization, first page.
    pub(super) async fn listed(&self, org: &str) -> Value {
        self.tool(org, "list_processes", json!({})).await["data"]["items"].clone()
    }
}
