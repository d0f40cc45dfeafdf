//! What handlers take from a request, refused in the form of this interface.

use std::sync::Arc;

use agentprocess::json;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use quorate_proto::{Caller, CallerKind, Code};
use serde::de::DeserializeOwned;

use super::error::Fault;

/// The human operator who calls (PUB-WHO). Agents and other people are refused.
pub struct Operator(pub Arc<Caller>);

impl<S: Send + Sync> FromRequestParts<S> for Operator {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let caller = parts.extensions.get::<Arc<Caller>>().cloned();
        match caller {
            Some(caller) if caller.kind == CallerKind::Human && caller.operator => Ok(Self(caller)),
            Some(_) | None => Err(Fault::new(Code::Forbidden, "Only a human operator may do this.")),
        }
    }
}

/// Query parameters.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(value)| Self(value)).map_err(|e| Fault::new(Code::Invalid, e.body_text()))
    }
}

/// Parts of the path.
pub struct At<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let path = Path::from_request_parts(parts, state).await;
        path.map(|Path(value)| Self(value)).map_err(|e| Fault::new(Code::NotFound, e.body_text()))
    }
}

/// Deepest nesting of a body.
const DEPTH_MAX: usize = 16;

/// A JSON body; an empty one reads as `{}`. Read strictly first: of two groups for one role the last must not win silently.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let bytes = axum::body::Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|e| Fault::new(Code::Invalid, e.body_text()))?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let fault = |what| Fault::with(Code::Invalid, "The body is not what this call takes.", vec![what]);
        json::parse(text, DEPTH_MAX).map_err(|e| fault(e.to_string()))?;
        let read = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(text));
        read.map(Self).map_err(|e| fault(e.to_string()))
    }
}
