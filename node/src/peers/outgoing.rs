//! What waits to be sent on one stream. Everything that waits goes into one message.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::limits::{BATCH_BODIES_MAX, BATCH_BYTES_MAX, QUEUE_BODIES_MAX, QUEUE_BYTES_MAX};

/// Bodies on their way to one stream, first in, first out. One task takes.
pub(super) struct Outgoing<T> {
    state: Mutex<State<T>>,
    more: Notify,
}

struct State<T> {
    waiting: VecDeque<(usize, T)>,
    bytes: usize,
    /// A message is due even if nothing waits.
    due: bool,
    closed: bool,
}

/// There is no room, or nobody takes any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl<T> Outgoing<T> {
    pub(super) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), bytes: 0, due: false, closed: false };
        Self { state: Mutex::new(state), more: Notify::new() }
    }

    /// Adds a body of so many bytes.
    pub(super) fn push(&self, bytes: usize, body: T) -> Result<(), Full> {
        let mut state = self.state();
        let room = state.waiting.len() < QUEUE_BODIES_MAX && state.bytes.saturating_add(bytes) <= QUEUE_BYTES_MAX;
        if state.closed || !room {
            return Err(Full);
        }
        state.bytes += bytes;
        state.waiting.push_back((bytes, body));
        self.more.notify_one();
        Ok(())
    }

    /// Makes a message due, whether or not something waits.
    pub(super) fn touch(&self) {
        self.state().due = true;
        self.more.notify_one();
    }

    /// Ends it. What waits is dropped.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waiting.clear();
        state.bytes = 0;
        self.more.notify_one();
    }

    /// How many bytes wait.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Waits for a message's worth of bodies, and leaves out those that are not wanted any more. `None` after the end.
    pub(super) async fn take(&self, mut wanted: impl FnMut(&T) -> bool) -> Option<Vec<T>> {
        while !self.ready()? {
            self.more.notified().await;
        }
        // Whoever else runs in this turn of the scheduler adds what it has: the heartbeats of all groups come together.
        tokio::task::yield_now().await;
        let mut state = self.state();
        state.due = false;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some((size, _)) = state.waiting.front() {
            let over = bytes + size > BATCH_BYTES_MAX && !batch.is_empty();
            if over || batch.len() >= BATCH_BODIES_MAX {
                break;
            }
            let Some((size, body)) = state.waiting.pop_front() else { break };
            state.bytes -= size;
            if wanted(&body) {
                bytes += size;
                batch.push(body);
            }
        }
        Some(batch)
    }

    /// Whether a message is due; `None` after the end.
    fn ready(&self) -> Option<bool> {
        let state = self.state();
        (!state.closed).then(|| state.due || !state.waiting.is_empty())
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
