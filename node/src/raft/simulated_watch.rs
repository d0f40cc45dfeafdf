//! The simulation's watch channel. Tokio's picks whom to wake by a counter of the process, so that a second run in a process
//! would differ.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::task::{Poll, Waker};

use openraft::async_runtime::watch::{RecvError, SendError, Watch, WatchReceiver, WatchSender};
use openraft::{OptionalSend, OptionalSync};

/// A watch that wakes first who waited first.
pub(crate) struct FirstWatch;

struct Watched<T> {
    value: RwLock<T>,
    state: Mutex<WatchedState>,
}

#[derive(Default)]
struct WatchedState {
    version: u64,
    senders: usize,
    receivers: usize,
    waiting: VecDeque<Waker>,
}

impl<T> Watched<T> {
    fn state(&self) -> MutexGuard<'_, WatchedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn value(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, changed: bool) {
        let mut state = self.state();
        state.version += u64::from(changed);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Watch for FirstWatch {
    type Sender<T: OptionalSend + OptionalSync> = Sender<T>;
    type Receiver<T: OptionalSend + OptionalSync> = Receiver<T>;
    type Ref<'a, T: OptionalSend + 'a> = RwLockReadGuard<'a, T>;

    fn channel<T: OptionalSend + OptionalSync>(init: T) -> (Sender<T>, Receiver<T>) {
        let watched = Arc::new(Watched { value: RwLock::new(init), state: Mutex::default() });
        let sender = Sender::new(&watched);
        let receiver = sender.subscribe();
        (sender, receiver)
    }
}

pub(crate) struct Sender<T>(Arc<Watched<T>>);

impl<T> Sender<T> {
    fn new(watched: &Arc<Watched<T>>) -> Self {
        watched.state().senders += 1;
        Self(Arc::clone(watched))
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.state().senders -= 1;
        self.0.wake(false);
    }
}

impl<T: OptionalSend + OptionalSync> WatchSender<FirstWatch, T> for Sender<T> {
    fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.0.state().receivers == 0 {
            return Err(SendError(value));
        }
        *self.0.value.write().unwrap_or_else(PoisonError::into_inner) = value;
        self.0.wake(true);
        Ok(())
    }

    fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let modified = modify(&mut self.0.value.write().unwrap_or_else(PoisonError::into_inner));
        if modified {
            self.0.wake(true);
        }
        modified
    }

    fn borrow_watched(&self) -> RwLockReadGuard<'_, T> {
        self.0.value()
    }

    fn subscribe(&self) -> Receiver<T> {
        let mut state = self.0.state();
        state.receivers += 1;
        Receiver { watched: Arc::clone(&self.0), seen: state.version }
    }
}

pub(crate) struct Receiver<T> {
    watched: Arc<Watched<T>>,
    seen: u64,
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.watched.state().receivers += 1;
        Self { watched: Arc::clone(&self.watched), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.watched.state().receivers -= 1;
    }
}

impl<T: OptionalSend + OptionalSync> WatchReceiver<FirstWatch, T> for Receiver<T> {
    async fn changed(&mut self) -> Result<(), RecvError> {
        std::future::poll_fn(|cx| {
            let mut state = self.watched.state();
            if state.version != self.seen {
                self.seen = state.version;
                return Poll::Ready(Ok(()));
            }
            if state.senders == 0 {
                return Poll::Ready(Err(RecvError(())));
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.waiting.push_back(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    fn borrow_watched(&self) -> RwLockReadGuard<'_, T> {
        self.watched.value()
    }

    fn borrow_and_update(&mut self) -> RwLockReadGuard<'_, T> {
        self.seen = self.watched.state().version;
        self.watched.value()
    }
}
