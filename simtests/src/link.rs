//! Links between simulated nodes: one TCP stream to each peer that carries the requests of all groups, and their responses.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use quorate::raft::{RaftGroups, Transport, Unreached};
use quorate_proto::{GroupId, codec};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use crate::trace::Trace;

/// Frames that wait to be written to one stream, in frames.
const FRAMES_MAX: usize = 1024;
const PORT: u16 = 7000;

/// One message on a stream.
#[derive(Serialize, Deserialize)]
struct Frame {
    /// Ties a response to its request.
    number: u64,
    /// Of a request; `None` is a response.
    group: Option<GroupId>,
    bytes: Vec<u8>,
}

type Answer = oneshot::Sender<Result<Vec<u8>, String>>;
type Call = (GroupId, Vec<u8>, Answer);

/// Where a node is.
pub(crate) fn address(node: u64) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(node).unwrap_or(u8::MAX))
}

/// The links of one node to its peers.
pub(crate) struct Links {
    node: u64,
    peers: BTreeMap<u64, mpsc::Sender<Call>>,
    trace: Trace,
}

impl Links {
    /// Starts a task for each peer.
    pub(crate) fn start(node: u64, peers: impl IntoIterator<Item = u64>, trace: Trace) -> Arc<Self> {
        let link = |peer| {
            let (calls, waiting) = mpsc::channel(FRAMES_MAX);
            tokio::spawn(keep(peer, waiting));
            (peer, calls)
        };
        Arc::new(Self { node, peers: peers.into_iter().map(link).collect(), trace })
    }
}

impl Transport for Links {
    fn call(&self, peer: u64, group: GroupId, request: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
        let (node, trace) = (self.node, self.trace.clone());
        let sum = crc32c::crc32c(&request);
        let (answer, answered) = oneshot::channel();
        let sent = self.peers.get(&peer).is_some_and(|calls| calls.try_send((group, request, answer)).is_ok());
        Box::pin(async move {
            let result = if sent {
                answered.await.unwrap_or_else(|_| Err("dropped".to_owned()))
            } else {
                Err("no link, or its queue is full".to_owned())
            };
            match &result {
                Ok(bytes) => {
                    trace.line(format_args!("{node}>{peer} {group:?} {sum:08x} {:08x}", crc32c::crc32c(bytes)));
                }
                Err(why) => trace.line(format_args!("{node}>{peer} {group:?} {sum:08x} {why}")),
            }
            result.map_err(|why| Unreached { peer, sent, why })
        })
    }
}

/// Connects when there is something to say, and again after a failure.
async fn keep(peer: u64, mut waiting: mpsc::Receiver<Call>) {
    while let Some(first) = waiting.recv().await {
        match TcpStream::connect(SocketAddr::from((address(peer), PORT))).await {
            Ok(stream) => talk(stream, first, &mut waiting).await,
            Err(e) => drop(first.2.send(Err(e.to_string()))),
        }
    }
}

/// Carries calls over one stream until it fails; then every open call fails with it.
async fn talk(stream: TcpStream, first: Call, waiting: &mut mpsc::Receiver<Call>) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let open: Arc<Mutex<BTreeMap<u64, Answer>>> = Arc::default();
    let answers = Arc::clone(&open);
    let mut reading = tokio::spawn(async move {
        while let Ok(frame) = read(&mut reader).await {
            let answer = answers.lock().unwrap_or_else(PoisonError::into_inner).remove(&frame.number);
            if let Some(answer) = answer {
                drop(answer.send(Ok(frame.bytes)));
            }
        }
    });
    let (mut number, mut next) = (0, Some(first));
    while let Some((group, bytes, answer)) = next {
        number += 1;
        open.lock().unwrap_or_else(PoisonError::into_inner).insert(number, answer);
        if write(&mut writer, &Frame { number, group: Some(group), bytes }).await.is_err() {
            break;
        }
        next = tokio::select! {
            biased;
            _ = &mut reading => None,
            call = waiting.recv() => call,
        };
    }
    reading.abort();
    let open = std::mem::take(&mut *open.lock().unwrap_or_else(PoisonError::into_inner));
    for answer in open.into_values() {
        drop(answer.send(Err("the stream failed".to_owned())));
    }
}

/// Serves peers until the node ends.
pub(crate) async fn serve(groups: Arc<RaftGroups>) -> io::Result<()> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT))).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve_one(Arc::clone(&groups), stream));
    }
}

async fn serve_one(groups: Arc<RaftGroups>, stream: TcpStream) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (responses, mut waiting) = mpsc::channel::<Frame>(FRAMES_MAX);
    let writer_task = tokio::spawn(async move {
        while let Some(frame) = waiting.recv().await {
            if write(&mut writer, &frame).await.is_err() {
                break;
            }
        }
    });
    while let Ok(Frame { number, group: Some(group), bytes }) = read(&mut reader).await {
        let (answer, responses) = (groups.serve(group, &bytes), responses.clone());
        tokio::spawn(async move {
            drop(responses.send(Frame { number, group: None, bytes: answer.await }).await);
        });
    }
    writer_task.abort();
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> io::Result<()> {
    let bytes = codec::encode(frame);
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(&bytes).await?;
    stream.flush().await
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let mut bytes = vec![0; usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?];
    stream.read_exact(&mut bytes).await?;
    codec::decode(&bytes).map_err(io::Error::other)
}
