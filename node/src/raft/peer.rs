//! The way to peers: Raft's requests as bytes over a [`Transport`].

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use openraft::errors::{NetworkError, RPCError, ReplicationClosed, StreamingError, Timeout, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
    VoteRequest, VoteResponse,
};
use openraft::{OptionalSend, RPCTypes, RaftNetworkFactory, RaftNetworkV2};
use quorate_proto::{GroupId, codec};
use quorate_statemachine::transfer::{self, Position};

use super::message::{Request, Response};
use super::snapshot::{CHUNK_BYTES, Content};
use super::types::{Snapshot, Types, Vote};

type Failure = RPCError<Types>;

/// A peer could not be reached, or did not answer. It may have got the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {peer} was not reached: {why}")]
pub struct Unreached {
    /// The peer.
    pub peer: u64,
    /// Why.
    pub why: String,
}

/// Carries one request to a peer's replica of a group, and its response back. The other side gives the bytes to
/// [`RaftGroups::serve`](super::RaftGroups::serve).
pub trait Transport: Send + Sync + 'static {
    /// Sends a request. May wait for as long as it likes: who calls has a time limit.
    fn call(&self, peer: u64, group: GroupId, request: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>>;
}

/// A node alone: it has no peers.
#[derive(Clone, Copy, Debug)]
pub struct NoPeers;

impl Transport for NoPeers {
    fn call(&self, peer: u64, _: GroupId, _: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
        Box::pin(async move { Err(Unreached { peer, why: "this node has no peers".to_owned() }) })
    }
}

/// Asks a peer.
pub(super) async fn ask(
    transport: &dyn Transport,
    peer: u64,
    group: GroupId,
    request: &Request,
) -> Result<Response, Unreached> {
    let bytes = transport.call(peer, group, codec::encode(request)).await?;
    codec::decode(&bytes).map_err(|e| Unreached { peer, why: format!("its response is not readable: {e}") })
}

/// Makes [`Peer`]s of one group.
pub(super) struct Peers {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) node: u64,
    pub(super) group: GroupId,
}

impl RaftNetworkFactory<Types> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, _: &openraft::impls::EmptyNode) -> Peer {
        Peer { transport: Arc::clone(&self.transport), node: self.node, group: self.group, target }
    }
}

/// One peer of one group.
pub(super) struct Peer {
    transport: Arc<dyn Transport>,
    node: u64,
    group: GroupId,
    target: u64,
}

impl Peer {
    async fn ask(&self, action: RPCTypes, request: Request, limit: Duration) -> Result<Response, Failure> {
        let asked = ask(self.transport.as_ref(), self.target, self.group, &request);
        match tokio::time::timeout(limit, asked).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(unreached)) => Err(Unreachable::new(&unreached).into()),
            Err(_) => Err(Timeout { action, id: self.node, target: self.target, timeout: limit }.into()),
        }
    }

    /// Sends the chunks of a state, then asks to install them.
    async fn send(&self, vote: Vote, snapshot: Snapshot, limit: Duration) -> Result<Response, Failure> {
        let Content::Rows(rows) = snapshot.snapshot else {
            return Err(failed("a snapshot that has not been installed cannot be sent"));
        };
        let (mut next, mut first) = (Some(Position::default()), Some(snapshot.meta));
        while let Some(position) = next {
            let (bytes, after) =
                transfer::export(&rows, &position, CHUNK_BYTES).map_err(|e| failed(&format!("reading failed: {e}")))?;
            let response =
                self.ask(RPCTypes::InstallSnapshot, Request::Chunk { first: first.take(), bytes }, limit).await?;
            if !matches!(response, Response::Taken) {
                return Ok(response);
            }
            next = after;
        }
        self.ask(RPCTypes::InstallSnapshot, Request::Install { vote }, limit).await
    }
}

fn failed(why: &str) -> Failure {
    NetworkError::from_string(why).into()
}

/// A response of another kind than was asked for.
fn unfit(response: Response) -> Failure {
    if let Response::Failed(why) = response {
        Unreachable::from_string(why).into()
    } else {
        failed("a peer answered something else than it was asked")
    }
}

impl RaftNetworkV2<Types> for Peer {
    type SnapshotData = Content;

    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<Types>, Failure> {
        let response = self.ask(RPCTypes::AppendEntries, Request::Append(rpc), option.soft_ttl()).await?;
        if let Response::Append(response) = response { Ok(response) } else { Err(unfit(response)) }
    }

    async fn vote(&mut self, rpc: VoteRequest<Types>, option: RPCOption) -> Result<VoteResponse<Types>, Failure> {
        let response = self.ask(RPCTypes::Vote, Request::Vote(rpc), option.soft_ttl()).await?;
        if let Response::Vote(response) = response { Ok(response) } else { Err(unfit(response)) }
    }

    async fn pre_vote(&mut self, rpc: VoteRequest<Types>, option: RPCOption) -> Result<VoteResponse<Types>, Failure> {
        let response = self.ask(RPCTypes::Vote, Request::PreVote(rpc), option.soft_ttl()).await?;
        if let Response::Vote(response) = response { Ok(response) } else { Err(unfit(response)) }
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        let sent = pin!(self.send(vote, snapshot, option.soft_ttl()));
        match select(sent, pin!(cancel)).await {
            Either::Left((Ok(Response::Installed(response)), _)) => Ok(response),
            Either::Left((Ok(other), _)) => Err(unfit(other).into()),
            Either::Left((Err(e), _)) => Err(e.into()),
            Either::Right((closed, _)) => Err(closed.into()),
        }
    }

    async fn transfer_leader(
        &mut self,
        req: TransferLeaderRequest<Types>,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<Types>, Failure> {
        let response = self.ask(RPCTypes::TransferLeader, Request::Transfer(req), option.soft_ttl()).await?;
        if let Response::Transfer(response) = response { Ok(response) } else { Err(unfit(response)) }
    }
}
