//! What the clients did and what they were promised.

use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use crate::client::Answer;
use crate::floor::Floors;

/// One write and its outcome.
#[derive(Clone, Debug)]
pub struct Write {
    /// Who wrote.
    pub actor: usize,
    /// The tool.
    pub tool: &'static str,
    /// Its arguments, `requestId` included.
    pub arguments: Value,
    /// The step it was about (`run/step`), for claims, submissions and decisions.
    pub step: Option<(String, String)>,
    /// What came of it in the end.
    pub answer: Answer,
    /// The node that said so.
    pub node: usize,
    /// When it was sent first, and when its outcome became known.
    pub span: (Instant, Instant),
    /// What it relies on that may be outdated.
    pub basis: Basis,
}

/// What a write relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Nothing that could be outdated.
    Present,
    /// A token that was renewed away: it must be refused.
    OldToken,
    /// The run's data as a read showed them that had come back by then.
    ReadAt(Instant),
}

impl Write {
    /// Its request id.
    pub fn request(&self) -> &str {
        self.arguments["requestId"].as_str().unwrap_or_default()
    }

    /// What it was promised, if it was.
    pub fn promised(&self) -> Option<&Value> {
        if let Answer::Done(data) = &self.answer { Some(data) } else { None }
    }
}

/// All writes, in the order their outcomes became known, and when writes were acknowledged.
#[derive(Default)]
pub struct History {
    writes: Mutex<Vec<Write>>,
    acknowledged: Mutex<Vec<Instant>>,
    /// What reads must show from now on.
    pub floors: Floors,
}

impl History {
    /// Keeps one write.
    pub fn keep(&self, write: Write) {
        if let Some(promised) = write.promised() {
            lock(&self.acknowledged).push(Instant::now());
            self.floors.seen(promised);
            if let ("claim", Some((run, step))) = (write.tool, &write.step) {
                self.floors.claimed(run, step);
            }
        }
        lock(&self.writes).push(write);
    }

    /// Everything so far.
    pub fn writes(&self) -> Vec<Write> {
        lock(&self.writes).clone()
    }

    /// How many writes so far.
    pub fn count(&self) -> usize {
        lock(&self.writes).len()
    }

    /// The longest gap between acknowledged writes, in milliseconds.
    pub fn longest_gap_ms(&self) -> u64 {
        longest_gap_ms(lock(&self.acknowledged).clone(), None)
    }

    /// The longest gap from a moment until now.
    pub fn gap_since_ms(&self, from: Instant) -> u64 {
        let mut at = lock(&self.acknowledged).clone();
        at.retain(|at| *at >= from);
        longest_gap_ms(at, Some((from, Instant::now())))
    }
}

/// The longest gap between moments, and the ends of the span in which they lie, in milliseconds.
pub fn longest_gap_ms(mut at: Vec<Instant>, span: Option<(Instant, Instant)>) -> u64 {
    at.extend(span.map(<[Instant; 2]>::from).into_iter().flatten());
    at.sort_unstable();
    let longest = at.windows(2).map(|w| (w[1] - w[0]).as_millis()).max().unwrap_or(0);
    u64::try_from(longest).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
