//! An agent that works as real ones do: finds work, claims it, sometimes renews, and submits. Now and then it errs: it
//! sends two calls with one request id, or a token that it renewed.

use std::time::Duration;

use rand::RngExt;
use serde_json::{Value, json};

use crate::actor::{Actor, request_id};
use crate::client::Answer;
use crate::history::Basis;

/// The process that the load works on.
pub const PROCESS: &str = "load-test";

/// The text of [`PROCESS`] for agents alone: two steps and an end.
pub const PROCESS_TEXT: &str = "---
name: load-test
description: Two steps for agents, for load tests.
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

/// How long an agent that is told of no work waits.
const IDLE: Duration = Duration::from_millis(50);

/// Works until the end; rests for `pause` after each step.
pub async fn work(agent: Actor, pause: Duration) {
    while !agent.ending.has_begun() {
        let tag = request_id();
        agent.write("start_run", json!({"process": PROCESS, "inputs": {"tag": tag}, "requestId": tag}), None).await;
        let found = agent.client.call("get_work", &json!({"process": PROCESS, "limit": 20})).await;
        let Answer::Done(page) = found else {
            tokio::time::sleep(IDLE).await;
            continue;
        };
        let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        for _ in 0..items.len().min(2) {
            if agent.ending.has_begun() {
                return;
            }
            let (one, other) = (one_of(items), one_of(items));
            if rand::rng().random_bool(0.1) && one != other {
                twins(&agent, [one, other]).await;
            } else {
                one_step(&agent, one).await;
            }
            tokio::time::sleep(pause).await;
        }
    }
}

fn one_of(items: &[Value]) -> &Value {
    &items[rand::rng().random_range(0..items.len())]
}

/// Claims a step and finishes it.
async fn one_step(agent: &Actor, item: &Value) {
    let (claim, at) = claim(item, &request_id());
    if let Some(claim) = agent.write("claim", claim, Some(at.clone())).await {
        finish(agent, &claim["token"], at).await;
    }
}

/// Claims two steps at once, at different nodes, with one request id: it gets one at most.
async fn twins(agent: &Actor, items: [&Value; 2]) {
    let request = request_id();
    let [(one, at_one), (other, at_other)] = items.map(|item| claim(item, &request));
    let elsewhere = agent.moved(1);
    let (got_one, got_other) = tokio::join!(
        agent.write("claim", one, Some(at_one.clone())),
        elsewhere.write("claim", other, Some(at_other.clone()))
    );
    for (claim, at) in [(got_one, at_one), (got_other, at_other)] {
        if let Some(claim) = claim {
            finish(agent, &claim["token"], at).await;
        }
    }
}

fn claim(item: &Value, request: &str) -> (Value, (String, String)) {
    let (run, step) = (text(item, "runId"), text(item, "stepId"));
    (json!({"runId": run, "stepId": step, "requestId": request}), (run, step))
}

/// Hands in a claimed step; now and then it is renewed before, and its old token tried.
async fn finish(agent: &Actor, token: &Value, at: (String, String)) {
    let mut token = token.clone();
    if rand::rng().random_bool(0.3) {
        let renew = json!({"token": token, "progress": "half way", "requestId": request_id()});
        let Some(renewed) = agent.write("renew", renew, None).await else { return };
        if rand::rng().random_bool(0.3) {
            agent.write_on(Basis::OldToken, "submit", submission(&at.1, &token), Some(at.clone())).await;
        }
        token = renewed["token"].clone();
    }
    agent.write("submit", submission(&at.1, &token), Some(at)).await;
}

fn submission(step: &str, token: &Value) -> Value {
    let request = request_id();
    let output = if step == "first" { json!({"number": 42}) } else { json!({}) };
    json!({"token": token, "output": output, "summary": request, "requestId": request})
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
