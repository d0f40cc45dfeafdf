//! How often a group sends appends to one peer. A busy group has something new all the time: an entry, and soon after it
//! how far the log is committed. One by one these would be many small messages; a little later several are one.

use std::time::Duration;

use tokio::time::Instant;

/// The time for each append, on the average of a busy group.
const EVERY: Duration = Duration::from_millis(5);
/// Appends that go at once after a rest, in appends: a group that is not busy does not wait at all.
const BURST: u32 = 8;

/// The pace of appends to one peer.
pub(super) struct Pace {
    /// Appends so far are paid for up to here.
    paid: Instant,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { paid: now }
    }

    /// How long the next append is to wait.
    pub(super) fn next(&mut self, now: Instant) -> Duration {
        let ahead = self.paid.saturating_duration_since(now);
        self.paid = self.paid.max(now) + EVERY;
        ahead.saturating_sub(EVERY * (BURST - 1))
    }
}

#[cfg(all(test, not(madsim)))]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_more_at_the_pace() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        for _ in 0..BURST {
            assert_eq!(pace.next(begun), Duration::ZERO);
        }
        assert_eq!((pace.next(begun), pace.next(begun)), (EVERY, EVERY * 2));
        // After a rest all is as at the beginning.
        let later = begun + Duration::from_secs(1);
        for _ in 0..BURST {
            assert_eq!(pace.next(later), Duration::ZERO);
        }
        assert_eq!(pace.next(later), EVERY);
    }

    #[test]
    fn whoever_keeps_the_pace_never_waits() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        for turn in 0..100 {
            assert_eq!(pace.next(begun + EVERY * turn), Duration::ZERO);
        }
    }
}
