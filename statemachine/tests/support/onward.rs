//! Calls that take a run on: what a good worker or person would do next, whatever step the run stands at.

use agentprocess::json::Value;
use agentprocess::time::Span;
use quorate_proto::RunId;
use quorate_proto::shard::{Action, Decide, Decision, ShardCommand};

use super::ops::{Driver, Work, allowed, callers, pick};
use super::{at, text, token};

/// How a run is taken on.
#[derive(Clone, Debug)]
pub struct Onward {
    /// Which of the things that can be done.
    pub which: usize,
    /// Which of the routes.
    pub route: usize,
    /// An approval rejects.
    pub back: bool,
}

impl Driver {
    /// The next call of a run, when it has an open step.
    pub fn onward(&mut self, run: RunId, way: &Onward) -> Option<ShardCommand> {
        let view = self.world.peek(run)?;
        let open = |step: &&Value| matches!(at(step, "state").as_str(), Some("ready" | "claimed" | "waiting"));
        let is_fork = |step: &&Value| text(step, "kind") == "parallel";
        let steps: Vec<&Value> = at(&view, "steps").as_array().unwrap().iter().filter(open).collect();
        let steps: Vec<&Value> = steps.into_iter().filter(|step| !is_fork(step)).collect();
        let id = text(pick(&steps, way.which)?, "id");
        let state = text(pick(&steps, way.which)?, "state");
        let items = at(&view, "workItems").as_array().unwrap();
        if let Some(item) = items.iter().find(|item| text(item, "stepId") == id) {
            return self.decide_on(run, item, way);
        }
        let agent = callers().remove(0);
        match state.as_str() {
            "ready" => Some(self.make(&agent, Action::Claim { run, step: id, key: 1 })),
            "claimed" => {
                let position = self.process_of(run)?.step_index(&id)?;
                let held = |c: &&quorate_proto::Claim| c.run == run && c.step as usize == position;
                let claim = self.claims.iter().rev().find(held)?.clone();
                let submission = self.submission(run, position, &good(way))?;
                Some(self.by(&claim, None, Action::Submit { token: token(&claim), submission }))
            }
            // Any event that a process here waits for; or time.
            _ if way.route.is_multiple_of(3) => {
                self.world.advance(Span(10 * 60_000));
                Some(ShardCommand::Tick { run: Some(run) })
            }
            _ => Some(self.make(&agent, Action::SendEvent { run, name: "go".to_owned(), data: None })),
        }
    }

    fn decide_on(&mut self, run: RunId, item: &Value, way: &Onward) -> Option<ShardCommand> {
        let words = at(at(item, "decide"), "decisions").as_array().unwrap();
        let offered = |word: &str| words.iter().any(|w| w.as_str() == Some(word));
        let note = "Again.".to_owned();
        let decision = if offered("completed") {
            let position = self.process_of(run)?.step_index(&text(item, "stepId"))?;
            Decision::Completed(self.submission(run, position, &good(way))?)
        } else if way.back && offered("rejected") {
            Decision::Rejected { note }
        } else {
            Decision::Approved { note: None }
        };
        let by = allowed(&callers(), item)?.clone();
        let (work_item, snapshot) = (text(item, "id"), text(item, "snapshot"));
        Some(self.make(&by, Action::Decide(Box::new(Decide { run, work_item, snapshot, decision }))))
    }
}

fn good(way: &Onward) -> Work {
    Work { bad: false, route: way.route, size: 20 }
}
