//! `send_event` (§3.6).

use agentprocess::json::Object;
use quorate_proto::{CallerKind, Reply, RunId};

use super::Call;
use crate::shard::change::Writes;
use crate::shard::event::{Delivery, Event, Record};
use crate::shard::refuse::{self, Stop};
use crate::shard::settle::settle;
use crate::shard::{accept, advance, data};

/// How many events a run holds at most; the cap on run data bounds their bytes.
const EVENTS_HELD_MAX: usize = 1000;

/// Delivers an event to the wait ready longest (EVENT-MATCH), or holds it. The cap bounds either (CAP-WHERE).
pub(super) fn execute(call: &Call, run: RunId, name: &str, data: Option<&Object>) -> Result<(Writes, Reply), Stop> {
    let mut change = call.open(run)?;
    let caller = call.caller();
    if caller.kind != CallerKind::Agent && !caller.operator {
        return Err(refuse::forbidden("Only an agent or an operator sends events.").into());
    }
    if !is_name(name) {
        let issue = "name: expected a lower-case letter, then letters, digits, _ or -, at most 64 in all";
        return Err(refuse::invalid(vec![issue.to_owned()]).into());
    }
    let data = data.cloned().unwrap_or_default();
    let waiting = advance::waiting_for(&change, name);
    if let Some(step) = waiting {
        advance::complete(&mut change, step, &caller.id, Record::Delivered(Delivery::Now(data)))?;
    } else if change.head.held.len() >= EVENTS_HELD_MAX {
        return Err(refuse::invalid(vec![format!("name: this run holds {EVENTS_HELD_MAX} events already")]).into());
    } else {
        let bytes = data::value_bytes(&data.clone().into());
        change.emit(Event::EventHeld { name: name.to_owned(), by: caller.id.clone(), data, bytes })?;
    }
    if data::bytes(&change.head, change.process()) > call.limits().run_data_bytes_max {
        return Err(refuse::invalid(vec![accept::over(call.limits().run_data_bytes_max)]).into());
    }
    if let Some(step) = waiting {
        let next = advance::after_event(&change, step)?;
        advance::go(&mut change, step, next)?;
    }
    settle(&mut change)?;
    let consumed_by = waiting.map(|step| change.process().steps[step].id.clone());
    call.finish(change, Reply::EventSent { consumed_by })
}

/// The step id pattern (§2.2): `^[a-z][a-z0-9_-]{0,63}$`.
fn is_name(name: &str) -> bool {
    let tail = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(tail)
}
