//! What the clients did and what they were promised.

use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use crate::client::Answer;

/// One write and its outcome.
#[derive(Clone, Debug)]
pub struct Write {
    /// Which agent.
    pub agent: usize,
    /// The tool.
    pub tool: &'static str,
    /// Its arguments, `requestId` included.
    pub arguments: Value,
    /// The step it was about (`run/step`), for claims and submissions.
    pub step: Option<(String, String)>,
    /// What came of it in the end.
    pub answer: Answer,
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
}

impl History {
    /// Keeps one write.
    pub fn keep(&self, write: Write) {
        if write.promised().is_some() {
            lock(&self.acknowledged).push(Instant::now());
        }
        lock(&self.writes).push(write);
    }

    /// Everything so far.
    pub fn writes(&self) -> Vec<Write> {
        lock(&self.writes).clone()
    }

    /// The longest gap between acknowledged writes, in milliseconds.
    pub fn longest_gap_ms(&self) -> u128 {
        let mut at = lock(&self.acknowledged).clone();
        at.sort();
        at.windows(2).map(|w| (w[1] - w[0]).as_millis()).max().unwrap_or(0)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
