//! The side that is connected to: takes peers' requests, and answers each as soon as its response is there.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentprocess::time::Timestamp;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, stream};
use quorate_proto::GroupId;
use quorate_proto::peers::peers_server;
use quorate_proto::peers::response::Outcome;
use quorate_proto::peers::{Answer, Ask, Hello, Joined, Joining, Looking, Request, Response, Shown};
use tokio::time::timeout;
use tonic::{Status, Streaming};

use super::Peers;
use super::door::Door;
use super::limits::{BODY_BYTES_MAX, SERVED_BYTES_MAX, SERVED_REQUESTS_MAX, SETUP_LIMIT};
use super::link::lock;
use super::outgoing::Outgoing;

/// Answers a request to a group. Called with the requests of a peer in the order in which they came; what it returns runs
/// in a task of its own.
pub type Handler = Arc<dyn Fn(GroupId, Vec<u8>) -> BoxFuture<'static, Vec<u8>> + Send + Sync>;

/// What peers call.
pub(super) struct Service(pub(super) Arc<Door>);

/// One stream of a peer.
struct Stream {
    outgoing: Outgoing<Response>,
    said: Mutex<Said>,
    serving: AtomicUsize,
    serving_bytes: AtomicUsize,
}

#[derive(Default)]
struct Said {
    /// To be said in the next message.
    hello: Option<Hello>,
    /// The last message's clock, and this node's when it came.
    heard: (i64, i64),
    /// Why the stream ends.
    refusal: Option<Status>,
}

#[tonic::async_trait]
impl peers_server::Peers for Service {
    type TalkStream = BoxStream<'static, Result<Answer, Status>>;

    /// Answers the headers at once: nothing is waited for here.
    async fn talk(
        &self,
        asks: tonic::Request<Streaming<Ask>>,
    ) -> Result<tonic::Response<BoxStream<'static, Result<Answer, Status>>>, Status> {
        let Some((peers, handler)) = self.0.inside() else {
            return Err(Status::unavailable("it has no place in a cluster yet"));
        };
        let stream = Arc::new(Stream {
            outgoing: Outgoing::new(),
            said: Mutex::default(),
            serving: AtomicUsize::new(0),
            serving_bytes: AtomicUsize::new(0),
        });
        tokio::spawn(listen(Arc::clone(&peers), handler, asks.into_inner(), Arc::clone(&stream)));
        Ok(tonic::Response::new(answers(peers, stream)))
    }

    async fn look(&self, _: tonic::Request<Looking>) -> Result<tonic::Response<Shown>, Status> {
        Ok(tonic::Response::new(self.0.shown()))
    }

    async fn join(&self, joining: tonic::Request<Joining>) -> Result<tonic::Response<Joined>, Status> {
        self.0.join(joining.into_inner()).await.map(tonic::Response::new)
    }
}

/// The messages to the peer: everything that waits, as it comes; last, why the stream ends.
fn answers(peers: Arc<Peers>, stream: Arc<Stream>) -> BoxStream<'static, Result<Answer, Status>> {
    Box::pin(stream::unfold((peers, stream), |(peers, stream)| async move {
        let answer = match stream.outgoing.take(|_| true).await {
            Some(responses) => {
                let mut said = lock(&stream.said);
                let ((heard_clock_ms, heard_at_ms), hello) = (said.heard, said.hello.take());
                Ok(Answer { hello, clock_ms: peers.local.clock.now().0, heard_clock_ms, heard_at_ms, responses })
            }
            None => Err(lock(&stream.said).refusal.take()?),
        };
        Some((answer, (peers, stream)))
    }))
}

/// Takes a peer's messages until its stream ends.
async fn listen(peers: Arc<Peers>, handler: Handler, mut asks: Streaming<Ask>, stream: Arc<Stream>) {
    let hello = match timeout(SETUP_LIMIT, asks.message()).await {
        Ok(Ok(first)) => {
            if let Some(first) = &first {
                stream.heard(first.clock_ms, peers.local.clock.now());
            }
            let hello = peers.local.identity.accept(first.and_then(|first| first.hello), None);
            hello.and_then(|hello| peers.not_removed(hello))
        }
        Ok(Err(_)) => return stream.outgoing.close(),
        Err(_) => Err(format!("it said no hello within {SETUP_LIMIT:?}")),
    };
    match hello {
        Ok(hello) => {
            peers.learn(&hello);
            lock(&stream.said).hello = Some(peers.local.identity.hello(hello.node));
            stream.outgoing.touch();
        }
        Err(why) => {
            tracing::warn!(reason = %why, "a peer's connection is refused");
            lock(&stream.said).refusal = Some(Status::failed_precondition(format!("refused: {why}")));
            return stream.outgoing.close();
        }
    }
    while let Ok(Some(ask)) = asks.message().await {
        stream.heard(ask.clock_ms, peers.local.clock.now());
        if ask.requests.is_empty() {
            // It asks for the clock only.
            stream.outgoing.touch();
        }
        for request in ask.requests {
            serve(&peers, &handler, request, &stream);
        }
    }
    stream.outgoing.close();
}

/// Hands a request over, and sends the response once it is there.
fn serve(peers: &Arc<Peers>, handler: &Handler, request: Request, stream: &Arc<Stream>) {
    let Request { number, shard, body } = request;
    let refuse = |why: String| stream.respond(number, Outcome::Refused(why));
    let group = match shard.map(u16::try_from) {
        None => GroupId::Catalog,
        Some(Ok(shard)) => GroupId::Shard(shard),
        Some(Err(_)) => return refuse("there is no such shard".to_owned()),
    };
    let Some(place) = Place::take(peers, stream, body.len()) else {
        return refuse(format!(
            "it answers {SERVED_REQUESTS_MAX} requests of this node, or {SERVED_BYTES_MAX} bytes of them, already"
        ));
    };
    let answer = AssertUnwindSafe(handler(group, body)).catch_unwind();
    tokio::spawn(async move {
        let outcome = match answer.await {
            Ok(body) if body.len() > BODY_BYTES_MAX => {
                Outcome::Failed(format!("the response has {} bytes, more than {BODY_BYTES_MAX}", body.len()))
            }
            Ok(body) => Outcome::Body(body),
            Err(_) => Outcome::Failed("it failed to answer: a defect, see its log".to_owned()),
        };
        place.stream.respond(number, outcome);
    });
}

impl Stream {
    fn heard(&self, clock_ms: i64, at: Timestamp) {
        lock(&self.said).heard = (clock_ms, at.0);
    }

    fn respond(&self, number: u64, outcome: Outcome) {
        let bytes = if let Outcome::Body(body) = &outcome { body.len() } else { 0 };
        let response = Response { number, outcome: Some(outcome) };
        if self.outgoing.push(bytes, response).is_err() {
            // The peer asks and does not listen, or is gone.
            self.outgoing.close();
        }
    }
}

/// A request that is being answered.
struct Place {
    peers: Arc<Peers>,
    stream: Arc<Stream>,
    bytes: usize,
}

impl Place {
    fn take(peers: &Arc<Peers>, stream: &Arc<Stream>, bytes: usize) -> Option<Self> {
        // From here on it counts, and counts no more when it is dropped.
        let place = Self { peers: Arc::clone(peers), stream: Arc::clone(stream), bytes };
        peers.serving.fetch_add(1, Ordering::Relaxed);
        let requests = stream.serving.fetch_add(1, Ordering::Relaxed);
        let before = stream.serving_bytes.fetch_add(bytes, Ordering::Relaxed);
        let room = requests < SERVED_REQUESTS_MAX && before.saturating_add(bytes) <= SERVED_BYTES_MAX;
        room.then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.peers.serving.fetch_sub(1, Ordering::Relaxed);
        self.stream.serving.fetch_sub(1, Ordering::Relaxed);
        self.stream.serving_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
