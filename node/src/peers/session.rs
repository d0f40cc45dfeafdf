//! The requests of one stream to a peer: numbered, and each waiting for the response with its number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use quorate_proto::GroupId;
use quorate_proto::peers::response::Outcome;
use quorate_proto::peers::{Request, Response};
use tokio::sync::oneshot;

use super::limits::{BODY_BYTES_MAX, GROUP_REQUESTS_MAX, OPEN_REQUESTS_MAX};
use super::outgoing::Outgoing;
use crate::raft::Unreached;

type Answer = Result<Vec<u8>, Unreached>;

/// One stream's requests. They end with the stream: nothing is sent again on the next.
pub(super) struct Session {
    peer: u64,
    outgoing: Outgoing<Request>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    closed: Option<String>,
    last: u64,
    requests: BTreeMap<u64, Waiting>,
    by_group: BTreeMap<GroupId, usize>,
}

struct Waiting {
    group: GroupId,
    sent: bool,
    answer: oneshot::Sender<Answer>,
}

/// Forgets a request when nobody waits for it any more.
struct Interest {
    session: Arc<Session>,
    number: u64,
}

impl Drop for Interest {
    fn drop(&mut self) {
        self.session.open().remove(self.number);
    }
}

impl Open {
    fn remove(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.requests.remove(&number)?;
        if let Some(count) = self.by_group.get_mut(&waiting.group) {
            *count = count.saturating_sub(1);
        }
        Some(waiting)
    }

    /// A place for one more request to a group.
    fn add(&mut self, group: GroupId, answer: oneshot::Sender<Answer>) -> Result<u64, String> {
        if let Some(why) = &self.closed {
            return Err(why.clone());
        }
        if self.requests.len() >= OPEN_REQUESTS_MAX {
            return Err(format!("{OPEN_REQUESTS_MAX} requests to it wait for a response"));
        }
        let count = self.by_group.entry(group).or_default();
        if *count >= GROUP_REQUESTS_MAX {
            return Err(format!("{GROUP_REQUESTS_MAX} requests to this group of it wait for a response"));
        }
        *count += 1;
        self.last += 1;
        self.requests.insert(self.last, Waiting { group, sent: false, answer });
        Ok(self.last)
    }
}

impl Session {
    pub(super) fn new(peer: u64) -> Arc<Self> {
        Arc::new(Self { peer, outgoing: Outgoing::new(), open: Mutex::default() })
    }

    /// Takes a request. Requests leave in the order of the calls.
    pub(super) fn call(self: &Arc<Self>, group: GroupId, body: Vec<u8>) -> BoxFuture<'static, Answer> {
        let peer = self.peer;
        match self.queue(group, body) {
            Ok((interest, answered)) => Box::pin(async move {
                let answer = answered.await;
                drop(interest);
                answer.unwrap_or_else(|_| Err(Unreached { peer, sent: true, why: "the link ended".to_owned() }))
            }),
            Err(why) => Box::pin(std::future::ready(Err(Unreached { peer, sent: false, why }))),
        }
    }

    fn queue(self: &Arc<Self>, group: GroupId, body: Vec<u8>) -> Result<(Interest, oneshot::Receiver<Answer>), String> {
        let bytes = body.len();
        if bytes > BODY_BYTES_MAX {
            return Err(format!("the request has {bytes} bytes, more than the {BODY_BYTES_MAX} that one may have"));
        }
        let shard = match group {
            GroupId::Catalog => None,
            GroupId::Shard(shard) => Some(u32::from(shard)),
        };
        let (answer, answered) = oneshot::channel();
        let number = self.open().add(group, answer)?;
        let interest = Interest { session: Arc::clone(self), number };
        let queued = self.outgoing.push(bytes, Request { number, shard, body });
        queued.map_err(|_| "what waits to be sent to it fills the queue".to_owned())?;
        Ok((interest, answered))
    }

    /// Waits for requests that are to be sent together. `None` after the end.
    pub(super) async fn take(&self) -> Option<Vec<Request>> {
        let wanted = |request: &Request| match self.open().requests.get_mut(&request.number) {
            Some(waiting) => {
                waiting.sent = true;
                true
            }
            None => false,
        };
        self.outgoing.take(wanted).await
    }

    /// Gives a response to whoever waits for it.
    pub(super) fn answer(&self, response: Response) {
        let Some(waiting) = self.open().remove(response.number) else { return };
        let unreached = |sent, why| Err(Unreached { peer: self.peer, sent, why });
        let answer = match response.outcome {
            Some(Outcome::Body(body)) => Ok(body),
            Some(Outcome::Refused(why)) => unreached(false, why),
            Some(Outcome::Failed(why)) => unreached(true, why),
            None => unreached(true, "its response is empty".to_owned()),
        };
        // Whoever waited may have given up just now.
        drop(waiting.answer.send(answer));
    }

    /// Ends it: every open request fails now.
    pub(super) fn close(&self, why: &str) {
        self.outgoing.close();
        let mut open = self.open();
        open.closed.get_or_insert_with(|| why.to_owned());
        open.by_group.clear();
        for (_, waiting) in std::mem::take(&mut open.requests) {
            let unreached = Unreached { peer: self.peer, sent: waiting.sent, why: why.to_owned() };
            drop(waiting.answer.send(Err(unreached)));
        }
    }

    /// How many requests wait for a response, and how many bytes wait to be sent.
    pub(super) fn load(&self) -> (usize, usize) {
        // One lock after the other: `take` asks for this one while it holds that of what waits.
        let open = self.open().requests.len();
        (open, self.outgoing.bytes())
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(madsim)))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn figures_and_sending_do_not_wait_for_each_other() {
        let session = Session::new(2);
        let (done, ends) = channel();
        let (sends, told) = ((Arc::clone(&session), done.clone()), (session, done));
        std::thread::spawn(move || {
            let (session, done) = sends;
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                for _ in 0..20_000 {
                    let asked: Vec<_> = (0..8).map(|_| session.call(GroupId::Catalog, vec![1])).collect();
                    assert_eq!(session.take().await.unwrap().len(), asked.len());
                }
            });
            done.send(()).unwrap();
        });
        std::thread::spawn(move || {
            let (session, done) = told;
            for _ in 0..200_000 {
                session.load();
            }
            done.send(()).unwrap();
        });
        for _ in 0..2 {
            ends.recv_timeout(Duration::from_secs(30)).expect("neither holds up the other");
        }
    }
}
