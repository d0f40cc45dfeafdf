//! The body of a request, within bounds of size and time.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use http_body_util::BodyExt as _;

use super::outline::Outline;
use super::room::{Room, SMALL_BYTES, Taken};

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);
/// How much of a body is read, in times of what it may have. Most clients read no answer before they have sent all, so
/// what is too large is read and dropped up to here.
const DRAIN_FACTOR: usize = 4;

/// A body.
pub enum Received {
    /// All of it, and the room it takes.
    Whole(Bytes, Taken),
    /// Larger than it may be: the message without its arguments.
    Outline(Bytes),
    /// Larger than it may be, and no more is known of it.
    TooLarge,
}

/// Reads a body that may have `max` bytes, once there is room for it.
pub async fn receive(body: Body, max: usize, room: &Room) -> Result<Received, StatusCode> {
    match tokio::time::timeout(BODY_TIMEOUT, read(body, max, room)).await {
        Ok(Ok(received)) => Ok(received),
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

async fn read(mut body: Body, max: usize, room: &Room) -> Result<Received, axum::Error> {
    let drained_max = max.saturating_mul(DRAIN_FACTOR);
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if stated > drained_max {
        return Ok(Received::TooLarge);
    }
    let (mut whole, mut taken) = (Vec::new(), None);
    let mut outline = (stated > max).then(Outline::default);
    let mut read = 0usize;
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        read = read.saturating_add(piece.len());
        if read > drained_max {
            return Ok(Received::TooLarge);
        }
        if outline.is_none() && read > max {
            let begun = outline.insert(Outline::default());
            begun.feed(&std::mem::take(&mut whole));
            taken = None;
        }
        if let Some(outline) = &mut outline {
            outline.feed(&piece);
            continue;
        }
        if taken.is_none() && read > SMALL_BYTES {
            // One that does not state its size may have any.
            taken = room.body(if stated > 0 { stated } else { max }).await;
            whole.reserve_exact(stated.saturating_sub(whole.len()));
        }
        whole.extend_from_slice(&piece);
    }
    let Some(outline) = outline else { return Ok(Received::Whole(whole.into(), taken)) };
    Ok(outline.finish().map_or(Received::TooLarge, |kept| Received::Outline(kept.into())))
}
