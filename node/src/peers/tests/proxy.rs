//! A stretch of network between two nodes that can be cut without a word, in one direction or both.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Carries bytes to an address until it is dropped.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    /// Whether bytes to the address arrive, and bytes from it.
    pub(super) there: Arc<AtomicBool>,
    pub(super) back: Arc<AtomicBool>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub(super) async fn start(to: SocketAddr) -> Self {
        let (listener, address) = super::bind().await;
        let (there, back) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(true)));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, to, Arc::clone(&there), Arc::clone(&back)));
        Self { address, there, back, _tasks: tasks }
    }

    pub(super) fn pass(&self, there: bool, back: bool) {
        self.there.store(there, Ordering::Relaxed);
        self.back.store(back, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, to: SocketAddr, there: Arc<AtomicBool>, back: Arc<AtomicBool>) {
    let mut pumps = JoinSet::new();
    while let Ok((near, _)) = listener.accept().await {
        let Ok(far) = TcpStream::connect(to).await else { continue };
        let (near_in, near_out) = near.into_split();
        let (far_in, far_out) = far.into_split();
        pumps.spawn(pump(near_in, far_out, Arc::clone(&there)));
        pumps.spawn(pump(far_in, near_out, Arc::clone(&back)));
    }
}

async fn pump(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, passes: Arc<AtomicBool>) {
    let mut bytes = vec![0; 64 << 10];
    loop {
        while !passes.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        match from.read(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                while !passes.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                if to.write_all(&bytes[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
