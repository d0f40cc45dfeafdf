//! Acknowledged writes and read latencies through MCP, beside the machine's own rate of durable writes.
//!
//! `quorate-bench --binary PATH [--seconds 10] [--open 1000,100000]`
//!
//! The last line is JSON with each figure and each ratio.

use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quorate_load::Error;
use quorate_load::agent::{PROCESS, PROCESS_TEXT, request_id};
use quorate_load::client::{Answer, Client, http};
use quorate_load::server::Server;
use quorate_load::stats::percentile_ms;
use serde_json::{Value, json};

struct Options {
    binary: PathBuf,
    seconds: u64,
    open: Vec<usize>,
}

fn options() -> Result<Options, Error> {
    let mut chosen = Options { binary: PathBuf::new(), seconds: 10, open: vec![1_000, 100_000] };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--binary" => chosen.binary = value()?.into(),
            "--seconds" => chosen.seconds = value()?.parse()?,
            "--open" => chosen.open = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            _ => return Err(format!("{word}: unknown; takes --binary PATH --seconds N --open N,N").into()),
        }
    }
    if !chosen.binary.is_file() {
        return Err("--binary must name the quorate binary".into());
    }
    Ok(chosen)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let options = options()?;
    let data = std::env::temp_dir().join(format!("quorate-bench-{}", std::process::id()));
    std::fs::create_dir_all(&data)?;
    let figures = run(&options, &data).await;
    std::fs::remove_dir_all(&data)?;
    println!("{}", figures?);
    Ok(())
}

async fn run(options: &Options, data: &Path) -> Result<Value, Error> {
    let sync_rate = durable_writes_per_second(data)?;
    println!("this disk: {sync_rate:.0} writes of 4 KiB with fdatasync a second, one after the other");
    let mut server = Server::new(&options.binary, data, &[])?;
    server.start().await?;
    let file = data.join("load-test.md");
    std::fs::write(&file, PROCESS_TEXT)?;
    server.publish(&file, PROCESS)?;
    let http = http(64)?;
    let clients = (0..64)
        .map(|n| Ok(Client::new(http.clone(), server.mcp(), server.agent_token(&format!("load-{n}"))?)))
        .collect::<Result<Vec<_>, Error>>()?;

    let mut figures = json!({"fdatasync_per_s": sync_rate.round()});
    for many in [1, 64] {
        let (rate, p50, p99) = writes(&clients[..many], Duration::from_secs(options.seconds)).await?;
        println!(
            "{many:>2} clients: {rate:.0} acknowledged writes/s, p50 {p50:.2} ms, p99 {p99:.2} ms, {:.2} x fdatasync",
            rate / sync_rate
        );
        figures[format!("writes_per_s_{many}")] = json!(rate.round());
        figures[format!("write_p50_ms_{many}")] = json!(p50);
        figures[format!("write_p99_ms_{many}")] = json!(p99);
        figures[format!("writes_per_fdatasync_{many}")] = json!(rate / sync_rate);
    }
    let mut work = Vec::new();
    for many in &options.open {
        let some_run = open_runs(&clients, *many).await?;
        let (w50, w99) = reads(&clients[0], "get_work", &json!({"process": PROCESS})).await?;
        let (r50, r99) = reads(&clients[0], "get_run", &json!({"runId": some_run})).await?;
        let memory = server.memory_kib().unwrap_or(0) / 1024;
        println!(
            "{many} open runs: get_work p50 {w50:.2} p99 {w99:.2} ms, get_run p50 {r50:.2} p99 {r99:.2} ms, memory {memory} MiB"
        );
        figures[format!("get_work_p50_ms_{many}")] = json!(w50);
        figures[format!("get_work_p99_ms_{many}")] = json!(w99);
        figures[format!("get_run_p50_ms_{many}")] = json!(r50);
        figures[format!("get_run_p99_ms_{many}")] = json!(r99);
        figures[format!("memory_mib_{many}")] = json!(memory);
        work.push(w50);
    }
    if let [first, .., last] = work.as_slice() {
        figures["get_work_growth"] = json!(last / first);
        println!("get_work at most runs is {:.2} x get_work at fewest", last / first);
    }
    server.kill().await?;
    Ok(figures)
}

/// Each client starts a run, claims its first step and submits it, over and over.
async fn writes(clients: &[Client], long: Duration) -> Result<(f64, f64, f64), Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let tasks: Vec<_> =
        clients.iter().map(|client| tokio::spawn(one_client(client.clone(), Arc::clone(&stop)))).collect();
    tokio::time::sleep(long).await;
    stop.store(true, Ordering::Relaxed);
    let mut samples = Vec::new();
    for task in tasks {
        samples.extend(task.await??);
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = samples.len() as f64 / began.elapsed().as_secs_f64();
    Ok((rate, percentile_ms(&mut samples, 0.5), percentile_ms(&mut samples, 0.99)))
}

async fn one_client(client: Client, stop: Arc<AtomicBool>) -> Result<Vec<Duration>, Error> {
    let mut samples = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let view = timed(
            &client,
            "start_run",
            json!({"process": PROCESS, "inputs": {"tag": "b"}, "requestId": request_id()}),
            &mut samples,
        )
        .await?;
        let run = view["run"]["id"].clone();
        for (step, output) in [("first", json!({"number": 1})), ("second", json!({}))] {
            let claim =
                timed(&client, "claim", json!({"runId": run, "stepId": step, "requestId": request_id()}), &mut samples)
                    .await?;
            let submit =
                json!({"token": claim["token"], "output": output, "summary": "done", "requestId": request_id()});
            timed(&client, "submit", submit, &mut samples).await?;
        }
    }
    Ok(samples)
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
async fn open_runs(clients: &[Client], many: usize) -> Result<Value, Error> {
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

async fn reads(client: &Client, tool: &str, arguments: &Value) -> Result<(f64, f64), Error> {
    let mut samples = Vec::new();
    for _ in 0..500 {
        timed(client, tool, arguments.clone(), &mut samples).await?;
    }
    samples.drain(..50);
    Ok((percentile_ms(&mut samples, 0.5), percentile_ms(&mut samples, 0.99)))
}

/// How many 4 KiB writes with fdatasync the disk under `data` takes a second.
fn durable_writes_per_second(data: &Path) -> Result<f64, Error> {
    let path = data.join("fdatasync");
    let mut file = std::fs::File::create(&path)?;
    file.write_all(&vec![0; 1 << 20])?;
    file.sync_all()?;
    let (block, began, mut done) = (vec![1; 4096], Instant::now(), 0u32);
    while began.elapsed() < Duration::from_secs(2) {
        file.write_all_at(&block, u64::from(done % 256) * 4096)?;
        file.sync_data()?;
        done += 1;
    }
    std::fs::remove_file(path)?;
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}
