//! `renew` (§3.3).

use quorate_proto::Reply;
use quorate_proto::shard::Token;

use super::{Call, claim};
use crate::shard::advance::position;
use crate::shard::change::Writes;
use crate::shard::event::Event;
use crate::shard::refuse::Stop;

/// Sets a new expiry of now plus the lease; the old token is stale from here on. A blank note changes nothing
/// (RENEW-RACE).
pub(super) fn execute(call: &Call, token: &Token, progress: Option<&str>, key: u32) -> Result<(Writes, Reply), Stop> {
    let (mut change, step, _) = call.open_token(token)?;
    let expires = call.at.plus(call.limits().lease);
    let progress = progress.filter(|note| !note.trim().is_empty()).map(str::to_owned);
    change.emit(Event::Renewed { step: position(step)?, expires, progress })?;
    let reply = Reply::Renewed { claim: claim::held(&change, step, key)? };
    call.finish(change, reply)
}
