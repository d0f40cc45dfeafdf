//! The one place that reads the time of day. The leader stamps entries with it; nothing else decides by it.

use std::future::Future;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use agentprocess::time::{Span, Timestamp};
use tokio::sync::Notify;

/// A node's clock: the system's, or one that stands where a test puts it (design §10, `--test-clock`).
#[derive(Debug)]
pub struct Clock {
    /// Where a test clock stands; `None` follows the system.
    stands: Option<Mutex<Timestamp>>,
    advanced: Notify,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self { stands: None, advanced: Notify::new() }
    }

    /// A clock that stands at `start` until it is advanced.
    pub fn test(start: Timestamp) -> Self {
        Self { stands: Some(Mutex::new(start)), advanced: Notify::new() }
    }

    /// Whether this is a test clock.
    pub fn is_test(&self) -> bool {
        self.stands.is_some()
    }

    /// The time of day. A system clock set before 1970 reads 1970.
    pub fn now(&self) -> Timestamp {
        if let Some(stands) = &self.stands {
            return *lock(stands);
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(Timestamp::MAX.0).min(Timestamp::MAX.0))
    }

    /// Puts a test clock forward and wakes who waits in [`Clock::changed`]; does nothing to the system's clock.
    /// Returns the time after it.
    pub fn advance(&self, span: Span) -> Timestamp {
        let now = self.pass(span);
        self.advanced.notify_waiters();
        now
    }

    /// Puts a test clock forward and wakes nobody: what is then due is found by the next call, as when timers are late.
    pub fn pass(&self, span: Span) -> Timestamp {
        if let Some(stands) = &self.stands {
            let mut at = lock(stands);
            *at = at.plus(span);
        }
        self.now()
    }

    /// Waits until the clock is advanced after this call; forever on the system's clock.
    pub fn changed(&self) -> impl Future<Output = ()> + Send + '_ {
        // Counts from here on, not only from when it is first polled.
        self.advanced.notified()
    }
}

fn lock(stands: &Mutex<Timestamp>) -> std::sync::MutexGuard<'_, Timestamp> {
    // A holder only copies or adds: what a panic elsewhere left behind is whole.
    stands.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_clock_stands_until_advanced() {
        let clock = Clock::test(Timestamp(5));
        assert_eq!((clock.now(), clock.advance(Span(10)), clock.now()), (Timestamp(5), Timestamp(15), Timestamp(15)));
        assert!(Clock::system().now() > Timestamp(0));
    }
}
