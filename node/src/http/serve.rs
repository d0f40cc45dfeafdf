//! Runs a router on a listener, and stops it without dropping what it has begun.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::observe::Metrics;

/// Bounds of a listener.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections are open at once; more wait in the kernel's queue.
    pub connections_max: usize,
    /// How long a connection may take for the head of its next request, idle time included.
    pub head_timeout: Duration,
    /// How long requests in flight may take after a stop is asked for.
    pub stop_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connections_max: 10_000, head_timeout: seconds(75), stop_timeout: seconds(20) }
    }
}

/// Serves until `stop` resolves, then accepts no more, lets requests and the calls under `tracker` finish, and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    metrics: Arc<Metrics>,
    tracker: TaskTracker,
    stop: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let seats = Arc::new(Semaphore::new(limits.connections_max));
    let builder = builder(limits);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &seats) => accepted,
            () = &mut stop => break,
        };
        let Some((stream, seat)) = accepted else { continue };
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = graceful.watch(connection);
        let open = metrics.connections().clone();
        open.inc();
        tokio::spawn(async move {
            if let Err(fault) = connection.await {
                tracing::debug!(fault, "a connection ended early");
            }
            open.dec();
            drop(seat);
        });
    }
    drop(listener);
    tracker.close();
    let finished = async { tokio::join!(graceful.shutdown(), tracker.wait()) };
    if tokio::time::timeout(limits.stop_timeout, finished).await.is_err() {
        tracing::warn!(open = metrics.connections().get(), "stopped with requests in flight");
    }
}

fn builder(limits: Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_concurrent_streams(250)
        .max_header_list_size(64 * 1024);
    builder
}

/// A connection with its seat, or `None` after a fault that passes.
pub(super) async fn accept(
    listener: &TcpListener,
    seats: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let seat = Arc::clone(seats).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Answers are small: waiting to fill a packet would only add delay.
            if let Err(fault) = stream.set_nodelay(true) {
                tracing::debug!(%fault, "cannot set nodelay");
            }
            Some((stream, seat))
        }
        Err(fault) => {
            tracing::warn!(%fault, "cannot accept a connection");
            // Out of file descriptors, most likely: trying again at once would only burn the processor.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}
