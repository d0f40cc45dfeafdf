//! A person who approves, now and then long after reading: then the decision may stand on data that changed meanwhile.

use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::{Value, json};

use crate::actor::{Actor, request_id};
use crate::agent::PROCESS;
use crate::client::Answer;
use crate::history::Basis;

/// The text of [`PROCESS`] with people: while one approves, an agent works on a step beside it.
pub const PROCESS_TEXT: &str = "---
name: load-test
description: Steps for agents and people, for fault tests.
inputs: { tag: string }
steps:
  - id: both
    parallel: [first, approve]
    next: second
  - id: first
    agent: Send the number back.
    output: { number: number }
    next: join
  - id: approve
    person: approver
    approve: Approve whatever the number is.
    next: join
  - id: second
    agent: Say that it is done.
  - id: done
    finish: done
---
Made by the load generator.
";
/// Who approves.
pub const GROUP: &str = "g_approvers";
/// How its role is bound.
pub const ROLE: [&str; 2] = ["--role", "approver=g_approvers"];

/// Between two looks for work.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a person waits at most until the data changed.
const WAIT: Duration = Duration::from_millis(500);

/// Approves until the end.
pub async fn approve(person: Actor, pause: Duration) {
    while !person.ending.has_begun() {
        tokio::time::sleep(PAUSE + pause).await;
        let found = person.client.call("get_work", &json!({"process": PROCESS, "limit": 20})).await;
        let read = Instant::now();
        let Answer::Done(page) = found else { continue };
        let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        for _ in 0..items.len().min(5) {
            if person.ending.has_begun() {
                return;
            }
            let item = &items[rand::rng().random_range(0..items.len())];
            if rand::rng().random_bool(0.3) {
                until_changed(&person, item, read).await;
            }
            decide(&person, item, read).await;
        }
    }
}

/// Waits until the step beside this one is known to be done, if that is soon.
async fn until_changed(person: &Actor, item: &Value, read: Instant) {
    let run = item["runId"].as_str().unwrap_or_default();
    while !person.history.floors.is_done(run, "first") && read.elapsed() < WAIT {
        tokio::time::sleep(PAUSE).await;
    }
}

/// Decides on what was read; if that is outdated, reads again and decides.
async fn decide(person: &Actor, item: &Value, read: Instant) {
    let (run, work) = (item["runId"].as_str().unwrap_or_default(), &item["workItem"]);
    if approved(person, run, work, read).await {
        return;
    }
    let Answer::Done(view) = person.client.call("get_run", &json!({"runId": run})).await else { return };
    let read = Instant::now();
    let items = view["workItems"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(work) = items.iter().find(|open| open["id"] == work["id"]) {
        approved(person, run, work, read).await;
    }
}

async fn approved(person: &Actor, run: &str, work: &Value, read: Instant) -> bool {
    let request = request_id();
    let decision = json!({"runId": run, "workItemId": work["id"], "snapshot": work["snapshot"], "decision": "approved",
                          "note": request, "requestId": request});
    let at = Some((run.to_owned(), "approve".to_owned()));
    person.write_on(Basis::ReadAt(read), "decide", decision, at).await.is_some()
}
