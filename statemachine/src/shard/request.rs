//! Request ids over all shards (design §4): one call at most takes effect with an id, whatever is lost, late or doubled.
//!
//! The home shard of an id gives it to one attempt at a time and numbers attempts; the shard of the run records the
//! call or refuses it. A refused attempt is fenced in the same entry, so that no late copy of it takes effect once the
//! id is free. `docs/adr/0012-request-ids-over-all-shards.md` says why this suffices.

use quorate_proto::shard::Write;
use quorate_proto::{Attempt, Reply, RequestCommand, RequestReply, Reservation, Right, codec};

use super::keys::Key;
use super::ranges::fence_ages;
use super::read;
use super::rows::{Fences, RequestRow};
use crate::store::{Fatal, Read, Store};

/// How many fences a shard holds at most against attempts of one home, in rows. Beyond it the oldest goes, and with it
/// every attempt that is older still: one that waited so long is made anew under a later number.
pub const FENCES_PER_HOME_MAX: u64 = 1024;

/// How a write stands to its request id.
pub(super) enum Standing {
    /// It was answered before, or may not be judged here and now.
    Answered(Reply),
    /// Judge it.
    Free,
    /// Refuse it, at its place in ERR-ORDER: another call used the id.
    Reused,
}

/// Carries out a step of the coordination.
pub(super) fn apply(store: &mut dyn Store, (org, id): (&str, &str), command: &RequestCommand) -> Result<Reply, Fatal> {
    let row = read::request(store, org, id)?;
    Ok(Reply::Request(match command {
        RequestCommand::Reserve { home, target, fingerprint } => match row {
            Some(RequestRow::Recorded { .. }) => RequestReply::Used,
            Some(RequestRow::Reserved { fingerprint: of, reservation }) if of == *fingerprint => {
                RequestReply::Reserved(reservation.attempt)
            }
            Some(RequestRow::Reserved { reservation, .. }) => RequestReply::Held(reservation),
            None => {
                let attempt = Attempt { home: *home, number: next_number(store)? };
                let reservation = Reservation { target: *target, attempt };
                let row = RequestRow::Reserved { fingerprint: *fingerprint, reservation };
                store.put(request_key(org, id).encode(), codec::encode(&row));
                RequestReply::Reserved(attempt)
            }
        },
        RequestCommand::Fence(attempt) => match row {
            Some(RequestRow::Recorded { .. }) => RequestReply::Used,
            Some(RequestRow::Reserved { .. }) | None => {
                fence(store, (org, id), *attempt)?;
                RequestReply::Fenced
            }
        },
        RequestCommand::Release(attempt) => {
            let reserved =
                |row| matches!(row, RequestRow::Reserved { reservation, .. } if reservation.attempt == *attempt);
            if row.is_some_and(reserved) {
                store.delete(request_key(org, id).encode());
            }
            return Ok(Reply::Done);
        }
    }))
}

/// What becomes of a write, before anything else is judged.
pub(super) fn judge(store: &dyn Read, right: Right, write: &Write) -> Result<Standing, Fatal> {
    let (org, id) = (&write.caller.org, &write.request);
    let answer = |reply| Standing::Answered(Reply::Request(reply));
    Ok(match (read::request(store, org, id)?, right) {
        (Some(RequestRow::Recorded { fingerprint, reply }), _) if fingerprint == write.fingerprint => {
            Standing::Answered(reply)
        }
        (Some(RequestRow::Recorded { .. }), _) | (_, Right::Taken) => Standing::Reused,
        (Some(RequestRow::Reserved { reservation, .. }), Right::Home(_) | Right::Reserved(_)) => {
            answer(RequestReply::Held(reservation))
        }
        (None, Right::Home(attempt) | Right::Reserved(attempt)) => {
            if is_stale(store, (org, id), attempt)? {
                answer(RequestReply::Stale { last: read::counter(store, &Key::AttemptLast)? })
            } else {
                Standing::Free
            }
        }
    })
}

/// Sees to it that no copy of a refused write takes effect later.
pub(super) fn refused(store: &mut dyn Store, right: Right, write: &Write) -> Result<(), Fatal> {
    let attempt = match right {
        Right::Reserved(attempt) => attempt,
        // Every copy so far was proposed under a number that was not beyond this one.
        Right::Home(Attempt { home, .. }) => Attempt { home, number: next_number(store)? },
        Right::Taken => return Ok(()),
    };
    fence(store, (&write.caller.org, &write.request), attempt)
}

fn is_stale(store: &dyn Read, (org, id): (&str, &str), attempt: Attempt) -> Result<bool, Fatal> {
    let fenced = read::counter(store, &fence_key(org, id))?;
    Ok(attempt.number <= fenced || attempt.number < fences(store, attempt.home)?.floor)
}

/// Makes every attempt for an id up to `attempt` stale. An id has one fence; a shard has few of them.
fn fence(store: &mut dyn Store, (org, id): (&str, &str), attempt: Attempt) -> Result<(), Fatal> {
    if is_stale(store, (org, id), attempt)? {
        return Ok(());
    }
    let (home, key) = (attempt.home, fence_key(org, id));
    let mut all = fences(store, home)?;
    match read::row::<u64>(store, &key)? {
        Some(number) => store.delete(Key::FenceAge { attempt: Attempt { home, number } }.encode()),
        None => all.held += 1,
    }
    store.put(key.encode(), codec::encode(&attempt.number));
    store.put(Key::FenceAge { attempt }.encode(), codec::encode(&(org, id)));
    if all.held > FENCES_PER_HOME_MAX {
        all = Fences { floor: drop_oldest(store, home)? + 1, held: all.held - 1 };
    }
    store.put(Key::Fences { home }.encode(), codec::encode(&all));
    Ok(())
}

/// Removes the oldest fence and returns its number.
fn drop_oldest(store: &mut dyn Store, home: u16) -> Result<u64, Fatal> {
    let broken = || Fatal(format!("the fences of home {home} are not as many as counted"));
    let (key, value) = store.scan(fence_ages(home), false, 1)?.pop().ok_or_else(broken)?;
    let Some(Key::FenceAge { attempt }) = Key::decode(&key) else { return Err(broken()) };
    let (org, id): (String, String) = codec::decode(&value)?;
    store.delete(fence_key(&org, &id).encode());
    store.delete(key);
    Ok(attempt.number)
}

fn fences(store: &dyn Read, home: u16) -> Result<Fences, Fatal> {
    Ok(read::row(store, &Key::Fences { home })?.unwrap_or_default())
}

fn next_number(store: &mut dyn Store) -> Result<u64, Fatal> {
    let number = read::counter(store, &Key::AttemptLast)? + 1;
    store.put(Key::AttemptLast.encode(), codec::encode(&number));
    Ok(number)
}

fn request_key(org: &str, id: &str) -> Key {
    Key::Request { org: org.to_owned(), id: id.to_owned() }
}

fn fence_key(org: &str, id: &str) -> Key {
    Key::Fence { org: org.to_owned(), id: id.to_owned() }
}
