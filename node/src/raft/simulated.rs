//! Raft's runtime in the simulation: madsim's tasks, time and random numbers. Channels are tokio's, except for
//! [`FirstWatch`].

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use madsim::rand::RngCore as _;
use openraft::{AsyncRuntime, OptionalSend};
use openraft_rt_tokio::{TokioMpsc, TokioMutex, TokioOneshot};

use super::simulated_watch::FirstWatch;

/// The simulation's runtime.
#[derive(Debug)]
pub(crate) struct Simulated;

impl AsyncRuntime for Simulated {
    type JoinError = madsim::task::JoinError;
    type JoinHandle<T: OptionalSend + 'static> = madsim::task::JoinHandle<T>;
    type Sleep = madsim::time::Sleep;
    type Instant = Instant;
    type TimeoutError = Late;
    type Timeout<R, T: Future<Output = R> + OptionalSend> = Timeout<T>;
    type ThreadLocalRng = Random;
    type Mpsc = TokioMpsc;
    type Watch = FirstWatch;
    type Oneshot = TokioOneshot;
    type Mutex<T: OptionalSend + 'static> = TokioMutex<T>;

    fn spawn<T>(future: T) -> Self::JoinHandle<T::Output>
    where
        T: Future + OptionalSend + 'static,
        T::Output: OptionalSend + 'static,
    {
        madsim::task::spawn(future)
    }

    fn sleep(duration: Duration) -> Self::Sleep {
        madsim::time::sleep(duration)
    }

    fn sleep_until(deadline: Instant) -> Self::Sleep {
        madsim::time::sleep_until(deadline)
    }

    fn timeout<R, F: Future<Output = R> + OptionalSend>(duration: Duration, future: F) -> Timeout<F> {
        Timeout { future: Box::pin(future), sleep: Box::pin(madsim::time::sleep(duration)) }
    }

    fn timeout_at<R, F: Future<Output = R> + OptionalSend>(deadline: Instant, future: F) -> Timeout<F> {
        Timeout { future: Box::pin(future), sleep: Box::pin(madsim::time::sleep_until(deadline)) }
    }

    fn is_panic(join_error: &Self::JoinError) -> bool {
        join_error.is_panic()
    }

    fn thread_rng() -> Random {
        Random(madsim::rand::thread_rng())
    }

    fn new(_: usize) -> Self {
        Self
    }

    fn block_on<F, T>(&mut self, future: F) -> T
    where
        F: Future<Output = T>,
    {
        madsim::runtime::Runtime::new().block_on(future)
    }

    async fn spawn_blocking<F, T>(f: F) -> Result<T, std::io::Error>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Ok(f())
    }
}

/// A time limit that passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late;

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time limit has passed")
    }
}

/// A future with a time limit.
pub(crate) struct Timeout<F> {
    future: Pin<Box<F>>,
    sleep: Pin<Box<madsim::time::Sleep>>,
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Late>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = self.future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        self.sleep.as_mut().poll(cx).map(|()| Err(Late))
    }
}

/// The simulation's random numbers in the shape of a newer `rand`.
pub(crate) struct Random(madsim::rand::GlobalRng);

impl rand_core::TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}
