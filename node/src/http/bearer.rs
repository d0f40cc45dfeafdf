//! Bearer tokens at the door (AUTH-401), and the metadata that tells clients where tokens come from (RFC 9728).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::observe::Metrics;
use crate::auth::{AuthError, Authenticator};

/// What the door needs.
pub struct Door {
    /// Judges tokens.
    pub authenticator: Arc<Authenticator>,
    /// Counts refusals.
    pub metrics: Arc<Metrics>,
    /// Public base address, without a slash at the end.
    pub public_url: String,
    /// Issuers that clients can be sent to.
    pub authorization_servers: Vec<String>,
}

impl Door {
    /// The metadata of this resource (RFC 9728 §3.2).
    pub fn metadata(&self) -> Json<Value> {
        let mut metadata = json!({
            "resource": format!("{}/mcp", self.public_url),
            "resource_name": "Quorate",
            "bearer_methods_supported": ["header"],
        });
        if !self.authorization_servers.is_empty() {
            metadata["authorization_servers"] = json!(self.authorization_servers);
        }
        Json(metadata)
    }

    fn refuse(&self, why: &Refused) -> Response {
        let (status, error, text) = match why {
            Refused::NoToken => (StatusCode::UNAUTHORIZED, None, "an access token is required".to_owned()),
            Refused::Auth(e @ AuthError::Invalid(_)) => {
                (StatusCode::UNAUTHORIZED, Some("invalid_token"), e.to_string())
            }
            Refused::Auth(e @ AuthError::NoIdentity) => (StatusCode::FORBIDDEN, None, e.to_string()),
            Refused::Auth(e @ AuthError::Unavailable) => (StatusCode::SERVICE_UNAVAILABLE, None, e.to_string()),
        };
        self.metrics.refused(why.reason());
        let body = json!({ "error": error.unwrap_or("access_denied"), "error_description": text });
        let mut response = (status, Json(body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let address = format!("{}/.well-known/oauth-protected-resource/mcp", self.public_url);
            let mut challenge = format!("Bearer resource_metadata=\"{address}\"");
            if let Some(error) = error {
                challenge = format!("{challenge}, error=\"{error}\", error_description=\"{text}\"");
            }
            // Made of a configured address and our own words, so it fits a header; else the status alone must do.
            if let Ok(challenge) = HeaderValue::from_str(&challenge) {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

enum Refused {
    NoToken,
    Auth(AuthError),
}

impl Refused {
    /// The label in the metrics.
    fn reason(&self) -> &'static str {
        match self {
            Self::NoToken => "no token",
            Self::Auth(AuthError::Invalid(reason)) => reason,
            Self::Auth(AuthError::NoIdentity) => "no identity",
            Self::Auth(AuthError::Unavailable) => "keys unavailable",
        }
    }
}

/// Lets a request through with its caller in the extensions, or refuses it.
pub async fn check(State(door): State<Arc<Door>>, mut request: Request, next: Next) -> Response {
    let Some(token) = token(request.headers()) else { return door.refuse(&Refused::NoToken) };
    match door.authenticator.authenticate(token).await {
        Ok(caller) => {
            request.extensions_mut().insert(Arc::new(caller));
            next.run(request).await
        }
        Err(why) => door.refuse(&Refused::Auth(why)),
    }
}

/// The one bearer token of a request. Two `Authorization` headers are none: two readers could choose differently.
fn token(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (all.next(), all.next()) else { return None };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
