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
use openraft::{AsyncRuntime as _, OptionalSend, RPCTypes};

use super::message::{Request, Response};
use super::peer::{Failure, Peer, failed, unfit};
use super::types::{LogId, Runtime, Types};

/// What a follower made of an append: its log then matches up to there.
pub(super) type Appended = StreamAppendResult<Types>;

/// Appends that may be on the way to one replica, in appends: one is flushed there while others travel. More would only make
/// each smaller.
const APPENDS_MAX: usize = 4;
/// How long an append may take at least. It is answered after the follower's flush, and behind those before it: the short
/// limit of a heartbeat would send the same entries again and again on a slow disk. A link that is cut fails earlier.
const APPEND_LIMIT: Duration = Duration::from_secs(2);

/// Sends what comes in, and tells in the same order what came of it.
pub(super) fn pipeline<S>(peer: &Peer, input: S, limit: Duration) -> BoxStream<'_, Result<Appended, Failure>>
where
    S: Stream<Item = AppendEntriesRequest<Types>> + OptionalSend + 'static,
{
    // The fault that the harness must find: all but the first append of a stream are taken for done when they are sent.
    let mut begun = false;
    let sent = input.map(move |append| {
        let early = cfg!(feature = "early-answer") && std::mem::replace(&mut begun, true);
        let before = append.prev_log_id;
        let last = append.entries.last().map_or(before, |entry| Some(entry.log_id()));
        let asked = peer.ask(RPCTypes::AppendEntries, &Request::Append(append), limit.max(APPEND_LIMIT));
        async move {
            if early {
                drop(Runtime::spawn(asked));
                return Ok((Ok(last), last));
            }
            asked.await.and_then(|response| judge(response, before, last)).map(|appended| (appended, last))
        }
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

#[cfg(all(test, not(madsim)))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use openraft::errors::RPCError;
    use openraft::raft::{AppendEntriesResponse as Is, StreamAppendError};
    use quorate_proto::{GroupId, codec};

    use super::super::types::Vote;
    use super::super::{Transport, Unreached};
    use super::*;

    /// A peer that answers by a script, and the last first: what came in last is answered when all came.
    struct Scripted {
        asked: Mutex<usize>,
        says: Mutex<VecDeque<Result<Response, Unreached>>>,
    }

    impl Transport for Scripted {
        fn call(&self, _: u64, _: GroupId, _: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
            *self.asked.lock().unwrap() += 1;
            let said = self.says.lock().unwrap().pop_front().unwrap();
            let turns = self.says.lock().unwrap().len();
            Box::pin(async move {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                said.map(|response| codec::encode(&response))
            })
        }
    }

    fn log(index: u64) -> LogId {
        LogId::new(Vote::new_committed(1, 1).leader_id, index)
    }

    /// An append of one blank entry after `before`.
    fn append(before: u64) -> AppendEntriesRequest<Types> {
        let entry = super::super::types::LogEntry::new_blank(log(before + 1));
        let (vote, prev_log_id) = (Vote::new_committed(1, 1), (before > 0).then(|| log(before)));
        AppendEntriesRequest { vote, prev_log_id, entries: vec![entry], leader_commit: None }
    }

    /// What comes of as many appends as there are responses, and how many were asked.
    async fn run(says: Vec<Result<Response, Unreached>>) -> (Vec<Result<Appended, Failure>>, usize) {
        let appends: Vec<_> = (0..).map(append).take(says.len()).collect();
        let scripted = Arc::new(Scripted { asked: Mutex::new(0), says: Mutex::new(says.into()) });
        let peer = Peer {
            transport: Arc::clone(&scripted) as _,
            node: 1,
            group: GroupId::Catalog,
            target: 2,
            watch: Arc::default(),
        };
        let answers = pipeline(&peer, stream::iter(appends), Duration::from_millis(10)).collect().await;
        let asked = *scripted.asked.lock().unwrap();
        (answers, asked)
    }

    const WHOLE: Response = Response::Append(Is::Success);

    #[tokio::test]
    async fn responses_come_in_the_order_of_the_appends() {
        let (answers, asked) = run((0..20).map(|_| Ok(WHOLE)).collect()).await;
        let matched: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().unwrap().unwrap().index()).collect();
        assert_eq!((matched, asked), ((1..=20).collect(), 20));
    }

    #[tokio::test]
    async fn what_is_behind_a_failure_is_void() {
        let (answers, asked) = run(vec![Ok(WHOLE), Ok(Response::Append(Is::Conflict)), Ok(WHOLE), Ok(WHOLE)]).await;
        assert_eq!(asked, 4, "they were under way together");
        let [Ok(Ok(first)), Ok(Err(StreamAppendError::Conflict(at)))] = answers.as_slice() else {
            panic!("{answers:?}");
        };
        assert_eq!((*first, *at), (Some(log(1)), log(1)));

        let higher = Vote::new(7, 3);
        let (answers, _) = run(vec![Ok(Response::Append(Is::HigherVote(higher))), Ok(WHOLE)]).await;
        assert!(matches!(answers.as_slice(), [Ok(Err(StreamAppendError::HigherVote(vote)))] if *vote == higher));

        let part = Some(log(0));
        let (answers, _) = run(vec![Ok(Response::Append(Is::PartialSuccess(part))), Ok(WHOLE)]).await;
        assert!(matches!(answers.as_slice(), [Ok(Ok(matched))] if *matched == part), "{answers:?}");

        let unreached = Unreached { peer: 2, sent: true, why: "gone".to_owned() };
        let (answers, _) = run(vec![Ok(WHOLE), Err(unreached), Ok(WHOLE)]).await;
        assert!(matches!(answers.as_slice(), [Ok(Ok(_)), Err(RPCError::Unreachable(_))]), "{answers:?}");

        let (answers, _) = run(vec![Ok(WHOLE), Ok(Response::Failed("stopped".to_owned())), Ok(WHOLE)]).await;
        assert!(matches!(answers.as_slice(), [Ok(Ok(_)), Err(RPCError::Unreachable(_))]), "{answers:?}");

        // A peer of another make must not make this one panic.
        let (answers, _) = run(vec![Ok(Response::Append(Is::Conflict)), Ok(WHOLE)]).await;
        assert!(matches!(answers.as_slice(), [Err(RPCError::Network(_))]), "{answers:?}");
        let (answers, _) = run(vec![Ok(Response::Taken)]).await;
        assert!(matches!(answers.as_slice(), [Err(RPCError::Network(_))]), "{answers:?}");
    }

    #[tokio::test]
    async fn few_are_under_way_at_once() {
        let says = (0..20).map(|_| Ok(WHOLE)).collect::<VecDeque<_>>();
        let scripted = Arc::new(Scripted { asked: Mutex::new(0), says: Mutex::new(says) });
        let peer = Peer {
            transport: Arc::clone(&scripted) as _,
            node: 1,
            group: GroupId::Catalog,
            target: 2,
            watch: Arc::default(),
        };
        let mut answers = pipeline(&peer, stream::iter((0..20).map(append)), Duration::from_millis(10));
        assert!(answers.next().now_or_never().is_none());
        assert_eq!(*scripted.asked.lock().unwrap(), APPENDS_MAX);
    }
}
