//! The one place that reads the time of day. The leader stamps entries with it; nothing else decides by it.

use std::fmt;
use std::future::Future;
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use agentprocess::time::{Span, Timestamp};
use tokio::sync::Notify;

/// A node's clock: the system's, or one that stands where a test puts it (design §10, `--test-clock`).
#[derive(Debug)]
pub struct Clock {
    source: Source,
    advanced: Notify,
}

#[derive(Debug)]
enum Source {
    System,
    Steady(Steady),
    /// Where a test clock stands.
    Test(Mutex<Timestamp>),
}

/// The system's clock, or what goes on from it since it was set.
struct Steady {
    system: Box<dyn Fn() -> Timestamp + Send + Sync>,
    set_ms_max: u64,
    /// The last time told while the system's clock was followed, and when that was.
    last: Mutex<(Instant, Timestamp)>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self { source: Source::System, advanced: Notify::new() }
    }

    /// The system's clock, but where that is set by more than so much at once, this one goes on as if it had not been, until
    /// [`Clock::follow`]: entries are stamped with it, and a wrong step must not expire what is leased.
    pub fn steady(set_ms_max: u64) -> Self {
        Self::steady_over(Box::new(system), set_ms_max)
    }

    /// The same over another clock than the system's, for tests: one that is wrong.
    pub fn steady_over(system: Box<dyn Fn() -> Timestamp + Send + Sync>, set_ms_max: u64) -> Self {
        let last = Mutex::new((Instant::now(), system()));
        Self { source: Source::Steady(Steady { system, set_ms_max, last }), advanced: Notify::new() }
    }

    /// The system's clock with a fault: ahead by so many milliseconds. For tests.
    pub fn ahead(ms: i64, set_ms_max: u64) -> Self {
        Self::steady_over(Box::new(move || Timestamp(system().0.saturating_add(ms))), set_ms_max)
    }

    /// A clock that stands at `start` until it is advanced.
    pub fn test(start: Timestamp) -> Self {
        Self { source: Source::Test(Mutex::new(start)), advanced: Notify::new() }
    }

    /// Whether this is a test clock.
    pub fn is_test(&self) -> bool {
        matches!(self.source, Source::Test(_))
    }

    /// The time of day. A system clock set before 1970 reads 1970.
    pub fn now(&self) -> Timestamp {
        match &self.source {
            Source::System => system(),
            Source::Steady(steady) => steady.look().0,
            Source::Test(stands) => *lock(stands),
        }
    }

    /// How far the system's clock is ahead of this one since it was set, in milliseconds; 0 while it is followed.
    pub fn set_by_ms(&self) -> i64 {
        match &self.source {
            Source::Steady(steady) => steady.look().1,
            Source::System | Source::Test(_) => 0,
        }
    }

    /// Follows the system's clock again, however it was set.
    pub fn follow(&self) {
        if let Source::Steady(steady) = &self.source {
            *lock(&steady.last) = (Instant::now(), (steady.system)());
        }
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
        if let Source::Test(stands) = &self.source {
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

impl Steady {
    /// The time, and how far the system's clock is ahead of it.
    fn look(&self) -> (Timestamp, i64) {
        let mut last = lock(&self.last);
        let (at, system) = (Instant::now(), (self.system)());
        let passed = i64::try_from(at.saturating_duration_since(last.0).as_millis()).unwrap_or(i64::MAX);
        let expected = last.1.0.saturating_add(passed);
        let set_by = system.0.saturating_sub(expected);
        if set_by.unsigned_abs() > self.set_ms_max {
            return (Timestamp(expected), set_by);
        }
        *last = (at, system);
        (system, 0)
    }
}

impl fmt::Debug for Steady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steady").field("set_ms_max", &self.set_ms_max).field("last", &self.last).finish_non_exhaustive()
    }
}

fn system() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(Timestamp::MAX.0).min(Timestamp::MAX.0))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A holder only copies or adds: what a panic elsewhere left behind is whole.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    #[test]
    fn a_test_clock_stands_until_advanced() {
        let clock = Clock::test(Timestamp(5));
        assert_eq!((clock.now(), clock.advance(Span(10)), clock.now()), (Timestamp(5), Timestamp(15), Timestamp(15)));
        assert!(Clock::system().now() > Timestamp(0));
    }

    #[test]
    fn a_steady_clock_goes_on_when_the_systems_is_set() {
        const HOUR: i64 = 3_600_000;
        let (reads, start) = (Arc::new(AtomicI64::new(1_800_000_000_000)), Instant::now());
        let system = Arc::clone(&reads);
        let clock = Clock::steady_over(Box::new(move || Timestamp(system.load(Ordering::Relaxed))), 60_000);
        let before = clock.now();
        assert_eq!((before.0, clock.set_by_ms()), (1_800_000_000_000, 0));
        // A little is followed, as when NTP steps.
        reads.fetch_add(50, Ordering::Relaxed);
        assert_eq!(clock.now().0, before.0 + 50);
        for step in [HOUR, -2 * HOUR] {
            reads.fetch_add(step, Ordering::Relaxed);
            let passed = clock.now().0 - before.0;
            assert!((50..=50 + i64::try_from(start.elapsed().as_millis()).unwrap_or(0)).contains(&passed), "{passed}");
        }
        assert!((-HOUR - 60_000..=-HOUR + 60_000).contains(&clock.set_by_ms()), "{}", clock.set_by_ms());
        clock.follow();
        assert_eq!((clock.now().0, clock.set_by_ms()), (before.0 + 50 - HOUR, 0));
    }
}
