//! How far a peer's clock is from this node's.
//!
//! Each round trip tells it, but for the time the two ways took: half the difference of the ways is the error, which is at
//! most half of the round trip. So the shortest round trip of the last seconds speaks.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use agentprocess::time::Timestamp;

/// Round trips that began this long ago do not speak any more.
const WINDOW: Duration = Duration::from_secs(10);
/// Of the round trips of so long, one is kept.
const SLOT: Duration = Duration::from_secs(1);

/// How far a peer's clock is from this node's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// How far it is ahead, in milliseconds; below 0 when it is behind.
    pub ahead_ms: i64,
    /// The round trip that told so, in milliseconds. The estimate is off by half of it at most.
    pub round_trip_ms: i64,
}

/// The four clock readings of a round trip: here, there, there, here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoundTrip {
    pub(super) left: Timestamp,
    pub(super) arrived: Timestamp,
    pub(super) answered: Timestamp,
    pub(super) back: Timestamp,
}

impl RoundTrip {
    /// What it says; nothing when a clock was set meanwhile.
    fn skew(self) -> Option<Skew> {
        let span = |from: Timestamp, to: Timestamp| to.0.checked_sub(from.0);
        let round_trip_ms = span(self.left, self.back)?.checked_sub(span(self.arrived, self.answered)?)?;
        let ahead = i128::from(span(self.left, self.arrived)?) + i128::from(span(self.back, self.answered)?);
        let ahead_ms = i64::try_from(ahead / 2).ok()?;
        (round_trip_ms >= 0).then_some(Skew { ahead_ms, round_trip_ms })
    }
}

/// The round trips of the last seconds, oldest first.
#[derive(Debug, Default)]
pub(super) struct Skews(VecDeque<(Instant, Skew)>);

impl Skews {
    /// Takes a round trip that ended at `at`.
    pub(super) fn add(&mut self, at: Instant, trip: RoundTrip) {
        let Some(skew) = trip.skew() else { return };
        match self.0.back_mut() {
            Some((began, best)) if at.saturating_duration_since(*began) < SLOT => {
                if skew.round_trip_ms < best.round_trip_ms {
                    *best = skew;
                }
            }
            Some(_) | None => self.0.push_back((at, skew)),
        }
        while self.0.front().is_some_and(|(began, _)| at.saturating_duration_since(*began) > WINDOW) {
            self.0.pop_front();
        }
    }

    /// The best estimate, if there was a round trip lately.
    pub(super) fn best(&self, now: Instant) -> Option<Skew> {
        let lately = self.0.iter().filter(|(began, _)| now.saturating_duration_since(*began) <= WINDOW);
        // The latest of equals: a clock that drifts, or was set, shows there first.
        lately.rev().map(|(_, skew)| *skew).min_by_key(|skew| skew.round_trip_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves here at `left` by this clock; the peer's is 2000 ms ahead; the ways take `there` and `back`.
    fn trip(left: i64, there: i64, held: i64, back: i64) -> RoundTrip {
        let arrived = left + there + 2000;
        let answered = arrived + held;
        let back = left + there + held + back;
        RoundTrip {
            left: Timestamp(left),
            arrived: Timestamp(arrived),
            answered: Timestamp(answered),
            back: Timestamp(back),
        }
    }

    #[test]
    fn the_shortest_round_trip_speaks() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut skews = Skews::default();
        assert_eq!(skews.best(start), None);
        skews.add(at(0), trip(0, 90, 500, 10));
        assert_eq!(skews.best(at(0)), Some(Skew { ahead_ms: 2040, round_trip_ms: 100 }));
        skews.add(at(2), trip(2000, 3, 0, 1));
        skews.add(at(2), trip(2010, 80, 0, 0));
        skews.add(at(4), trip(4000, 0, 0, 60));
        assert_eq!(skews.best(at(4)), Some(Skew { ahead_ms: 2001, round_trip_ms: 4 }));
        // Twelve seconds after it, it says nothing any more.
        assert_eq!(skews.best(at(14)), Some(Skew { ahead_ms: 1970, round_trip_ms: 60 }));
        assert_eq!(skews.best(at(30)), None);
        skews.add(at(40), trip(0, 1, 0, 1));
        assert_eq!(skews.0.len(), 1);
    }

    #[test]
    fn a_clock_that_was_set_meanwhile_says_nothing() {
        let mut skews = Skews::default();
        let (now, trip) = (Instant::now(), trip(0, 1, 5, 1));
        skews.add(now, RoundTrip { back: Timestamp(-3000), ..trip });
        skews.add(now, RoundTrip { left: Timestamp(i64::MIN), ..trip });
        skews.add(now, RoundTrip { answered: Timestamp(i64::MAX), arrived: Timestamp(i64::MIN), ..trip });
        assert_eq!(skews.best(now), None);
    }
}
