//! The way to peers: Raft's requests as bytes over a [`Transport`].

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::Stream;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::BoxStream;
use openraft::errors::{NetworkError, RPCError, ReplicationClosed, StreamingError, Timeout, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
    VoteRequest, VoteResponse,
};
use openraft::{OptionalSend, RPCTypes, RaftNetworkFactory, RaftNetworkV2};
use quorate_proto::{GroupId, codec};
use quorate_statemachine::transfer::{self, Position};

use super::append::{self, Appended};
use super::message::{Request, Response};
use super::snapshot::{BYTES_PER_S_MAX, CHUNK_BYTES, Content};
use super::state::Watch;
use super::types::{Snapshot, SnapshotMeta, Types, Vote, name};

pub(super) type Failure = RPCError<Types>;

/// A peer could not be reached, or did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {peer} was not reached: {why}")]
pub struct Unreached {
    /// The peer.
    pub peer: u64,
    /// Whether it may have got the request.
    pub sent: bool,
    /// Why.
    pub why: String,
}

/// Carries one request to a peer's replica of a group, and its response back. The other side gives the bytes to
/// [`RaftGroups::serve`](super::RaftGroups::serve).
pub trait Transport: Send + Sync + 'static {
    /// Sends a request. It takes its place before this returns: requests to a peer's group arrive in the order of their
    /// calls as long as they arrive. The response may take as long as it likes: who calls has a time limit.
    fn call(&self, peer: u64, group: GroupId, request: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>>;
}

/// A node alone: it has no peers.
#[derive(Clone, Copy, Debug)]
pub struct NoPeers;

impl Transport for NoPeers {
    fn call(&self, peer: u64, _: GroupId, _: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
        Box::pin(async move { Err(Unreached { peer, sent: false, why: "this node has no peers".to_owned() }) })
    }
}

/// Asks a peer. The request takes its place before this returns.
pub(super) fn ask(
    transport: &dyn Transport,
    peer: u64,
    group: GroupId,
    request: &Request,
) -> impl Future<Output = Result<Response, Unreached>> + Send + use<> {
    let called = transport.call(peer, group, codec::encode(request));
    async move {
        let unreadable = |e| Unreached { peer, sent: true, why: format!("its response is not readable: {e}") };
        codec::decode(&called.await?).map_err(unreadable)
    }
}

/// Makes [`Peer`]s of one group.
pub(super) struct Peers {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) node: u64,
    pub(super) group: GroupId,
    pub(super) watch: Arc<Watch>,
}

impl RaftNetworkFactory<Types> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, _: &openraft::impls::EmptyNode) -> Peer {
        let (transport, watch) = (Arc::clone(&self.transport), Arc::clone(&self.watch));
        Peer { transport, node: self.node, group: self.group, target, watch }
    }
}

/// One peer of one group.
pub(super) struct Peer {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) node: u64,
    pub(super) group: GroupId,
    pub(super) target: u64,
    pub(super) watch: Arc<Watch>,
}

impl Peer {
    /// Asks it. The request takes its place before this returns; the limit counts from the first look at the response.
    pub(super) fn ask(
        &self,
        action: RPCTypes,
        request: &Request,
        limit: Duration,
    ) -> impl Future<Output = Result<Response, Failure>> + Send + use<> {
        let (id, target) = (self.node, self.target);
        let asked = ask(self.transport.as_ref(), target, self.group, request);
        async move {
            match tokio::time::timeout(limit, asked).await {
                Ok(Ok(response)) => Ok(response),
                Ok(Err(unreached)) => Err(Unreachable::new(&unreached).into()),
                Err(_) => Err(Timeout { action, id, target, timeout: limit }.into()),
            }
        }
    }

    /// Sends the chunks of a state, then asks to install them.
    async fn send(&self, vote: Vote, snapshot: Snapshot, limit: Duration) -> Result<Response, Failure> {
        let Content::Rows(rows) = snapshot.snapshot else {
            return Err(failed("a snapshot that has not been installed cannot be sent"));
        };
        let (meta, sending) = (snapshot.meta, &self.watch.sending);
        let went_on = self.went_on(&meta, limit).await?;
        // It is there, so that it is worth to keep for it what it is sent.
        sending.keep(&meta, &rows);
        let mut first = went_on.is_none().then(|| meta.clone());
        let mut next = Some(went_on.unwrap_or_default());
        while let Some(position) = next {
            let began = Instant::now();
            let (bytes, after) =
                transfer::export(&rows, &position, CHUNK_BYTES).map_err(|e| failed(&format!("reading failed: {e}")))?;
            if let Some(after) = &after {
                sending.note(&meta, self.target, &position, after);
            }
            let due = Duration::from_secs(1) * u32::try_from(bytes.len()).unwrap_or(u32::MAX) / BYTES_PER_S_MAX;
            let request = Request::Chunk { first: first.take(), bytes };
            let response = self.ask(RPCTypes::InstallSnapshot, &request, limit).await?;
            if !matches!(response, Response::Taken) {
                return Ok(response);
            }
            tokio::time::sleep(due.saturating_sub(began.elapsed())).await;
            next = after;
        }
        let installed = self.ask(RPCTypes::InstallSnapshot, &Request::Install { vote }, limit).await?;
        sending.done(self.target);
        Ok(installed)
    }

    /// Where the transfer of a snapshot goes on that broke before.
    async fn went_on(&self, meta: &SnapshotMeta, limit: Duration) -> Result<Option<Position>, Failure> {
        let asked = self.ask(RPCTypes::InstallSnapshot, &Request::Arriving(meta.clone()), limit);
        let Response::Arriving(Some(has)) = asked.await? else { return Ok(None) };
        let position = self.watch.sending.position(meta, self.target, &has);
        if position.is_some() {
            tracing::info!(group = %name(self.group), to = self.target, "a snapshot that broke off goes on");
        }
        Ok(position)
    }
}

pub(super) fn failed(why: &str) -> Failure {
    NetworkError::from_string(why).into()
}

/// A response of another kind than was asked for.
pub(super) fn unfit(response: Response) -> Failure {
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
        let response = self.ask(RPCTypes::AppendEntries, &Request::Append(rpc), option.soft_ttl()).await?;
        if let Response::Append(response) = response { Ok(response) } else { Err(unfit(response)) }
    }

    fn stream_append<S>(
        &mut self,
        input: S,
        option: RPCOption,
    ) -> BoxFuture<'_, Result<BoxStream<'_, Result<Appended, Failure>>, Failure>>
    where
        S: Stream<Item = AppendEntriesRequest<Types>> + OptionalSend + Unpin + 'static,
    {
        Box::pin(std::future::ready(Ok(append::pipeline(self, input, option.soft_ttl()))))
    }

    async fn vote(&mut self, rpc: VoteRequest<Types>, option: RPCOption) -> Result<VoteResponse<Types>, Failure> {
        let response = self.ask(RPCTypes::Vote, &Request::Vote(rpc), option.soft_ttl()).await?;
        if let Response::Vote(response) = response { Ok(response) } else { Err(unfit(response)) }
    }

    async fn pre_vote(&mut self, rpc: VoteRequest<Types>, option: RPCOption) -> Result<VoteResponse<Types>, Failure> {
        let response = self.ask(RPCTypes::Vote, &Request::PreVote(rpc), option.soft_ttl()).await?;
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
        let response = self.ask(RPCTypes::TransferLeader, &Request::Transfer(req), option.soft_ttl()).await?;
        if let Response::Transfer(response) = response { Ok(response) } else { Err(unfit(response)) }
    }
}
