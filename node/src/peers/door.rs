//! A node's port for peers: it tells what the node is at any time, and lets peers in once the node has a place.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use quorate_proto::catalog::Node;
use quorate_proto::codec;
use quorate_proto::peers::{Joined, Joining, Shown};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

use super::hello::PROTOCOL;
use super::io::Wire;
use super::limits::{JOIN_LIMIT, SETUP_LIMIT};
use super::serve::Handler;
use super::tls::TlsError;
use super::{Listening, Peers, Security, dial, listen};
use crate::cluster::found::{Ask, JoinError, Place};
use crate::cluster::founding::Candidate;

/// The port, from before the node has a place in a cluster.
pub struct Door {
    pub(super) wire: Arc<Wire>,
    shown: watch::Receiver<Option<Candidate>>,
    inside: OnceLock<(Arc<Peers>, Handler)>,
    joiner: OnceLock<Joiner>,
}

/// Gives a place to a node that shows a token, or says why not.
pub type Joiner = Arc<dyn Fn(String, Node) -> BoxFuture<'static, Result<Place, String>> + Send + Sync>;

impl Door {
    /// A door at which nobody gets in yet. It shows what `shown` holds. Fails when the certificate's files are not usable.
    pub fn new(security: &Security, shown: watch::Receiver<Option<Candidate>>) -> Result<Arc<Self>, TlsError> {
        Ok(Arc::new(Self { wire: Arc::new(security.open()?), shown, inside: OnceLock::new(), joiner: OnceLock::new() }))
    }

    /// A door that stands open from the start and shows nothing.
    pub(super) fn to(peers: Arc<Peers>, handler: Handler) -> Arc<Self> {
        let (wire, (_, shown)) = (Arc::clone(&peers.local.wire), watch::channel(None));
        Arc::new(Self { wire, shown, inside: OnceLock::from((peers, handler)), joiner: OnceLock::new() })
    }

    /// Takes connections.
    pub fn listen(self: &Arc<Self>, listener: TcpListener) -> Listening {
        Listening(AbortOnDropHandle::new(tokio::spawn(listen::listen(Arc::clone(self), listener))))
    }

    /// Lets peers in from now on, and answers their requests. Once: a node has one place.
    pub fn admit(&self, peers: Arc<Peers>, handler: Handler) {
        drop(self.inside.set((peers, handler)));
    }

    /// Takes new nodes into the cluster from now on. Once.
    pub fn take_in(&self, joiner: Joiner) {
        drop(self.joiner.set(joiner));
    }

    pub(super) async fn join(&self, joining: Joining) -> Result<Joined, Status> {
        let Some(joiner) = self.joiner.get() else {
            return Err(Status::unavailable("it has no place in a cluster yet"));
        };
        if joining.protocol != PROTOCOL {
            let spoken = joining.protocol;
            return Err(Status::failed_precondition(format!(
                "it speaks version {PROTOCOL} between nodes, and this node version {spoken}"
            )));
        }
        let node = codec::decode(&joining.node).map_err(|e| Status::invalid_argument(e.to_string()))?;
        let place = joiner(joining.token, node).await.map_err(Status::permission_denied)?;
        Ok(Joined { place: codec::encode(&place) })
    }

    pub(super) fn inside(&self) -> Option<(Arc<Peers>, Handler)> {
        self.inside.get().cloned()
    }

    pub(super) fn shown(&self) -> Shown {
        Shown { protocol: PROTOCOL, candidate: self.shown.borrow().as_ref().map(codec::encode) }
    }
}

impl Ask for Door {
    /// Whoever does not answer, or not in a way this node understands, is not there.
    fn candidate<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Candidate>> {
        Box::pin(async move {
            let looked = timeout(SETUP_LIMIT, dial::look(&self.wire, address)).await;
            let shown = looked.unwrap_or_else(|_| Err(format!("no answer within {SETUP_LIMIT:?}")));
            match shown.and_then(read) {
                Ok(candidate) => candidate,
                Err(why) => {
                    tracing::debug!(address, reason = %why, "nobody is known there");
                    None
                }
            }
        })
    }

    fn join<'a>(&'a self, address: &'a str, token: &'a str, node: &'a Node) -> BoxFuture<'a, Result<Place, JoinError>> {
        Box::pin(async move {
            let joining = Joining { protocol: PROTOCOL, token: token.to_owned(), node: codec::encode(node) };
            let joined = timeout(JOIN_LIMIT, dial::join(&self.wire, address, joining)).await;
            let joined =
                joined.unwrap_or_else(|_| Err(JoinError::Later(format!("no answer within {JOIN_LIMIT:?}"))))?;
            codec::decode(&joined.place).map_err(|e| JoinError::Later(e.to_string()))
        })
    }
}

fn read(shown: Shown) -> Result<Option<Candidate>, String> {
    if shown.protocol != PROTOCOL {
        return Err(format!("it speaks version {} between nodes, and this node version {PROTOCOL}", shown.protocol));
    }
    shown.candidate.map(|bytes| codec::decode(&bytes).map_err(|e| e.to_string())).transpose()
}
