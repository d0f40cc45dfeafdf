//! The side that connects: sends this node's requests over one stream, and takes the responses.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use agentprocess::time::Timestamp;
use futures_util::{Stream, StreamExt, stream};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use quorate_proto::peers::peers_client::PeersClient;
use quorate_proto::peers::response::Outcome;
use quorate_proto::peers::{Answer, Ask, Hello, Joined, Joining, Looking, Shown};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Code, Streaming};

use super::Local;
use super::io::{Io, Wire, reason};
use super::limits::{
    CLOCK_EVERY, CONNECTION_WINDOW_BYTES, FRAME_BYTES_MAX, KEEP_ALIVE_EVERY, KEEP_ALIVE_LIMIT, MESSAGE_BYTES_MAX,
    SETUP_LIMIT, STREAM_WINDOW_BYTES,
};
use super::link::{Link, lock};
use super::session::Session;
use super::skew::RoundTrip;
use crate::cluster::found::JoinError;

/// What the other side's service is called with; no name is looked up by it.
const ORIGIN: &str = "http://peer";

/// Connects and talks until that fails. Returns why.
pub(super) async fn talk(link: &Link, local: &Local) -> String {
    let session = Session::new(link.peer);
    let set_up = timeout(SETUP_LIMIT, connect(link, local, Arc::clone(&session))).await;
    let (_connection, answers) = match set_up {
        Ok(Ok(connected)) => connected,
        Ok(Err(why)) => return why,
        Err(_) => return format!("no connection within {SETUP_LIMIT:?}"),
    };
    let mut up = link.up(Arc::clone(&session));
    up.why = take(link, local, &session, answers).await;
    up.why.clone()
}

/// Asks whoever listens at an address what it is.
pub(super) async fn look(wire: &Wire, address: &str) -> Result<Shown, String> {
    let (_connection, sender) = handshake(wire.connect(address).await?).await?;
    let service = tower::service_fn(move |request| sender.clone().send_request(request));
    let mut client = PeersClient::with_origin(service, tonic::codegen::http::Uri::from_static(ORIGIN));
    client.look(Looking {}).await.map(tonic::Response::into_inner).map_err(|status| refusal(&status))
}

/// Asks a member to take this node in.
pub(super) async fn join(wire: &Wire, address: &str, joining: Joining) -> Result<Joined, JoinError> {
    let connected = async { handshake(wire.connect(address).await?).await };
    let (_connection, sender) = connected.await.map_err(JoinError::Later)?;
    let service = tower::service_fn(move |request| sender.clone().send_request(request));
    let mut client = PeersClient::with_origin(service, tonic::codegen::http::Uri::from_static(ORIGIN));
    match client.join(joining).await {
        Ok(joined) => Ok(joined.into_inner()),
        Err(status) if status.code() == Code::PermissionDenied => Err(JoinError::Refused(status.message().to_owned())),
        Err(status) => Err(JoinError::Later(refusal(&status))),
    }
}

type Connected = (AbortOnDropHandle<()>, Streaming<Answer>);

/// A stream on which both sides have said hello.
async fn connect(link: &Link, local: &Local, session: Arc<Session>) -> Result<Connected, String> {
    let (connection, sender) = handshake(local.wire.connect(&link.address()).await?).await?;
    let service = tower::service_fn(move |request| sender.clone().send_request(request));
    let mut client = PeersClient::with_origin(service, tonic::codegen::http::Uri::from_static(ORIGIN))
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let asks = asks(local, session, local.identity.hello(link.peer), Arc::clone(&link.sent_bytes));
    let mut answers = client.talk(asks).await.map_err(|status| refusal(&status))?.into_inner();
    let first = answers.message().await.map_err(|status| refusal(&status))?;
    local.identity.accept(first.and_then(|answer| answer.hello), Some(link.peer))?;
    Ok((connection, answers))
}

type Sender = http2::SendRequest<tonic::body::Body>;

/// Speaks HTTP/2 over a connection, in a task of its own that ends with its handle.
async fn handshake(io: Box<dyn Io>) -> Result<(AbortOnDropHandle<()>, Sender), String> {
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE_EVERY)
        .keep_alive_timeout(KEEP_ALIVE_LIMIT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .handshake(TokioIo::new(io))
        .await
        .map_err(|e| reason(&e))?;
    // How it ended is told to the stream.
    let task = tokio::spawn(async move { drop(connection.await) });
    Ok((AbortOnDropHandle::new(task), sender))
}

/// The messages to a peer: a hello, then everything that waits, as it comes; and when nothing comes, a look at the clock.
fn asks(
    local: &Local,
    session: Arc<Session>,
    hello: Hello,
    sent_bytes: Arc<std::sync::atomic::AtomicU64>,
) -> impl Stream<Item = Ask> + Send + use<> {
    let clock = Arc::clone(&local.clock);
    let first = Ask { hello: Some(hello), clock_ms: clock.now().0, requests: Vec::new() };
    let rest = stream::unfold(session, move |session| {
        let (clock, sent_bytes) = (Arc::clone(&clock), Arc::clone(&sent_bytes));
        async move {
            let requests = match timeout(CLOCK_EVERY, session.take()).await {
                Ok(requests) => requests?,
                Err(_) => Vec::new(),
            };
            let bytes: usize = requests.iter().map(|request| request.body.len()).sum();
            sent_bytes.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
            Some((Ask { hello: None, clock_ms: clock.now().0, requests }, session))
        }
    });
    stream::once(ready(first)).chain(rest)
}

/// Takes responses until the stream ends. Returns why it did.
async fn take(link: &Link, local: &Local, session: &Session, mut answers: Streaming<Answer>) -> String {
    loop {
        let answer = match answers.message().await {
            Ok(Some(answer)) => answer,
            Ok(None) => return "it ended the stream".to_owned(),
            Err(status) => return refusal(&status),
        };
        let trip = RoundTrip {
            left: Timestamp(answer.heard_clock_ms),
            arrived: Timestamp(answer.heard_at_ms),
            answered: Timestamp(answer.clock_ms),
            back: local.clock.now(),
        };
        lock(&link.skews).add(Instant::now(), trip);
        for response in answer.responses {
            let bytes = if let Some(Outcome::Body(body)) = &response.outcome { body.len() } else { 0 };
            link.received_bytes.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
            session.answer(response);
        }
    }
}

/// Why a stream failed, in one line: what the peer said, or what became of the connection.
fn refusal(status: &tonic::Status) -> String {
    match std::error::Error::source(status) {
        Some(source) => reason(source),
        None => status.message().to_owned(),
    }
}
