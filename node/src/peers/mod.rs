//! Links between the nodes of a cluster: [`Transport`] over gRPC.
//!
//! A node connects to each peer in its address book, and keeps one stream to it on which the requests of all groups travel,
//! batched; the responses come back on the same stream, in any order, matched by number. A peer's requests come in over
//! the stream which it keeps to this node. Both sides say hello first: cluster, node, version. A stream that breaks fails
//! what was asked on it at once, and nothing is sent again by itself: whoever asked knows what may be.
//!
//! [`TlsFiles`] says what certificates are checked for.

mod dial;
mod door;
mod hello;
mod io;
mod limits;
mod link;
mod listen;
mod outgoing;
mod serve;
mod session;
mod skew;
#[cfg(test)]
mod tests;
mod tls;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use quorate_proto::GroupId;
use quorate_proto::peers::Hello;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::clock::Clock;
use crate::raft::{RaftGroups, Transport, Unreached};

pub use door::{Door, Joiner};
use hello::Identity;
use io::Wire;
use link::{Link, lock};
pub use serve::Handler;
pub use skew::Skew;
use tls::Tls;
pub use tls::{TlsError, TlsFiles};
pub use watch::ClockWatch;

/// Who this node is among its peers.
pub struct Options {
    /// Id of the cluster: a peer of another one is refused.
    pub cluster: String,
    /// This node's number: what it is, wherever it is.
    pub node: u64,
    /// Where peers reach it: host and port. Peers that know the node go by what it says itself.
    pub address: String,
    /// The node's clock.
    pub clock: Arc<Clock>,
    /// Who may listen and speak.
    pub security: Security,
}

/// Who may listen and speak on the links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Anyone who reaches the port: for tests, and for nodes in one process.
    Plain,
    /// Who has a certificate of the cluster's authority.
    Tls(TlsFiles),
}

impl Security {
    fn open(&self) -> Result<Wire, TlsError> {
        Ok(match self {
            Self::Plain => Wire::Plain,
            Self::Tls(files) => Wire::Tls(Tls::open(files.clone())?),
        })
    }
}

/// What all links know.
struct Local {
    identity: Identity,
    clock: Arc<Clock>,
    wire: Arc<Wire>,
}

/// The links of a node to its peers.
pub struct Peers {
    local: Arc<Local>,
    book: Mutex<BTreeMap<u64, Kept>>,
    /// Nodes that were taken out of the cluster: nothing of theirs is heard.
    removed: Mutex<BTreeSet<u64>>,
    /// Requests of peers that are being answered.
    serving: AtomicUsize,
}

/// A link, and the task that keeps it connected.
struct Kept {
    link: Arc<Link>,
    _task: AbortOnDropHandle<()>,
}

/// Takes connections until it is dropped.
#[derive(Debug)]
pub struct Listening(#[expect(dead_code, reason = "held to be dropped")] AbortOnDropHandle<()>);

/// What a link is about, for metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStats {
    /// The peer.
    pub peer: u64,
    /// Where it is looked for.
    pub address: String,
    /// Why it is not connected, when it is not.
    pub disconnected: Option<String>,
    /// How often it was connected. All but the first are reconnects.
    pub connects: u64,
    /// Requests that wait for its response.
    pub open_requests: usize,
    /// Bytes of requests that wait to be sent.
    pub waiting_bytes: usize,
    /// Bytes of requests that were sent to it.
    pub sent_bytes: u64,
    /// Bytes of its responses.
    pub received_bytes: u64,
}

/// What the links are about, for metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Each peer in the address book, by its number.
    pub peers: Vec<PeerStats>,
    /// Requests of peers that are being answered.
    pub serving: usize,
}

impl Peers {
    /// A node without peers yet. Fails when the certificate's files are not usable.
    pub fn new(options: Options) -> Result<Arc<Self>, TlsError> {
        let Options { cluster, node, address, clock, security } = options;
        let wire = Arc::new(security.open()?);
        let local = Arc::new(Local { identity: Identity { cluster, node, address }, clock, wire });
        Ok(Arc::new(Self { local, book: Mutex::default(), removed: Mutex::default(), serving: AtomicUsize::new(0) }))
    }

    /// Writes a peer into the address book, or where it is now. Call inside of a runtime: the link starts here.
    pub fn put(&self, peer: u64, address: &str) {
        if peer == self.local.identity.node {
            return;
        }
        let mut book = lock(&self.book);
        if let Some(kept) = book.get(&peer) {
            return kept.link.set_address(address);
        }
        let (link, local) = (Arc::new(Link::new(peer, address.to_owned())), Arc::clone(&self.local));
        let keep = Arc::clone(&link);
        let task = tokio::spawn(async move { keep.keep(&local).await });
        book.insert(peer, Kept { link, _task: AbortOnDropHandle::new(task) });
    }

    /// Takes a peer that was removed from the cluster out of the address book, ends the link to it, and refuses it from now on.
    pub fn remove(&self, peer: u64) {
        lock(&self.removed).insert(peer);
        lock(&self.book).remove(&peer);
    }

    /// Whether a peer is in the address book.
    pub fn knows(&self, peer: u64) -> bool {
        peer == self.local.identity.node || lock(&self.book).contains_key(&peer)
    }

    fn not_removed(&self, hello: Hello) -> Result<Hello, String> {
        if lock(&self.removed).contains(&hello.node) {
            return Err(format!("node {} was removed from the cluster; its folder cannot come back", hello.node));
        }
        Ok(hello)
    }

    /// Takes connections from peers and answers their requests, where no one asks what the node is.
    pub fn listen(self: &Arc<Self>, listener: TcpListener, handler: Handler) -> Listening {
        Door::to(Arc::clone(self), handler).listen(listener)
    }

    /// A known peer is there, and has said where: that counts more than what was written here before.
    fn learn(&self, hello: &Hello) {
        if let Some(kept) = lock(&self.book).get(&hello.node) {
            kept.link.seen(&hello.address);
        }
    }

    /// How far the peers' clocks are from this node's, where that is known.
    pub fn skews(&self) -> BTreeMap<u64, Skew> {
        lock(&self.book).iter().filter_map(|(peer, kept)| Some((*peer, kept.link.skew()?))).collect()
    }

    /// How far this node's clock is ahead of the majority's, in milliseconds; nothing when too few peers are known.
    pub fn clock_ahead_ms(&self) -> Option<i64> {
        let book = lock(&self.book);
        let others = book.values().filter_map(|kept| Some(kept.link.skew()?.at_least_ms()));
        skew::ahead_of_majority(others, book.len() + 1)
    }

    /// Figures of the links.
    pub fn stats(&self) -> Stats {
        let peers = lock(&self.book).values().map(|kept| kept.link.stats()).collect();
        Stats { peers, serving: self.serving.load(Ordering::Relaxed) }
    }
}

/// Answers peers' requests with this node's groups.
pub fn handler(groups: Arc<RaftGroups>) -> Handler {
    Arc::new(move |group, request| Box::pin(groups.serve(group, &request)))
}

impl Transport for Peers {
    fn call(&self, peer: u64, group: GroupId, request: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
        if let Some(kept) = lock(&self.book).get(&peer) {
            return kept.link.call(group, request);
        }
        let why = "it is not in the address book".to_owned();
        Box::pin(std::future::ready(Err(Unreached { peer, sent: false, why })))
    }
}
