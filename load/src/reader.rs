//! A reader at one node: what it is shown must hold all that was known, anywhere, before it asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::agent::PROCESS;
use crate::client::{Answer, Client};
use crate::ending::Ending;
use crate::history::History;

/// Between two reads: agents need the server, too.
const PAUSE: Duration = Duration::from_millis(5);
/// After a read that was not answered.
const LONG_PAUSE: Duration = Duration::from_millis(100);

/// A reader.
pub struct Reader {
    /// Its node.
    pub node: usize,
    /// Calls that node alone.
    pub client: Client,
    /// What is known.
    pub history: Arc<History>,
}

/// What a reader saw.
#[derive(Debug, Default)]
pub struct Readings {
    /// Reads that were answered.
    pub reads: usize,
    /// Reads that were not: the node was down, or said `retry`.
    pub unanswered: usize,
    /// Each read that showed less than was known.
    pub violations: Vec<String>,
}

impl Reader {
    /// Reads until the end.
    pub async fn read(self, ending: Arc<Ending>) -> Readings {
        let mut readings = Readings::default();
        let mut turn = 0_usize;
        while !ending.has_begun() {
            turn += 1;
            let answered = if turn.is_multiple_of(8) { self.work().await } else { self.run().await };
            if let Some(violations) = answered {
                readings.reads += 1;
                readings.violations.extend(violations);
                tokio::time::sleep(PAUSE).await;
            } else {
                readings.unanswered += 1;
                tokio::time::sleep(LONG_PAUSE).await;
            }
        }
        readings
    }

    async fn run(&self) -> Option<Vec<String>> {
        let Some((run, known)) = self.history.floors.pick() else { return Some(Vec::new()) };
        let began = Instant::now();
        let said = |what: &str| {
            let (node, ago) = (self.node, began.elapsed());
            Some(vec![format!("reads go back: node {node}, run {run}, asked {ago:?} ago, known {known:?}: {what}")])
        };
        match self.client.call("get_run", &json!({"runId": run})).await {
            Answer::Done(view) if known.is_shown_by(&view) => {
                self.history.floors.seen(&view);
                Some(Vec::new())
            }
            Answer::Done(view) => said(&format!("{} {}", view["run"], view["steps"])),
            Answer::Refused(code, _) if code == "retry" => None,
            Answer::Refused(code, error) => said(&format!("{code} {error}")),
            Answer::Unknown(_) => None,
        }
    }

    async fn work(&self) -> Option<Vec<String>> {
        let began = Instant::now();
        let answer = self.client.call("get_work", &json!({"process": PROCESS, "limit": 100})).await;
        let Answer::Done(page) = answer else { return None };
        let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let stale = items.iter().filter(|item| {
            let (run, step) = (item["runId"].as_str(), item["stepId"].as_str());
            run.zip(step).is_some_and(|(run, step)| self.history.floors.was_taken(run, step, began))
        });
        let said = stale.map(|item| {
            let (run, step) = (&item["runId"], &item["stepId"]);
            format!("reads go back: node {} offers {run} {step}, which was taken before it was asked", self.node)
        });
        Some(said.collect())
    }
}
