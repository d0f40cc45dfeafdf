//! Appends to one peer: several on the way at once, answered in the order in which they were sent.
//!
//! A follower takes an append only where its log goes on, so appends must arrive in order: [`Transport`] keeps the order on
//! the way, and [`RaftGroups::serve`] hands each to Raft before the next. When one is not taken as a whole, those behind it
//! are void: the stream ends there, and Raft begins another from what the follower has.
//!
//! [`Transport`]: super::Transport
//! [`RaftGroups::serve`]: super::RaftGroups::serve

use std::time::Duration;

use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use openraft::entry::RaftEntry as _;
use openraft::raft::{AppendEntriesRequest, StreamAppendResult};
use openraft::{OptionalSend, RPCTypes};

use super::message::{Request, Response};
use super::peer::{Failure, Peer, failed, unfit};
use super::types::{LogId, Types};

/// What a follower made of an append: its log then matches up to there.
pub(super) type Appended = StreamAppendResult<Types>;

/// Appends that may be on the way to one replica, in appends.
const APPENDS_MAX: usize = 8;
/// How long an append may take at least. It is answered after the follower's flush, and behind those before it: the short
/// limit of a heartbeat would send the same entries again and again on a slow disk. A link that is cut fails earlier.
const APPEND_LIMIT: Duration = Duration::from_secs(2);

/// Sends what comes in, and tells in the same order what came of it.
pub(super) fn pipeline<S>(peer: &Peer, input: S, limit: Duration) -> BoxStream<'_, Result<Appended, Failure>>
where
    S: Stream<Item = AppendEntriesRequest<Types>> + OptionalSend + 'static,
{
    let sent = input.map(move |append| {
        let before = append.prev_log_id;
        let last = append.entries.last().map_or(before, |entry| Some(entry.log_id()));
        let asked = peer.ask(RPCTypes::AppendEntries, &Request::Append(append), limit.max(APPEND_LIMIT));
        async move { asked.await.and_then(|response| judge(response, before, last)).map(|appended| (appended, last)) }
    });
    let answers = Box::pin(sent.buffered(APPENDS_MAX));
    let until_one_fails = stream::unfold(Some(answers), |answers| async move {
        let mut answers = answers?;
        let (answer, whole) = match answers.next().await? {
            Ok((appended, last)) => {
                let whole = appended.as_ref().is_ok_and(|matched| *matched == last);
                (Ok(appended), whole)
            }
            Err(e) => (Err(e), false),
        };
        Some((answer, whole.then_some(answers)))
    });
    Box::pin(until_one_fails)
}

/// What a response to an append of the entries after `before` up to `last` says.
fn judge(response: Response, before: Option<LogId>, last: Option<LogId>) -> Result<Appended, Failure> {
    let Response::Append(appended) = response else { return Err(unfit(response)) };
    if appended.is_conflict() && before.is_none() {
        // Nothing can conflict with the beginning of a log.
        return Err(failed("a peer tells of a conflict where none can be"));
    }
    Ok(appended.into_stream_result(before, last))
}
