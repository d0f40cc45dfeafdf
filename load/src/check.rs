//! Holds the server to what it promised. Every violation is one line that names the rule.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::PROCESS;
use crate::client::{Answer, Client};
use crate::history::{Basis, Write};

/// How long a replay may take.
const REPLAY_LIMIT: Duration = Duration::from_secs(20);

/// Checks a settled history against the server, at each of the nodes. `clients` by number of who wrote. Returns the violations.
pub async fn check(writes: &[Write], clients: &[Client], nodes: usize) -> Vec<String> {
    let mut found = unexpected(writes);
    found.extend(one_holder(writes));
    found.extend(one_effect(writes));
    found.extend(current_snapshots(writes));
    found.extend(replays(writes, clients).await);
    for node in 0..nodes {
        let told = effects(writes, &clients[0].only(node)).await;
        found.extend(told.into_iter().map(|line| format!("at node {node}: {line}")));
    }
    found
}

/// Whoever writes here never gives cause for other refusals than these.
fn unexpected(writes: &[Write]) -> Vec<String> {
    let bad = |w: &&Write| match (&w.answer, w.basis) {
        (Answer::Done(_), basis) => basis == Basis::OldToken,
        (Answer::Unknown(_), _) => true,
        (Answer::Refused(code, _), Basis::Present) => !(w.tool == "claim" && code == "conflict"),
        (Answer::Refused(code, _), Basis::OldToken) => code != "stale",
        (Answer::Refused(code, _), Basis::ReadAt(_)) => !["stale", "conflict"].contains(&code.as_str()),
    };
    let line = |w: &Write| format!("unexpected answer: {} {} -> {:?}", w.tool, w.arguments, w.answer);
    let old = |w: &Write| format!("an old token was taken: {} {}", w.tool, w.arguments);
    let told = |w: &Write| if w.promised().is_some() { old(w) } else { line(w) };
    writes.iter().filter(bad).map(told).collect()
}

/// One actor at a time (§6.2): leases outlast the test and nothing is reworked, so a step is claimed at most once, and a
/// work item decided at most once.
fn one_holder(writes: &[Write]) -> Vec<String> {
    let mut holders: BTreeMap<_, &Write> = BTreeMap::new();
    let mut found = Vec::new();
    for write in writes.iter().filter(|w| ["claim", "decide"].contains(&w.tool) && w.promised().is_some()) {
        let Some(step) = &write.step else { continue };
        if let Some(other) = holders.insert(step, write) {
            let (one, other) = (write.request(), other.request());
            found.push(format!("one actor at a time: {step:?} was held by {other} and {one}"));
        }
    }
    found
}

/// At most one call takes effect with a request id (IDEM-ORIGINAL).
fn one_effect(writes: &[Write]) -> Vec<String> {
    let mut used: BTreeMap<_, &Write> = BTreeMap::new();
    let mut found = Vec::new();
    for write in writes.iter().filter(|w| w.promised().is_some()) {
        if let Some(other) = used.insert(write.request(), write) {
            let (one, other) = (&write.arguments, &other.arguments);
            found.push(format!("request id {} took effect twice: {other} and {one}", write.request()));
        }
    }
    found
}

/// A decision stands on the run's present data (§3.4): no submission was sent after the decision's snapshot had been read and
/// acknowledged before the decision was sent.
fn current_snapshots(writes: &[Write]) -> Vec<String> {
    let mut changes: BTreeMap<&str, Vec<&Write>> = BTreeMap::new();
    for write in writes.iter().filter(|w| w.tool == "submit" && w.promised().is_some()) {
        if let Some((run, _)) = &write.step {
            changes.entry(run).or_default().push(write);
        }
    }
    let mut found = Vec::new();
    for decision in writes.iter().filter(|w| w.promised().is_some()) {
        let (Basis::ReadAt(read), Some((run, _))) = (decision.basis, &decision.step) else { continue };
        let between = |change: &&&Write| change.span.0 > read && change.span.1 < decision.span.0;
        if let Some(change) = changes.get(run.as_str()).and_then(|changes| changes.iter().find(between)) {
            let (one, other) = (decision.request(), change.request());
            found.push(format!("decision {one} on run {run} stands on data from before {other}"));
        }
    }
    found
}

/// A replay of every acknowledged write gives the original result (IDEM-ORIGINAL), at another node than the first time.
async fn replays(writes: &[Write], clients: &[Client]) -> Vec<String> {
    let mut found = Vec::new();
    for batch in writes.chunks(32) {
        let calls = batch.iter().filter_map(|w| w.promised().map(|p| (w, p)));
        let tasks: Vec<_> = calls
            .map(|(write, promised)| {
                let client = clients[write.actor].at(write.node + 1);
                let (write, promised) = (write.clone(), promised.clone());
                tokio::spawn(async move {
                    let (again, _) = client.settle(write.tool, &write.arguments, REPLAY_LIMIT).await;
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
    for write in writes.iter().filter(|w| ["submit", "decide"].contains(&w.tool) && w.promised().is_some()) {
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
    for batch in runs.chunks(32) {
        let views = batch.iter().map(|run| {
            let (client, id) = (client.clone(), run["id"].clone());
            tokio::spawn(async move { client.call("get_run", &json!({"runId": id})).await })
        });
        for (run, view) in batch.iter().zip(views.collect::<Vec<_>>()) {
            match view.await {
                Ok(Answer::Done(view)) => found.extend(whole(&view, &sent, &submitted)),
                other => found.push(format!("get_run {}: {other:?}", run["id"])),
            }
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
    for (step, key) in [("first", "summary"), ("approve", "note"), ("second", "summary")] {
        let record = &view["data"]["steps"][step];
        if (state(step) == "done") != record.is_object() {
            found.push(format!("half there: {id} {step} is {} with record {record}", state(step)));
        }
        if let Some(request) = record[key].as_str()
            && !sent.contains(request)
        {
            found.push(format!("{id} {step} holds work that nobody sent: {request}"));
        }
        if let Some(write) = submitted.get(&(id.to_owned(), step.to_owned()))
            && record[key] != *write.request()
        {
            found.push(format!("an acknowledged submission or decision is lost: {id} {step} {}", write.request()));
        }
    }
    let ended = view["run"]["state"] == "ended";
    if ended != (state("second") == "done")
        || ended != (state("done") == "done")
        || (state("second") != Value::Null) != (state("first") == "done" && state("approve") == "done")
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A write by its tool, request id, step and the seconds of its span.
    fn write(tool: &'static str, request: &str, step: &str, span: (u64, u64), basis: Basis) -> Write {
        let at = |s| *START + Duration::from_secs(s);
        let (arguments, step) = (json!({"requestId": request, "of": step}), Some(("r".to_owned(), step.to_owned())));
        let answer = Answer::Done(Value::Null);
        Write { actor: 0, tool, arguments, step, answer, node: 0, span: (at(span.0), at(span.1)), basis }
    }

    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

    #[test]
    fn a_decision_on_an_old_snapshot_is_found() {
        let decided = |read| {
            let read = Basis::ReadAt(*START + Duration::from_secs(read));
            let submit = write("submit", "1", "first", (2, 3), Basis::Present);
            current_snapshots(&[submit, write("decide", "2", "approve", (4, 5), read)]).len()
        };
        assert_eq!(decided(1), 1);
        // It was on its way when the data were read, which may show it.
        assert_eq!(decided(3), 0);
    }

    #[test]
    fn what_happens_twice_is_found() {
        let claim = |request, step| write("claim", request, step, (1, 2), Basis::Present);
        assert_eq!(one_holder(&[claim("1", "first"), claim("2", "first")]).len(), 1);
        assert_eq!(one_effect(&[claim("1", "first"), claim("1", "second")]).len(), 1);
        let good = [claim("1", "first"), claim("2", "second")];
        assert!(one_holder(&good).is_empty() && one_effect(&good).is_empty());
        assert_eq!(unexpected(&[write("submit", "3", "first", (1, 2), Basis::OldToken)]).len(), 1);
    }
}
