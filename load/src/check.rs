//! Holds the server to what it promised. Every violation is one line that names the rule.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::agent::PROCESS;
use crate::client::{Answer, Client};
use crate::history::{Basis, Write};

/// How long a replay may take.
const REPLAY_LIMIT: Duration = Duration::from_secs(20);
/// Calls at once.
const CALLS: usize = 32;
/// So many violations that calls show are enough: a server that does not answer would make the rest of them last for ever.
const ENOUGH: usize = 20;

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
    let calls = writes.iter().filter_map(|write| {
        let (write, promised) = (write.clone(), write.promised()?.clone());
        let client = clients[write.actor].at(write.node + 1);
        Some(async move {
            let began = Instant::now();
            let give_up = || began.elapsed() > REPLAY_LIMIT;
            let (again, _) = client.settle(write.tool, &write.arguments, give_up).await;
            let differs = || format!("replay differs: {} {}: {again:?}", write.tool, write.request());
            Vec::from_iter((again != Answer::Done(promised)).then(differs))
        })
    });
    some_at_once(calls, |found| found).await
}

/// Makes the calls, some at once, until enough violations are found in what they gave.
async fn some_at_once<F>(calls: impl Iterator<Item = F>, judge: impl Fn(F::Output) -> Vec<String>) -> Vec<String>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let (mut found, mut calls, mut under_way) = (Vec::new(), calls.fuse(), JoinSet::new());
    loop {
        while found.len() < ENOUGH
            && under_way.len() < CALLS
            && let Some(call) = calls.next()
        {
            under_way.spawn(call);
        }
        match under_way.join_next().await {
            Some(Ok(given)) => found.extend(judge(given)),
            Some(Err(e)) => found.push(format!("the checker failed: {e}")),
            None => return found,
        }
    }
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
    let views = runs.iter().map(|run| {
        let (client, id) = (client.clone(), run["id"].clone());
        async move { (client.call("get_run", &json!({"runId": id})).await, id) }
    });
    let judge = |(answer, id): (Answer, Value)| match answer {
        Answer::Done(view) => whole(&view, &sent, &submitted),
        other @ (Answer::Refused(..) | Answer::Unknown(_)) => vec![format!("get_run {id}: {other:?}")],
    };
    found.extend(some_at_once(views, judge).await);
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
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    #[tokio::test]
    async fn calls_go_on_until_enough_is_found() {
        let made = AtomicUsize::new(0);
        let calls = || (0..1000).map(|_| async {}).inspect(|_| _ = made.fetch_add(1, Ordering::Relaxed));
        assert!(some_at_once(calls(), |()| Vec::new()).await.is_empty());
        assert_eq!(made.swap(0, Ordering::Relaxed), 1000);
        let found = some_at_once(calls(), |()| vec!["broken".to_owned()]).await;
        assert_eq!(found.len(), made.into_inner());
        assert!((ENOUGH..ENOUGH + CALLS).contains(&found.len()), "{}", found.len());
    }
}
