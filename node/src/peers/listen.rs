//! Takes connections from peers.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use quorate_proto::peers::peers_server::PeersServer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::door::Door;
use super::io;
use super::limits::{
    CONNECTION_WINDOW_BYTES, CONNECTIONS_MAX, FRAME_BYTES_MAX, KEEP_ALIVE_EVERY, KEEP_ALIVE_LIMIT, MESSAGE_BYTES_MAX,
    SETUP_LIMIT, STREAM_WINDOW_BYTES,
};
use super::serve::Service;

/// How long to wait when no connection can be taken (no more file handles).
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Streams of one connection, in streams. A peer needs one, and another while it looks.
const STREAMS_MAX: u32 = 4;

/// Takes connections, each in a task that ends with this one.
pub(super) async fn listen(door: Arc<Door>, listener: TcpListener) {
    let service = PeersServer::new(Service(Arc::clone(&door)))
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, from)) => {
                let (door, service) = (Arc::clone(&door), service.clone());
                connections.spawn(async move {
                    if let Err(why) = connection(&door, stream, service).await {
                        tracing::info!(%from, reason = %why, "a peer's connection ended");
                    }
                });
            }
            Err(e) => {
                tracing::warn!(error = %e, "cannot take a peer's connection");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

async fn connection(door: &Door, stream: TcpStream, service: PeersServer<Service>) -> Result<(), String> {
    let accepted = timeout(SETUP_LIMIT, door.wire.accept(stream)).await;
    let accepted = accepted.map_err(|_| format!("no handshake within {SETUP_LIMIT:?}"))??;
    http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE_EVERY)
        .keep_alive_timeout(KEEP_ALIVE_LIMIT)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX)
        .serve_connection(TokioIo::new(accepted), TowerToHyperService::new(service))
        .await
        .map_err(|e| io::reason(&e))
}
