//! Links over loopback: real sockets, real certificates, real groups.
#![expect(clippy::unwrap_used, reason = "tests")]

mod certificates;
mod clocks;
mod cluster;
mod hellos;
mod links;
mod proxy;
mod queue;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agentprocess::time::Timestamp;
use quorate_proto::GroupId;
use tokio::net::TcpListener;

use super::{Handler, Listening, Options, Peers, Security};
use crate::clock::Clock;
use crate::raft::{Transport, Unreached};

/// How long anything may take, on a busy machine.
const LIMIT: Duration = Duration::from_secs(20);
const CATALOG: GroupId = GroupId::Catalog;

fn options(node: u64, address: &str) -> Options {
    let clock = Arc::new(Clock::test(Timestamp(1_800_000_000_000)));
    let (cluster, address) = ("cluster-1".to_owned(), address.to_owned());
    Options { cluster, node, address, clock, security: Security::Plain }
}

/// One end of links.
struct End {
    peers: Arc<Peers>,
    address: SocketAddr,
    listening: Listening,
}

async fn bind() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An end that listens.
async fn end(change: impl FnOnce(Options) -> Options, node: u64, handler: Handler) -> End {
    let (listener, address) = bind().await;
    let peers = Peers::new(change(options(node, &address.to_string()))).unwrap();
    let listening = peers.listen(listener, handler);
    End { peers, address, listening }
}

/// Node 1 with a link to node 2, which answers with `handler`.
async fn pair(handler: Handler) -> (End, End) {
    let (one, two) = (end(|o| o, 1, echo()).await, end(|o| o, 2, handler).await);
    one.peers.put(2, &two.address.to_string());
    connected(&one.peers, 2).await;
    (one, two)
}

/// Answers with what it is asked.
fn echo() -> Handler {
    Arc::new(|_, body| Box::pin(std::future::ready(body)))
}

/// Never answers what begins with `!`.
fn stubborn() -> Handler {
    Arc::new(|_, body| {
        Box::pin(async move {
            if body.first() == Some(&b'!') {
                std::future::pending::<()>().await;
            }
            body
        })
    })
}

/// Looks until there is something to see.
async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let seen = async {
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, seen).await.unwrap_or_else(|_| panic!("not within {LIMIT:?}: {what}"))
}

/// Why a peer is not connected.
fn disconnected(peers: &Peers, peer: u64) -> Option<String> {
    peers.stats().peers.into_iter().find(|stats| stats.peer == peer).unwrap().disconnected
}

async fn connected(peers: &Peers, peer: u64) {
    eventually("connected", || disconnected(peers, peer).is_none().then_some(())).await;
}

/// Waits until a peer is not connected for a reason.
async fn refused(peers: &Peers, peer: u64, why: &str) {
    eventually(why, || disconnected(peers, peer).filter(|reason| reason.contains(why))).await;
}

async fn ask(peers: &Peers, peer: u64, group: GroupId, body: &[u8]) -> Result<Vec<u8>, Unreached> {
    tokio::time::timeout(LIMIT, peers.call(peer, group, body.to_vec())).await.unwrap()
}
