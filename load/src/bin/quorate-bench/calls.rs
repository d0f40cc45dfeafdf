//! What the clients do, and how long each call of theirs takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quorate_load::Error;
use quorate_load::actor::request_id;
use quorate_load::agent::PROCESS;
use quorate_load::client::{Answer, Client};
use quorate_load::stats::percentile_ms;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

/// How fast calls were answered.
pub(crate) struct Rate {
    /// How many.
    pub(crate) calls: usize,
    pub(crate) per_s: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Rate {
    /// Prints and keeps what so many clients of `whom` did.
    pub(crate) fn tell(&self, whom: &str, many: usize, what: &str, figures: &mut Map<String, Value>) {
        let Self { calls: _, per_s, p50, p99 } = self;
        println!("{whom}, {many:>2} clients: {per_s:.0} acknowledged {what}s/s, p50 {p50:.2} ms, p99 {p99:.2} ms");
        let key = format!("{whom}_{what}");
        figures.insert(format!("{key}s_per_s_{many}"), json!(per_s.round()));
        figures.insert(format!("{key}_p50_ms_{many}"), json!(p50));
        figures.insert(format!("{key}_p99_ms_{many}"), json!(p99));
    }
}

/// Each client starts a run, claims its first step and submits it, over and over.
pub(crate) async fn writes(clients: &[Client], long: Duration) -> Result<Rate, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let tasks = clients.iter().map(|client| tokio::spawn(one_client(client.clone(), Arc::clone(&stop)))).collect();
    rate(tasks, &stop, long).await
}

/// Lets clients work for so long. Each tells how long its calls took.
pub(crate) async fn rate(
    tasks: Vec<JoinHandle<Result<Vec<Duration>, Error>>>,
    stop: &AtomicBool,
    long: Duration,
) -> Result<Rate, Error> {
    let began = Instant::now();
    tokio::time::sleep(long).await;
    stop.store(true, Ordering::Relaxed);
    let mut samples = Vec::new();
    for task in tasks {
        samples.extend(task.await??);
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let per_s = samples.len() as f64 / began.elapsed().as_secs_f64();
    Ok(Rate {
        calls: samples.len(),
        per_s,
        p50: percentile_ms(&mut samples, 0.5),
        p99: percentile_ms(&mut samples, 0.99),
    })
}

async fn one_client(client: Client, stop: Arc<AtomicBool>) -> Result<Vec<Duration>, Error> {
    let mut samples = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        one_run(&client, &mut samples).await?;
    }
    Ok(samples)
}

/// A run from its start to its end.
async fn one_run(client: &Client, samples: &mut Vec<Duration>) -> Result<(), Error> {
    let start = json!({"process": PROCESS, "inputs": {"tag": "b"}, "requestId": request_id()});
    let view = timed(client, "start_run", start, samples).await?;
    let run = &view["run"]["id"];
    for (step, output) in [("first", json!({"number": 1})), ("second", json!({}))] {
        let claim = json!({"runId": run, "stepId": step, "requestId": request_id()});
        let claim = timed(client, "claim", claim, samples).await?;
        let submit = json!({"token": claim["token"], "output": output, "summary": "done", "requestId": request_id()});
        timed(client, "submit", submit, samples).await?;
    }
    Ok(())
}

/// Takes `many` runs from their start to their end.
pub(crate) async fn ended_runs(clients: &[Client], many: usize) -> Result<(), Error> {
    let left = Arc::new(AtomicUsize::new(many));
    let work = |client: &Client| {
        let (client, left) = (client.clone(), Arc::clone(&left));
        tokio::spawn(async move {
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok() {
                one_run(&client, &mut Vec::new()).await?;
            }
            Ok::<_, Error>(())
        })
    };
    for task in clients.iter().map(work).collect::<Vec<_>>() {
        task.await??;
    }
    Ok(())
}

/// Starts a run, claims its step and renews the claim `many` times. The run, and the median of the last hundred.
pub(crate) async fn renewals(client: &Client, many: usize) -> Result<(Value, f64), Error> {
    let start = json!({"process": PROCESS, "inputs": {"tag": "h"}, "requestId": request_id()});
    let run = timed(client, "start_run", start, &mut Vec::new()).await?["run"]["id"].clone();
    let claim = json!({"runId": run, "stepId": "first", "requestId": request_id()});
    let mut token = timed(client, "claim", claim, &mut Vec::new()).await?["token"].clone();
    let mut samples = Vec::new();
    for _ in 0..many {
        let renew = json!({"token": token, "requestId": request_id()});
        token = timed(client, "renew", renew, &mut samples).await?["token"].clone();
    }
    let mut last = samples.split_off(samples.len().saturating_sub(100));
    Ok((run, percentile_ms(&mut last, 0.5)))
}

async fn timed(client: &Client, tool: &str, arguments: Value, samples: &mut Vec<Duration>) -> Result<Value, Error> {
    let began = Instant::now();
    match client.call(tool, &arguments).await {
        Answer::Done(data) => {
            samples.push(began.elapsed());
            Ok(data)
        }
        other @ (Answer::Refused(..) | Answer::Unknown(_)) => Err(format!("{tool}: {other:?}").into()),
    }
}

/// Starts runs until `many` are open; returns one of them.
pub(crate) async fn open_runs(clients: &[Client], many: usize) -> Result<Value, Error> {
    let share = many.div_ceil(clients.len());
    let tasks: Vec<_> = clients
        .iter()
        .map(|client| {
            let client = client.clone();
            tokio::spawn(async move {
                let mut last = Value::Null;
                for _ in 0..share {
                    let start = json!({"process": PROCESS, "inputs": {"tag": "open"}, "requestId": request_id()});
                    last = timed(&client, "start_run", start, &mut Vec::new()).await?["run"]["id"].clone();
                }
                Ok::<_, Error>(last)
            })
        })
        .collect();
    let mut last = Value::Null;
    for task in tasks {
        last = task.await??;
    }
    Ok(last)
}

pub(crate) async fn reads(client: &Client, tool: &str, arguments: &Value) -> Result<(f64, f64), Error> {
    let mut samples = Vec::new();
    for _ in 0..500 {
        timed(client, tool, arguments.clone(), &mut samples).await?;
    }
    samples.drain(..50);
    Ok((percentile_ms(&mut samples, 0.5), percentile_ms(&mut samples, 0.99)))
}
