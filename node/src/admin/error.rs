//! Refusals as administration tells them: `{"error": {"code", "message", "issues"}}` with a fitting status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use quorate_proto::{Code, Refusal};
use quorate_statemachine::store::Fatal;

use super::model::{ErrorBody, ErrorDetails};
use crate::groups::Unavailable;

/// A call that did not work.
#[derive(Debug)]
pub struct Fault {
    status: StatusCode,
    code: &'static str,
    message: String,
    issues: Vec<String>,
}

impl Fault {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Refusal::new(code, message).into()
    }

    pub(super) fn with(code: Code, message: impl Into<String>, issues: Vec<String>) -> Self {
        Refusal::new(code, message).with(issues).into()
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.code {
            Code::Invalid | Code::NotAccepted => StatusCode::UNPROCESSABLE_ENTITY,
            Code::Stale | Code::Conflict => StatusCode::CONFLICT,
            Code::Forbidden => StatusCode::FORBIDDEN,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::Retry => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self { status, code: refusal.code.as_str(), message: refusal.message, issues: refusal.issues }
    }
}

/// An unknown outcome is no failure: every call here may be made again.
impl From<Unavailable> for Fault {
    fn from(unavailable: Unavailable) -> Self {
        tracing::warn!(what = unavailable.0, "the catalog did not answer in time");
        Self::new(Code::Retry, "The catalog did not answer in time. Make the same call again.")
    }
}

impl From<Fatal> for Fault {
    fn from(fatal: Fatal) -> Self {
        tracing::error!(%fatal, "the catalog cannot be read");
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            code: "internal",
            message: "The catalog cannot be read. See the log of this node.".to_owned(),
            issues: Vec::new(),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let error = ErrorDetails { code: self.code.to_owned(), message: self.message, issues: self.issues };
        (self.status, Json(ErrorBody { error })).into_response()
    }
}
