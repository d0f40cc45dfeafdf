//! An agent that works as real ones do: finds work, claims it, sometimes renews, submits, and settles unknown outcomes
//! with the same request id.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rand::RngExt;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::history::{History, Write};

/// The process that the load works on: two agent steps and an end.
pub const PROCESS: &str = "load-test";

/// The text of [`PROCESS`].
pub const PROCESS_TEXT: &str = "---
name: load-test
description: Two steps for agents, for load and fault tests.
inputs: { tag: string }
steps:
  - id: first
    agent: Send the number back.
    output: { number: number }
  - id: second
    agent: Say that it is done.
  - id: done
    finish: done
---
Made by the load generator.
";

/// How long an agent repeats a write whose outcome is unknown.
const PATIENCE: Duration = Duration::from_mins(1);

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A request id that no other write of this process of ours has.
pub fn request_id() -> String {
    format!("load-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// One agent.
pub struct Agent {
    /// Its number.
    pub number: usize,
    /// Its connection.
    pub client: Client,
    /// Where its promises go.
    pub history: Arc<History>,
}

impl Agent {
    /// Works until told to stop.
    pub async fn work(self, stop: Arc<AtomicBool>) {
        while !stop.load(Ordering::Relaxed) {
            let tag = request_id();
            self.write("start_run", json!({"process": PROCESS, "inputs": {"tag": tag}, "requestId": tag}), None).await;
            let Answer::Done(page) = self.client.call("get_work", &json!({"process": PROCESS, "limit": 20})).await
            else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let items = page["items"].as_array().cloned().unwrap_or_default();
            for _ in 0..items.len().min(2) {
                let pick = rand::rng().random_range(0..items.len());
                self.one_step(&items[pick]).await;
            }
        }
    }

    /// Claims a step and finishes it.
    async fn one_step(&self, item: &Value) {
        let (run, step) = (text(item, "runId"), text(item, "stepId"));
        let at = Some((run.clone(), step.clone()));
        let claim = json!({"runId": run, "stepId": step, "requestId": request_id()});
        let Some(claim) = self.write("claim", claim, at.clone()).await else { return };
        let mut token = claim["token"].clone();
        if rand::rng().random_bool(0.3) {
            let renew = json!({"token": token, "progress": "half way", "requestId": request_id()});
            let Some(renewed) = self.write("renew", renew, None).await else { return };
            token = renewed["token"].clone();
        }
        let request = request_id();
        let output = if step == "first" { json!({"number": 42}) } else { json!({}) };
        let submit = json!({"token": token, "output": output, "summary": request, "requestId": request});
        self.write("submit", submit, at).await;
    }

    async fn write(&self, tool: &'static str, arguments: Value, step: Option<(String, String)>) -> Option<Value> {
        let answer = self.client.settle(tool, &arguments, PATIENCE).await;
        let write = Write { agent: self.number, tool, arguments, step, answer };
        let promised = write.promised().cloned();
        self.history.keep(write);
        promised
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
