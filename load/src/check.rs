//! Holds the server to what it promised. Every violation is one line that names the rule.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::agent::PROCESS;
use crate::client::{Answer, Client};
use crate::history::Write;

/// Checks a settled history against the server. `clients` by agent number. Returns the violations.
pub async fn check(writes: &[Write], clients: &[Client]) -> Vec<String> {
    let mut found = unexpected(writes);
    found.extend(one_holder(writes));
    found.extend(replays(writes, clients).await);
    found.extend(effects(writes, &clients[0]).await);
    found
}

/// An agent of this load never gives cause for these refusals.
fn unexpected(writes: &[Write]) -> Vec<String> {
    let bad = |w: &&Write| match &w.answer {
        Answer::Done(_) => false,
        Answer::Unknown(_) => true,
        Answer::Refused(code, _) => !(w.tool == "claim" && code == "conflict"),
    };
    writes
        .iter()
        .filter(bad)
        .map(|w| format!("unexpected answer: {} {} -> {:?}", w.tool, w.arguments, w.answer))
        .collect()
}

/// One actor at a time (§6.2): leases outlast the test and nothing is reworked, so a step is claimed at most once.
fn one_holder(writes: &[Write]) -> Vec<String> {
    let mut holders: BTreeMap<&(String, String), &Write> = BTreeMap::new();
    let mut found = Vec::new();
    for write in writes.iter().filter(|w| w.tool == "claim" && w.promised().is_some()) {
        let Some(step) = &write.step else { continue };
        if let Some(other) = holders.insert(step, write) {
            found.push(format!(
                "one actor at a time: {step:?} was held by {} and {}",
                other.request(),
                write.request()
            ));
        }
    }
    found
}

/// A replay of every acknowledged write gives the original result (IDEM-ORIGINAL).
async fn replays(writes: &[Write], clients: &[Client]) -> Vec<String> {
    let mut found = Vec::new();
    for batch in writes.chunks(32) {
        let calls = batch.iter().filter_map(|w| w.promised().map(|p| (w, p)));
        let tasks: Vec<_> = calls
            .map(|(write, promised)| {
                let (client, write, promised) = (clients[write.agent].clone(), write.clone(), promised.clone());
                tokio::spawn(async move {
                    let again = client.settle(write.tool, &write.arguments, std::time::Duration::from_secs(20)).await;
                    (again != Answer::Done(promised))
                        .then(|| format!("replay differs: {} {}: {again:?}", write.tool, write.request()))
                })
            })
            .collect();
        for task in tasks {
            found.extend(task.await.unwrap_or_else(|e| Some(format!("the checker failed: {e}"))));
        }
    }
    found
}

/// Acknowledged writes are there, each request id took effect at most once, and nothing is half there.
async fn effects(writes: &[Write], client: &Client) -> Vec<String> {
    let mut found = Vec::new();
    let sent: BTreeSet<&str> = writes.iter().map(Write::request).collect();
    let mut submitted: BTreeMap<(String, String), &Write> = BTreeMap::new();
    for write in writes.iter().filter(|w| w.tool == "submit" && w.promised().is_some()) {
        if let Some(step) = &write.step {
            submitted.insert(step.clone(), write);
        }
    }
    let mut tags = BTreeMap::new();
    let runs = match all_runs(client).await {
        Ok(runs) => runs,
        Err(e) => return vec![e],
    };
    for run in &runs {
        let (id, tag) = (run["id"].as_str().unwrap_or_default(), run["inputs"]["tag"].as_str().unwrap_or_default());
        if let Some(other) = tags.insert(tag.to_owned(), id.to_owned()) {
            found.push(format!("request id {tag} started two runs: {other} and {id}"));
        }
        if !sent.contains(tag) {
            found.push(format!("run {id} has a tag that nobody sent: {tag}"));
        }
    }
    for write in writes.iter().filter(|w| w.tool == "start_run") {
        let Some(view) = write.promised() else { continue };
        if tags.get(write.request()).map(String::as_str) != view["run"]["id"].as_str() {
            found.push(format!("an acknowledged run is lost: {} {}", write.request(), view["run"]["id"]));
        }
    }
    for run in &runs {
        let id = run["id"].as_str().unwrap_or_default();
        match client.call("get_run", &json!({"runId": id})).await {
            Answer::Done(view) => found.extend(whole(&view, &sent, &submitted)),
            other @ (Answer::Refused(..) | Answer::Unknown(_)) => found.push(format!("get_run {id}: {other:?}")),
        }
    }
    found
}

/// A run's states, data and list entries agree, and hold every acknowledged submission.
fn whole(view: &Value, sent: &BTreeSet<&str>, submitted: &BTreeMap<(String, String), &Write>) -> Vec<String> {
    let mut found = Vec::new();
    let id = view["run"]["id"].as_str().unwrap_or_default();
    let state = |step: &str| {
        let steps = view["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        steps.iter().find(|s| s["id"] == step).map_or(Value::Null, |s| s["state"].clone())
    };
    for step in ["first", "second"] {
        let record = &view["data"]["steps"][step];
        if (state(step) == "done") != record.is_object() {
            found.push(format!("half there: {id} {step} is {} with record {record}", state(step)));
        }
        if let Some(summary) = record["summary"].as_str()
            && !sent.contains(summary)
        {
            found.push(format!("{id} {step} holds work that nobody sent: {summary}"));
        }
        if let Some(write) = submitted.get(&(id.to_owned(), step.to_owned()))
            && record["summary"] != *write.request()
        {
            found.push(format!("an acknowledged submission is lost: {id} {step} {}", write.request()));
        }
    }
    let ended = view["run"]["state"] == "ended";
    if ended != (state("second") == "done")
        || ended != (state("done") == "done")
        || (state("second") != Value::Null) != (state("first") == "done")
    {
        found.push(format!("order: {id} has impossible states {}", view["steps"]));
    }
    found
}

async fn all_runs(client: &Client) -> Result<Vec<Value>, String> {
    let (mut runs, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut arguments = json!({"process": PROCESS, "limit": 100});
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        match client.call("list_runs", &arguments).await {
            Answer::Done(page) => {
                runs.extend(page["items"].as_array().cloned().unwrap_or_default());
                cursor = page["nextCursor"].clone();
                if cursor.is_null() {
                    return Ok(runs);
                }
            }
            other @ (Answer::Refused(..) | Answer::Unknown(_)) => return Err(format!("list_runs: {other:?}")),
        }
    }
}
