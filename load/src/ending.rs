//! The end of a test: whoever works begins nothing more, and does not repeat what is under way for long.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a call whose outcome is unknown is repeated before the end.
const PATIENCE: Duration = Duration::from_mins(1);

/// Whether the end has come, and until when calls are repeated then.
#[derive(Debug, Default)]
pub struct Ending(OnceLock<Instant>);

impl Ending {
    /// Ends it: what is under way is repeated for so long at most.
    pub fn begin(&self, patience: Duration) {
        self.0.get_or_init(|| Instant::now() + patience);
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.0.get().is_some()
    }

    /// Whether a call that was sent first at `began` is not repeated any more.
    pub fn gives_up(&self, began: Instant) -> bool {
        began.elapsed() > PATIENCE || self.0.get().is_some_and(|until| Instant::now() > *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_short_at_the_end() {
        let (ending, now) = (Ending::default(), Instant::now());
        assert!(!ending.has_begun() && !ending.gives_up(now));
        assert!(ending.gives_up(now.checked_sub(PATIENCE * 2).unwrap_or(now)), "a minute is enough");
        ending.begin(Duration::ZERO);
        std::thread::sleep(Duration::from_millis(1));
        assert!(ending.has_begun() && ending.gives_up(now));
        // Who ends it first says for how long.
        ending.begin(PATIENCE);
        assert!(ending.gives_up(now));
    }
}
