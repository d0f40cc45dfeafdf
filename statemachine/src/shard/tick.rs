//! Time passing: due timers fire before anything else of an entry, in bounded numbers (design §5).

use agentprocess::time::Timestamp;
use quorate_proto::RunId;

use super::change::{Change, SERVER};
use super::definitions::Definitions;
use super::keys::Key;
use super::ranges::{all_timers, timer_range};
use super::read;
use super::settle::settle;
use super::timer::first_due;
use crate::store::{Fatal, Store};

/// How many timers of other runs one entry fires at most: a storm of due timers must not stop the shard (design §5).
pub const TIMERS_PER_ENTRY_MAX: usize = 64;

/// Fires all due timers of a run, in one journal row. Returns how many.
pub(super) fn fire_run(
    store: &mut dyn Store,
    definitions: &Definitions,
    run: RunId,
    at: Timestamp,
) -> Result<usize, Fatal> {
    let Some(head) = read::any_head(store, run)? else { return Ok(0) };
    if first_due(&head, at).is_none() {
        return Ok(0);
    }
    let mut change = Change::open(store, definitions, head, at)?;
    let fired = settle(&mut change)?;
    change.finish(SERVER, None)?.apply(store);
    Ok(fired)
}

/// Fires due timers of the shard, earliest first, run by run, up to the bound.
pub(super) fn fire_some(store: &mut dyn Store, definitions: &Definitions, at: Timestamp) -> Result<(), Fatal> {
    let mut fired = 0;
    while fired < TIMERS_PER_ENTRY_MAX {
        let Some(run) = due(store, at)? else { break };
        match fire_run(store, definitions, run, at)? {
            0 => return Err(Fatal(format!("a timer row of run {run} that its head does not have"))),
            some => fired += some,
        }
    }
    Ok(())
}

/// The run whose timer is the first of those that are due, if one is. Looks only where that is not known.
fn due(store: &mut dyn Store, at: Timestamp) -> Result<Option<RunId>, Fatal> {
    if store.known().and_then(|known| known.timers_from).is_some_and(|from| at < from) {
        debug_assert_eq!(store.scan(timer_range(at), false, 1), Ok(Vec::new()), "a timer that is not known of");
        return Ok(None);
    }
    let (first, run) = match store.scan(all_timers(), false, 1)?.pop() {
        None => (Timestamp(i64::MAX), None),
        Some((key, _)) => match Key::decode(&key) {
            Some(Key::Timer { at, run, .. }) => (at, Some(run)),
            Some(_) | None => return Err(Fatal("a timer row without a timer key".to_owned())),
        },
    };
    if let Some(known) = store.known() {
        known.timers_from = Some(first);
    }
    Ok(run.filter(|_| first <= at))
}
