//! One round for all who ask at the same moment: reads that wait share a barrier, so that its cost does not grow with them.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// Rounds of something, one at a time.
pub(super) struct Rounds<T> {
    /// How many have begun.
    begun: AtomicU64,
    /// The last that ended well: its number, and what it gave.
    last: Mutex<(u64, Option<T>)>,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self { begun: AtomicU64::new(0), last: Mutex::new((0, None)) }
    }
}

impl<T: Clone> Rounds<T> {
    /// What a round gives that begins after this call: that of another caller, or one of its own.
    pub(super) async fn join<E, F>(&self, round: impl FnOnce() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let before = self.begun.load(Ordering::SeqCst);
        let mut last = self.last.lock().await;
        if let (number, Some(given)) = &*last
            && *number > before
        {
            return Ok(given.clone());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let given = round().await?;
        *last = (number, Some(given.clone()));
        Ok(given)
    }
}

#[cfg(all(test, not(madsim)))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn who_asks_at_once_shares_a_round_and_who_asks_later_does_not() {
        let (rounds, run) = (Rounds::default(), AtomicU64::new(0));
        let ask = |after_ms| {
            let (rounds, run) = (&rounds, &run);
            async move {
                tokio::time::sleep(Duration::from_millis(after_ms)).await;
                let round = async || {
                    let number = run.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    Ok::<_, ()>(number)
                };
                rounds.join(round).await.unwrap()
            }
        };
        // Those who come while the first one's round runs share the next.
        let given = join_all([ask(0), ask(50), ask(60), ask(70)]).await;
        assert_eq!(given, [0, 1, 1, 1]);
        assert_eq!(ask(0).await, 2);
    }

    #[tokio::test]
    async fn a_round_that_fails_or_is_given_up_serves_nobody() {
        let rounds = Rounds::<u8>::default();
        assert_eq!(rounds.join(async || Err("no")).await, Err("no"));
        let never = rounds.join(std::future::pending::<Result<u8, ()>>);
        assert!(tokio::time::timeout(Duration::from_millis(10), never).await.is_err());
        assert_eq!(rounds.join(async || Ok::<_, ()>(7)).await, Ok(7));
    }
}
