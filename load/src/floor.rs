//! What is known of each run: a read that begins now may not show less, wherever it is asked (READ-FRESH).
//!
//! In this load leases outlast the test and nothing is reworked, so a step only ever goes forward.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rand::RngExt;
use serde_json::Value;

/// The steps of the load's process that agents work on.
const STEPS: [&str; 2] = ["first", "second"];
/// From here on a step is not offered to agents any more.
const CLAIMED: u8 = 2;
/// From here on it does not change.
const DONE: u8 = 3;
/// Readers look at runs that changed lately, in runs.
const RECENT: usize = 256;

/// The least that is known of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    steps: [u8; 2],
    /// When it became known that the step is not offered any more.
    taken: [Option<Instant>; 2],
    updated: String,
}

fn rank(state: &Value) -> u8 {
    match state.as_str() {
        Some("ready") => 1,
        Some("claimed") => CLAIMED,
        Some("done") => DONE,
        Some(_) | None => 0,
    }
}

impl Floor {
    /// What a view of the run shows.
    pub fn of(view: &Value) -> Self {
        let steps = view["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        let state = |id| steps.iter().find(|step| step["id"] == id).map_or(0, |step| rank(&step["state"]));
        let updated = view["run"]["updatedAt"].as_str().unwrap_or_default().to_owned();
        Self { steps: STEPS.map(state), taken: [None; 2], updated }
    }

    /// What an acknowledged claim tells.
    fn claimed(step: &str) -> Self {
        let rank = |id| if id == step { CLAIMED } else { 0 };
        Self { steps: STEPS.map(rank), ..Self::default() }
    }

    fn raise(&mut self, other: &Self) {
        for at in 0..STEPS.len() {
            self.steps[at] = self.steps[at].max(other.steps[at]);
            if self.steps[at] >= CLAIMED {
                self.taken[at].get_or_insert_with(Instant::now);
            }
        }
        if other.updated > self.updated {
            self.updated.clone_from(&other.updated);
        }
    }

    /// Whether a view, asked for after this was known, shows all of it.
    pub fn is_shown_by(&self, view: &Value) -> bool {
        let shown = Self::of(view);
        shown.updated >= self.updated && (0..STEPS.len()).all(|at| shown.steps[at] >= self.steps[at])
    }
}

/// The floors of all runs.
#[derive(Default)]
pub struct Floors {
    runs: Mutex<(BTreeMap<String, Floor>, Vec<String>)>,
}

impl Floors {
    /// A view of a run has come back.
    pub fn seen(&self, view: &Value) {
        if let Some(run) = view["run"]["id"].as_str() {
            self.raise(run, &Floor::of(view));
        }
    }

    /// A claim of a step was acknowledged.
    pub fn claimed(&self, run: &str, step: &str) {
        self.raise(run, &Floor::claimed(step));
    }

    fn raise(&self, run: &str, floor: &Floor) {
        let (runs, changed) = &mut *self.runs();
        runs.entry(run.to_owned()).or_default().raise(floor);
        changed.push(run.to_owned());
        if changed.len() > 2 * RECENT {
            changed.drain(..RECENT);
        }
    }

    /// A run that changed lately, and what is known of it now.
    pub fn pick(&self) -> Option<(String, Floor)> {
        let (runs, changed) = &*self.runs();
        let from = changed.len().saturating_sub(RECENT);
        let run = (from < changed.len()).then(|| &changed[rand::rng().random_range(from..changed.len())])?;
        Some((run.clone(), runs.get(run)?.clone()))
    }

    /// Whether it was known at `moment` that a step is not offered to agents any more.
    pub fn was_taken(&self, run: &str, step: &str, moment: Instant) -> bool {
        let (runs, _) = &*self.runs();
        let at = STEPS.iter().position(|id| *id == step);
        let taken = runs.get(run).zip(at).and_then(|(floor, at)| floor.taken[at]);
        taken.is_some_and(|taken| taken < moment)
    }

    /// Whether a step is known to be done.
    pub fn is_done(&self, run: &str, step: &str) -> bool {
        let (runs, _) = &*self.runs();
        let at = STEPS.iter().position(|id| *id == step);
        runs.get(run).zip(at).is_some_and(|(floor, at)| floor.steps[at] == DONE)
    }

    fn runs(&self) -> MutexGuard<'_, (BTreeMap<String, Floor>, Vec<String>)> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(first: &str, second: &Value, updated: &str) -> Value {
        let steps = json!([{"id": "first", "state": first}, {"id": "second", "state": second}]);
        json!({"run": {"id": "r", "updatedAt": updated}, "steps": steps})
    }

    #[test]
    fn a_read_that_shows_less_than_was_known_is_found() {
        let floors = Floors::default();
        let (ready, done) = (view("ready", &Value::Null, "1"), view("done", &json!("ready"), "3"));
        floors.seen(&ready);
        floors.claimed("r", "first");
        let Some((_, known)) = floors.pick() else { panic!("a run is known") };
        assert!(!known.is_shown_by(&ready), "the claim was known");
        assert!(known.is_shown_by(&view("claimed", &Value::Null, "2")));
        assert!(known.is_shown_by(&done));
        assert!(!known.is_shown_by(&view("claimed", &Value::Null, "0")), "time ran back");
        assert!(floors.was_taken("r", "first", Instant::now() + std::time::Duration::from_secs(1)));
        assert!(!floors.was_taken("r", "second", Instant::now() + std::time::Duration::from_secs(1)));
    }
}
