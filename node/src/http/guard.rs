//! Host and Origin checks: a page in someone's browser must not reach this server (MCP transport, DNS rebinding).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::Authority;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Which hosts and origins may be named.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// `host` (any port), `host:port`, or `*`.
    pub hosts: Vec<String>,
    /// `scheme://host[:port]`, `scheme://host:*`, or `*`. A request without `Origin` always passes: no browser sends it.
    pub origins: Vec<String>,
}

impl Guard {
    /// For a server that only this machine reaches.
    pub fn loopback() -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"];
        Self {
            hosts: hosts.map(str::to_owned).to_vec(),
            origins: hosts.map(|host| format!("http://{host}:*")).to_vec(),
        }
    }

    /// For the listener of operators at `listen`: also by the names of this machine, and by the address itself unless that
    /// stands for all of them.
    #[must_use]
    pub fn for_admin(mut self, listen: std::net::IpAddr) -> Self {
        self.hosts.extend(Self::loopback().hosts);
        if !listen.is_unspecified() {
            self.hosts.push(if listen.is_ipv6() { format!("[{listen}]") } else { listen.to_string() });
        }
        self
    }

    /// The same origins, whatever the host.
    #[must_use]
    pub fn for_any_host(&self) -> Self {
        Self { hosts: vec!["*".to_owned()], origins: self.origins.clone() }
    }

    fn allows_host(&self, request: &Request) -> bool {
        if self.hosts.iter().any(|allowed| allowed == "*") {
            return true;
        }
        let named = match request.headers().get(header::HOST) {
            Some(host) => host.to_str().ok().and_then(|host| host.parse().ok()),
            None => request.uri().authority().cloned(),
        };
        let Some(named): Option<Authority> = named else { return false };
        self.hosts
            .iter()
            .any(|allowed| named.as_str().eq_ignore_ascii_case(allowed) || named.host().eq_ignore_ascii_case(allowed))
    }

    fn allows_origin(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        self.origins.iter().any(|allowed| {
            if let Some(any_port) = allowed.strip_suffix(":*") {
                let Some(rest) = origin.get(any_port.len()..) else { return false };
                let port = rest.strip_prefix(':');
                let numeric = port.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
                origin[..any_port.len()].eq_ignore_ascii_case(any_port) && (rest.is_empty() || numeric)
            } else {
                allowed == "*" || origin.eq_ignore_ascii_case(allowed)
            }
        })
    }
}

/// Refuses other hosts and origins with 403, and answers the questions browsers ask first for the allowed ones.
pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if !guard.allows_host(&request) {
        return (StatusCode::FORBIDDEN, "this host name is not allowed here\n").into_response();
    }
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else { return next.run(request).await };
    if !guard.allows_origin(&origin) {
        return (StatusCode::FORBIDDEN, "this origin is not allowed here\n").into_response();
    }
    let asks = request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if asks && request.method() == Method::OPTIONS {
        preflight(request.headers())
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let exposed = HeaderValue::from_static("www-authenticate, x-request-id");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    response
}

fn preflight(asked: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let allow = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT")),
        (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")),
    ];
    let wanted = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let headers: [Option<(HeaderName, HeaderValue)>; 1] = [wanted.map(|h| (header::ACCESS_CONTROL_ALLOW_HEADERS, h))];
    response.headers_mut().extend(allow.into_iter().chain(headers.into_iter().flatten()));
    response
}
