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

/// How far two clocks may drift apart between two looks, in milliseconds.
const DRIFT_MS: u64 = 50;

/// How far a peer's clock is from this node's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// How far it is ahead, in milliseconds; below 0 when it is behind.
    pub ahead_ms: i64,
    /// The round trip that told so, in milliseconds. The estimate is off by half of it at most.
    pub round_trip_ms: i64,
}

impl Skew {
    /// How far the peer is ahead at least, in milliseconds; below 0 when it is behind.
    pub(super) fn at_least_ms(self) -> i64 {
        let sure = self.ahead_ms.unsigned_abs().saturating_sub(self.round_trip_ms.unsigned_abs() / 2);
        i64::try_from(sure).unwrap_or(i64::MAX) * self.ahead_ms.signum()
    }

    /// Whether both cannot be true of clocks that go on.
    fn contradicts(self, other: Self) -> bool {
        let errors = u64::midpoint(self.round_trip_ms.unsigned_abs(), other.round_trip_ms.unsigned_abs());
        self.ahead_ms.abs_diff(other.ahead_ms) > errors + DRIFT_MS
    }
}

/// How far this node's clock is ahead of the majority's, in milliseconds: of the middle one of those that are known. `others`
/// says how far those are ahead of it. Nothing when too few of `nodes` are known.
pub(super) fn ahead_of_majority(others: impl Iterator<Item = i64>, nodes: usize) -> Option<i64> {
    let mut all: Vec<_> = others.chain([0]).collect();
    if all.len() * 2 <= nodes {
        return None;
    }
    all.sort_unstable();
    let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
    // Of two in the middle nobody knows which is right: nearest to this node's speaks for it.
    Some(-0.clamp(low, high))
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
        if self.0.back().is_some_and(|(_, before)| skew.contradicts(*before)) {
            // One of the clocks was set: what was seen before says nothing any more.
            self.0.clear();
        }
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
    fn a_peers_clock_that_is_set_is_seen_at_once() {
        let (start, mut skews) = (Instant::now(), Skews::default());
        skews.add(start, trip(0, 0, 0, 0));
        assert_eq!(skews.best(start).map(|skew| skew.ahead_ms), Some(2000));
        let set =
            RoundTrip { left: Timestamp(10), arrived: Timestamp(7012), answered: Timestamp(7012), back: Timestamp(14) };
        skews.add(start, set);
        assert_eq!(skews.best(start), Some(Skew { ahead_ms: 7000, round_trip_ms: 4 }));
    }

    #[test]
    fn the_middle_of_a_majority_is_right() {
        let ahead = |others: &[i64], nodes| ahead_of_majority(others.iter().copied(), nodes);
        assert_eq!(ahead(&[], 1), Some(0));
        assert_eq!(ahead(&[], 3), None, "it knows no majority");
        assert_eq!(ahead(&[3, 5], 3), Some(-3));
        assert_eq!(ahead(&[-900, -890], 3), Some(890), "this one is wrong");
        assert_eq!(ahead(&[0, 900], 3), Some(0), "another one is wrong");
        assert_eq!(ahead(&[-900, 900], 3), Some(0));
        assert_eq!(ahead(&[900], 3), Some(0), "one of two: nobody knows which");
        assert_eq!(ahead(&[900, 910], 5), Some(-900));
        assert_eq!(ahead(&[900, 910, 905], 5), Some(-900), "three of four are right, at least by so much");
        assert_eq!(ahead(&[1, 2], 6), None);
        let skew = |ahead_ms, round_trip_ms| Skew { ahead_ms, round_trip_ms }.at_least_ms();
        assert_eq!([skew(900, 100), skew(-900, 100), skew(40, 100)], [850, -850, 0]);
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
