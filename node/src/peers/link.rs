//! The link to one peer: connected whenever the peer is there, and what it tells about itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use quorate_proto::GroupId;
use tokio::sync::Notify;

use super::dial;
use super::limits::{BACKOFF_MAX, BACKOFF_MIN};
use super::session::Session;
use super::skew::{Skew, Skews};
use super::{Local, PeerStats};
use crate::raft::Unreached;

/// The link to one peer.
pub(super) struct Link {
    pub(super) peer: u64,
    address: Mutex<String>,
    /// The address has changed.
    moved: Notify,
    /// The peer was just seen.
    seen: Notify,
    /// The stream's requests while there is one; else why there is none.
    session: Mutex<Result<Arc<Session>, String>>,
    pub(super) skews: Mutex<Skews>,
    pub(super) sent_bytes: Arc<AtomicU64>,
    pub(super) received_bytes: AtomicU64,
    connects: AtomicU64,
}

/// A stream that serves calls until this is dropped.
pub(super) struct Up<'a> {
    link: &'a Link,
    session: Arc<Session>,
    /// Why it ends.
    pub(super) why: String,
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        self.link.down(&self.why);
        self.session.close(&self.why);
    }
}

impl Link {
    pub(super) fn new(peer: u64, address: String) -> Self {
        Self {
            peer,
            address: Mutex::new(address),
            moved: Notify::new(),
            seen: Notify::new(),
            session: Mutex::new(Err("not connected yet".to_owned())),
            skews: Mutex::default(),
            sent_bytes: Arc::default(),
            received_bytes: AtomicU64::new(0),
            connects: AtomicU64::new(0),
        }
    }

    pub(super) fn address(&self) -> String {
        lock(&self.address).clone()
    }

    /// Connects there from now on.
    pub(super) fn set_address(&self, address: &str) {
        let mut present = lock(&self.address);
        if *present != address {
            address.clone_into(&mut present);
            self.moved.notify_one();
        }
    }

    /// The peer is there, and says that this is its address: a wait to connect again is over.
    pub(super) fn seen(&self, address: &str) {
        if !address.is_empty() {
            self.set_address(address);
        }
        self.seen.notify_waiters();
    }

    pub(super) fn call(&self, group: GroupId, request: Vec<u8>) -> BoxFuture<'static, Result<Vec<u8>, Unreached>> {
        match &*lock(&self.session) {
            Ok(session) => session.call(group, request),
            Err(why) => {
                let unreached = Unreached { peer: self.peer, sent: false, why: why.clone() };
                Box::pin(std::future::ready(Err(unreached)))
            }
        }
    }

    /// Serves calls over a stream.
    pub(super) fn up(&self, session: Arc<Session>) -> Up<'_> {
        self.connects.fetch_add(1, Ordering::Relaxed);
        *lock(&self.session) = Ok(Arc::clone(&session));
        tracing::info!(peer = self.peer, address = %self.address(), "connected to a peer");
        Up { link: self, session, why: "the link ended".to_owned() }
    }

    /// Serves no calls, and says why. Told to the log when the reason is a new one.
    fn down(&self, why: &str) {
        let mut session = lock(&self.session);
        if session.as_ref().err().is_none_or(|before| before != why) {
            tracing::warn!(peer = self.peer, address = %self.address(), reason = %why, "not connected to a peer");
        }
        *session = Err(why.to_owned());
    }

    /// Connects, and again after a failure, without end.
    pub(super) async fn keep(&self, local: &Local) {
        let mut backoff = BACKOFF_MIN;
        loop {
            let began = Instant::now();
            tokio::select! {
                why = dial::talk(self, local) => self.down(&why),
                () = self.moved.notified() => {
                    backoff = BACKOFF_MIN;
                    continue;
                }
            }
            if began.elapsed() > BACKOFF_MAX {
                backoff = BACKOFF_MIN;
            }
            tokio::select! {
                () = tokio::time::sleep(jittered(backoff)) => backoff = (backoff * 2).min(BACKOFF_MAX),
                () = self.moved.notified() => backoff = BACKOFF_MIN,
                () = self.seen.notified() => backoff = BACKOFF_MIN,
            }
        }
    }

    pub(super) fn skew(&self) -> Option<Skew> {
        lock(&self.skews).best(Instant::now())
    }

    pub(super) fn stats(&self) -> PeerStats {
        let session = lock(&self.session).clone();
        let (open_requests, waiting_bytes) = session.as_ref().map_or((0, 0), |session| session.load());
        PeerStats {
            peer: self.peer,
            address: self.address(),
            disconnected: session.err(),
            connects: self.connects.load(Ordering::Relaxed),
            open_requests,
            waiting_bytes,
            sent_bytes: self.sent_bytes.load(Ordering::Relaxed),
            received_bytes: self.received_bytes.load(Ordering::Relaxed),
        }
    }
}

/// Between a half and the whole of a wait: nodes that lost the same peer do not come back in step.
fn jittered(wait: Duration) -> Duration {
    let mut random = [0; 4];
    // Without randomness the wait is the longest: still a wait.
    let _ = getrandom::fill(&mut random);
    let half = wait / 2;
    wait.saturating_sub(half.saturating_mul(u32::from_be_bytes(random) % 1024) / 1024)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What holders change is whole after each of their steps.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
