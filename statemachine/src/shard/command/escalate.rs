//! `escalate` (§3.3, ESC-WHERE).

use agentprocess::json::Object;
use quorate_proto::Reply;
use quorate_proto::shard::Token;

use super::Call;
use crate::shard::advance::position;
use crate::shard::change::Writes;
use crate::shard::event::Event;
use crate::shard::refuse::Stop;
use crate::shard::settle::settle;

/// Hands the step to the escalation group; the token is stale from here on and `due` goes on. When nobody is known to be
/// in the group, the operators are told: else the run could hang unseen.
pub(super) fn execute(call: &Call, token: &Token, note: &str, attended: bool) -> Result<(Writes, Reply), Stop> {
    let (mut change, step, _) = call.open_token(token)?;
    let group = change.version.escalations.clone();
    let by = call.caller().id.clone();
    change.emit(Event::Escalated { step: position(step)?, by, note: note.to_owned(), group })?;
    if !attended {
        let operators = change.version.operators.clone();
        let mut details = Object::new();
        details.set("group", change.version.escalations.as_str());
        change.notify("escalation_unattended", step, (vec![operators], Vec::new()), details);
    }
    settle(&mut change)?;
    let reply = Reply::Run(change.seen());
    call.finish(change, reply)
}
