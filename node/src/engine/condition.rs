//! Keeps how a store does: whether it failed, and how long its flushes take.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::{Condition, EngineError};

/// How much the last flush counts in the recent time of flushes, as a part of 8; the ones before count the rest.
const LAST_OF_8: u32 = 2;
/// A flush this long ago says nothing about the disk of now.
const STALE: Duration = Duration::from_secs(30);

/// Keeps a store's condition.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    failed: OnceLock<String>,
    flushes: Mutex<Flushes>,
}

#[derive(Debug, Default)]
struct Flushes {
    count: u64,
    total: Duration,
    recent: Duration,
    ended: Option<Instant>,
    under_way: Option<Instant>,
}

impl Keeper {
    /// Fails when the store has failed before.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.failed.get().map_or(Ok(()), |why| Err(EngineError::Failed(why.clone())))
    }

    /// Notes a failure of a write or a flush: it is the store's last.
    pub(super) fn note<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(EngineError::Failed(why)) = &result
            && self.failed.set(why.clone()).is_ok()
        {
            tracing::error!(reason = %why, "the store failed, and takes nothing any more");
        }
        result
    }

    fn flushes(&self) -> MutexGuard<'_, Flushes> {
        self.flushes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the time of a flush.
    pub(super) fn timed<T>(&self, flush: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        self.flushes().under_way = Some(began);
        let done = flush();
        let mut flushes = self.flushes();
        let took = began.elapsed();
        flushes.recent = (flushes.recent * (8 - LAST_OF_8) + took * LAST_OF_8) / 8;
        flushes.count += 1;
        flushes.total += took;
        (flushes.ended, flushes.under_way) = (Some(Instant::now()), None);
        done
    }

    pub(super) fn condition(&self) -> Condition {
        let flushes = self.flushes();
        let lately = flushes.ended.is_some_and(|ended| ended.elapsed() < STALE);
        let recent = if lately { flushes.recent } else { Duration::ZERO };
        let under_way = flushes.under_way.map_or(Duration::ZERO, |began| began.elapsed());
        Condition {
            failed: self.failed.get().cloned(),
            flush: recent.max(under_way),
            flushes: flushes.count,
            flushing: flushes.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_flushes_show_and_so_does_one_that_does_not_end() {
        let keeper = Keeper::default();
        for _ in 0..20 {
            keeper.timed(|| std::thread::sleep(Duration::from_millis(10)));
        }
        let slow = keeper.condition();
        assert!(slow.flush >= Duration::from_millis(9) && slow.flushes == 20, "{slow:?}");
        assert!(slow.flushing >= Duration::from_millis(200), "{slow:?}");
        keeper.timed(|| {
            std::thread::sleep(Duration::from_millis(60));
            assert!(keeper.condition().flush >= Duration::from_millis(60));
        });
    }

    #[test]
    fn the_first_failure_is_the_last_word() {
        let keeper = Keeper::default();
        assert_eq!(keeper.note(Err::<(), _>(EngineError::Closed)), Err(EngineError::Closed));
        keeper.check().expect("being closed is no failure");
        let full = || EngineError::Failed("no space".to_owned());
        assert_eq!(keeper.note(Err::<(), _>(full())), Err(full()));
        assert_eq!(keeper.check(), Err(full()));
        assert_eq!(keeper.condition().failed.as_deref(), Some("no space"));
    }
}
