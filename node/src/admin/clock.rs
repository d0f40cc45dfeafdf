//! The test clock: time stands where a test puts it.

use std::sync::Arc;

use agentprocess::time::Span;
use axum::Json;
use axum::extract::State;
use quorate_proto::shard::ShardCommand;
use quorate_proto::{Code, Command, GroupId};

use super::Office;
use super::error::Fault;
use super::extract::{Body, Operator};
use super::model::{Advance, ErrorBody, Standing};

/// Puts the test clock forward and fires everything that comes due. Only with `quorate dev --test-clock`.
#[utoipa::path(
    post, path = "/admin/v1/test/clock", tag = "test", request_body = Advance,
    responses(
        (status = 200, body = Standing),
        (status = 404, body = ErrorBody, description = "The server runs on the system's clock"),
        (status = 422, body = ErrorBody),
        (status = 403, body = ErrorBody),
    )
)]
pub(super) async fn advance(
    State(office): State<Arc<Office>>,
    Operator(_): Operator,
    Body(request): Body<Advance>,
) -> Result<Json<Standing>, Fault> {
    let clock = office.reach.clock();
    if !clock.is_test() {
        return Err(Fault::new(
            Code::NotFound,
            "This server runs on the system's clock; see quorate dev --test-clock.",
        ));
    }
    let span = span(&request.advance)
        .ok_or_else(|| Fault::new(Code::Invalid, "advance: write digits and s, m, h or d, such as 10m"))?;
    if !request.settle {
        return Ok(Json(Standing { now: clock.pass(span).to_string() }));
    }
    let now = clock.advance(span);
    // Committed, so that every group agrees on it and a restart goes on from it; then until nothing is due.
    for shard in 0..office.reach.shards() {
        let tick = Command::Shard(ShardCommand::Tick { run: None });
        office.reach.propose(GroupId::Shard(shard), tick).await??;
    }
    office.reach.settle().await?;
    Ok(Json(Standing { now: now.to_string() }))
}

/// A duration of §2.4, or seconds: leases in tests are shorter than a minute.
fn span(text: &str) -> Option<Span> {
    match text.strip_suffix('s') {
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().ok().and_then(|s: u64| s.checked_mul(1000)).map(Span)
        }
        Some(_) => None,
        None => Span::parse(text),
    }
}
