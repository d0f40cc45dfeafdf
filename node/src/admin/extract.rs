//! What handlers take from a request, refused in the form of this interface.

use std::sync::Arc;

use agentprocess::json;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use futures_util::StreamExt;
use quorate_proto::{Caller, CallerKind, Code};
use serde::de::DeserializeOwned;

use super::error::Fault;

/// How much of a file is kept, in bytes: more than a document may have, so that reading it as one says what is too large.
const FILE_BYTES_MAX: usize = 2 << 20;
/// How much of a longer file is read and dropped, in bytes: a client that is cut off while it sends never sees the answer.
const DROPPED_BYTES_MAX: usize = 64 << 20;

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
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|e| Fault::new(Code::Invalid, e.body_text()))?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let fault = |what| Fault::with(Code::Invalid, "The body is not what this call takes.", vec![what]);
        json::parse(text, DEPTH_MAX).map_err(|e| fault(e.to_string()))?;
        let read = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(text));
        read.map(Self).map_err(|e| fault(e.to_string()))
    }
}

/// A file, sent as the body; of one that is too long, its beginning.
pub struct File(pub Vec<u8>);

impl<S: Send + Sync> FromRequest<S> for File {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Self, Fault> {
        let mut body = request.into_body().into_data_stream();
        let (mut file, mut dropped) = (Vec::new(), 0);
        while let Some(part) = body.next().await {
            let part = part.map_err(|e| Fault::new(Code::Invalid, format!("The file did not arrive: {e}")))?;
            let (kept, rest) = part.split_at(part.len().min(FILE_BYTES_MAX - file.len()));
            file.extend_from_slice(kept);
            dropped += rest.len();
            if dropped > DROPPED_BYTES_MAX {
                break;
            }
        }
        Ok(Self(file))
    }
}
