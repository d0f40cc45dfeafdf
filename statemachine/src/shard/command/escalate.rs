//! `escalate` (§3.3, ESC-WHERE).

use quorate_proto::Reply;
use quorate_proto::shard::Token;

use super::Call;
use crate::shard::advance::position;
use crate::shard::change::Writes;
use crate::shard::event::Event;
use crate::shard::refuse::Stop;
use crate::shard::settle::settle;

/// Hands the step to the escalation group; the token is stale from here on and `due` goes on.
pub(super) fn execute(call: &Call, token: &Token, note: &str) -> Result<(Writes, Reply), Stop> {
    let (mut change, step, _) = call.open_token(token)?;
    let group = change.version.escalations.clone();
    let by = call.caller().id.clone();
    change.emit(Event::Escalated { step: position(step)?, by, note: note.to_owned(), group })?;
    settle(&mut change)?;
    let reply = Reply::Run(change.seen());
    call.finish(change, reply)
}
