//! The other side of a [`Transport`](super::Transport): a request of a peer, answered by this node's replica.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;
use quorate_proto::{GroupId, codec};
use quorate_statemachine::store::Fatal;
#[cfg(not(madsim))]
use tokio::task::coop::unconstrained;

use super::group::Group;
use super::groups::RaftGroups;
use super::message::{Request, Response};
use super::snapshot::Content;
use super::types::{Snapshot, SnapshotMeta, Types, name};

impl RaftGroups {
    /// Answers a peer's request to a group. Call it with the requests of a peer in the order in which they came: an append
    /// is handed to Raft before this returns, since the next one goes on from it. The rest may run in any task.
    pub fn serve(self: &Arc<Self>, group: GroupId, request: &[u8]) -> impl Future<Output = Vec<u8>> + Send + use<> {
        let groups = Arc::clone(self);
        let request = codec::decode::<Request>(request);
        let ordered = matches!(request, Ok(Request::Append(_)));
        let answer = async move {
            let response = match (groups.group(group), request) {
                (Ok(group), Ok(request)) => groups.answer(group, request).await,
                (Err(e), _) => Response::Failed(e.0),
                (_, Err(e)) => Response::Failed(format!("a request to {} is not readable: {e}", name(group))),
            };
            codec::encode(&response)
        };
        // Without it, the first poll may end before the append is handed over: when the caller's task has used its budget.
        let mut answer = Box::pin(unconstrained(answer));
        let answered = if ordered { answer.as_mut().now_or_never() } else { None };
        async move {
            match answered {
                Some(answered) => answered,
                None => answer.await,
            }
        }
    }

    async fn answer(&self, group: &Group, request: Request) -> Response {
        let raft = group.raft();
        match request {
            Request::Append(append) => {
                let appended = raft.append_entries(append).await;
                group.trim().await;
                appended.map_or_else(|e| Response::Failed(e.to_string()), Response::Append)
            }
            Request::Vote(vote) | Request::PreVote(vote) if !group.has_enough(&vote) => {
                Response::Failed(format!("a replica of {} left this node that had more", name(group.id)))
            }
            Request::Vote(vote) => {
                raft.vote(vote).await.map_or_else(|e| Response::Failed(e.to_string()), Response::Vote)
            }
            Request::PreVote(vote) => {
                raft.pre_vote(vote).await.map_or_else(|e| Response::Failed(e.to_string()), Response::Vote)
            }
            Request::Chunk { first, bytes } => take(group, first, &bytes),
            Request::Arriving(meta) => Response::Arriving(has(group, &meta)),
            Request::Install { vote } => match arrived(group) {
                Ok(snapshot) => {
                    let installed = raft.install_full_snapshot(vote, snapshot).await;
                    installed.map_or_else(|e| stopped(group, &e), Response::Installed)
                }
                Err(e) => Response::Failed(e.to_string()),
            },
            Request::Transfer(transfer) => {
                raft.handle_transfer_leader(transfer).await.map_or_else(|e| stopped(group, &e), Response::Transfer)
            }
            Request::Propose(command) => Response::Proposed(self.propose_here(group, command).await),
            Request::Barrier => Response::Barrier(group.barrier(&self.clock).await),
            Request::Members => Response::Members(group.confirm_members(&self.clock, self.node).await),
            Request::View => match self.open_view(group).await {
                Ok(opened) => Response::Opened(opened),
                Err(why) => Response::Failed(why),
            },
            Request::Look { view, look } => self.views.look(view, look).map_or_else(Response::Failed, Response::Seen),
            Request::Status => Response::Status(self.status()),
            Request::Digest(told) => {
                self.hear(group, told).await;
                Response::Taken
            }
            Request::WouldLead => {
                let fit = !self.stopping.load(Ordering::Relaxed) && self.asides.told().is_none();
                Response::WouldLead(fit && group.running().is_ok())
            }
        }
    }
}

/// What there is of a snapshot whose chunks did not all come.
fn has(group: &Group, meta: &SnapshotMeta) -> Option<[u8; 32]> {
    let staging = group.staging.lock().unwrap_or_else(PoisonError::into_inner);
    staging.as_ref().filter(|(arriving, _)| arriving == meta)?.1.has()
}

/// The snapshot whose chunks have all come.
fn arrived(group: &Group) -> Result<Snapshot, Fatal> {
    let staging = group.staging.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (meta, staging) = staging.ok_or_else(|| Fatal("there is no snapshot to install".to_owned()))?;
    Ok(Snapshot { meta, snapshot: Content::Staged(staging.finish()?) })
}

/// A simulated task has no budget.
#[cfg(madsim)]
fn unconstrained<F>(future: F) -> F {
    future
}

fn stopped(group: &Group, e: &openraft::errors::Fatal<Types>) -> Response {
    Response::Failed(group.stopped(e))
}

fn take(group: &Group, first: Option<SnapshotMeta>, bytes: &[u8]) -> Response {
    let mut staging = group.staging.lock().unwrap_or_else(PoisonError::into_inner);
    if group.closed.load(Ordering::Relaxed) {
        return Response::Failed(format!("{} is being opened anew", name(group.id)));
    }
    if let Some(meta) = first {
        *staging = Some((meta, group.state().stage()));
    }
    let Some((_, arriving)) = staging.as_mut() else {
        return Response::Failed("a chunk of a snapshot came before its first".to_owned());
    };
    match arriving.chunk(bytes) {
        Ok(_) => Response::Taken,
        Err(e) => {
            *staging = None;
            Response::Failed(e.to_string())
        }
    }
}
