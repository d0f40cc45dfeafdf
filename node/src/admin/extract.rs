//! What handlers take from a request, refused in the form of this interface.

use std::sync::Arc;
use std::time::Duration;

use agentprocess::json;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use futures_util::StreamExt;
use quorate_proto::{Caller, CallerKind, Code};
use serde::de::DeserializeOwned;

use super::Office;
use super::error::Fault;

/// How much of a file is kept, in bytes: more than a document may have, so that reading it as one says what is too large.
const FILE_BYTES_MAX: usize = 2 << 20;
/// How much of a longer file is read and dropped, in bytes: a client that is cut off while it sends never sees the answer.
const DROPPED_BYTES_MAX: usize = 64 << 20;
/// What axum takes of a body that is no file, in bytes.
const BODY_BYTES_MAX: usize = 2 << 20;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

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

/// An operator of the organization that runs the nodes: they are everybody's.
pub(super) struct NodeOperator(pub(super) Arc<Caller>);

impl FromRequestParts<Arc<Office>> for NodeOperator {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, office: &Arc<Office>) -> Result<Self, Fault> {
        let Operator(caller) = Operator::from_request_parts(parts, office).await?;
        if office.operated_by.as_ref().is_none_or(|organization| *organization == caller.org) {
            return Ok(Self(caller));
        }
        let message =
            "Only operators of the organization that runs the nodes may do this (setting cluster.operated_by).";
        Err(Fault::new(Code::Forbidden, message))
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
        let fault = |what| Fault::with(Code::Invalid, "The body is not what this call takes.", vec![what]);
        let bytes = in_time(Bytes::from_request(request, state)).await?;
        let bytes = bytes.map_err(|e| match e.status() {
            StatusCode::PAYLOAD_TOO_LARGE => fault(format!("body: over {BODY_BYTES_MAX} bytes")),
            _ => Fault::new(Code::Invalid, e.body_text()),
        })?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
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
        in_time(file(request)).await?
    }
}

async fn file(request: Request) -> Result<File, Fault> {
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
    Ok(File(file))
}

async fn in_time<T>(body: impl Future<Output = T>) -> Result<T, Fault> {
    let late = |_| Fault::new(Code::Invalid, format!("The body did not arrive within {BODY_TIMEOUT:?}."));
    tokio::time::timeout(BODY_TIMEOUT, body).await.map_err(late)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use axum::body::Body;
    use axum::response::IntoResponse;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up() {
        let never = || {
            let stream = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
            Request::new(Body::from_stream(stream))
        };
        let faults = [
            File::from_request(never(), &()).await.map(|_| ()).unwrap_err(),
            super::Body::<serde_json::Value>::from_request(never(), &()).await.map(|_| ()).unwrap_err(),
        ];
        for fault in faults {
            assert_eq!(fault.into_response().status(), StatusCode::UNPROCESSABLE_ENTITY);
        }
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_told_so() {
        let large = Request::new(Body::from(vec![b' '; BODY_BYTES_MAX + 1]));
        let fault = super::Body::<serde_json::Value>::from_request(large, &()).await.map(|_| ()).unwrap_err();
        assert!(format!("{fault:?}").contains("body: over 2097152 bytes"), "{fault:?}");
    }
}
