//! Acknowledged writes, read latencies and memory through MCP, beside the machine's own rate of durable writes.
//! The last line is JSON with each figure and each ratio.

mod calls;
mod disk;
mod nodes;
mod restart;

use std::path::{Path, PathBuf};
use std::time::Duration;

use calls::{ended_runs, open_runs, reads, renewals, writes};
use clap::{Parser, Subcommand};
use quorate_load::Error;
use quorate_load::agent::{PROCESS, PROCESS_TEXT};
use quorate_load::client::{Client, http};
use quorate_load::server::Server;
use serde_json::{Map, Value, json};

/// Measures a server of its own: writes, reads, memory.
#[derive(Parser)]
struct Options {
    /// The quorate binary
    #[arg(long, value_name = "PATH")]
    binary: PathBuf,
    /// How long each rate of writes is measured
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How many runs are open when reads are measured
    #[arg(long, value_delimiter = ',', default_value = "1000,100000")]
    open: Vec<usize>,
    /// How many runs have ended when memory is measured
    #[arg(long, value_delimiter = ',', default_value = "10000,20000,40000")]
    ended: Vec<usize>,
    /// How many renewals one run's history holds when it is read
    #[arg(long, value_delimiter = ',', default_value = "100,10000")]
    history: Vec<usize>,
    /// How many nodes the cluster has that is measured beside an etcd; 0 for none
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    /// Measure the cluster only
    #[arg(long)]
    cluster_only: bool,
    /// Measure something else instead
    #[command(subcommand)]
    instead: Option<Instead>,
}

/// What is not measured by default.
#[derive(Subcommand)]
enum Instead {
    /// Fill a node with runs, and measure how long it takes to serve again after SIGKILL and SIGTERM
    Restart {
        /// How many runs are open
        #[arg(long, default_value_t = 100_000)]
        open: usize,
        /// How many runs have ended
        #[arg(long, default_value_t = 1_000_000)]
        ended: usize,
    },
}

/// How many clients write at once.
const CLIENTS: [usize; 2] = [1, 64];

#[tokio::main]
async fn main() -> Result<(), Error> {
    let options = Options::parse();
    let data = std::env::temp_dir().join(format!("quorate-bench-{}", std::process::id()));
    std::fs::create_dir_all(&data)?;
    let figures = run(&options, &data).await;
    std::fs::remove_dir_all(&data)?;
    println!("{}", Value::Object(figures?));
    Ok(())
}

type Figures = Map<String, Value>;

async fn run(options: &Options, data: &Path) -> Result<Figures, Error> {
    let mut figures = Figures::new();
    if let Some(Instead::Restart { open, ended }) = options.instead {
        restart::measure(&options.binary, data, open, ended, &mut figures).await?;
        return Ok(figures);
    }
    let sync_rate = disk::durable_writes_per_second(data)?;
    println!("this disk: {sync_rate:.0} writes of 4 KiB with fdatasync a second, one after the other");
    figures.insert("fdatasync_per_s".to_owned(), json!(sync_rate.round()));
    if !options.cluster_only {
        alone(options, data, sync_rate, &mut figures).await?;
    }
    if options.nodes > 0 {
        nodes::measure(options, data, &mut figures).await?;
    }
    Ok(figures)
}

/// A server alone.
async fn alone(options: &Options, data: &Path, sync_rate: f64, figures: &mut Figures) -> Result<(), Error> {
    let mut server = Server::new(&options.binary, data, &[])?;
    server.start().await?;
    let file = data.join("load-test.md");
    std::fs::write(&file, PROCESS_TEXT)?;
    server.publish(&file, &[PROCESS])?;
    let http = http(CLIENTS[1])?;
    let clients = (0..CLIENTS[1])
        .map(|n| Ok(Client::new(http.clone(), vec![server.mcp()], 0, server.agent_token(&format!("load-{n}"))?)))
        .collect::<Result<Vec<_>, Error>>()?;
    measure_writes(options, &clients, sync_rate, figures).await?;
    measure_history(options, &clients, figures).await?;
    measure_ended(options, &clients, &server, figures).await?;
    measure_open(options, &clients, &server, figures).await?;
    server.kill().await
}

async fn measure_writes(
    options: &Options,
    clients: &[Client],
    sync_rate: f64,
    figures: &mut Figures,
) -> Result<(), Error> {
    for many in CLIENTS {
        let rate = writes(&clients[..many], Duration::from_secs(options.seconds)).await?;
        rate.tell("node", many, "write", figures);
        println!("{many:>2} clients: {:.2} x fdatasync", rate.per_s / sync_rate);
        figures.insert(format!("node_writes_per_fdatasync_{many}"), json!(rate.per_s / sync_rate));
    }
    Ok(())
}

/// A run is read, and written to, at the same cost however much has happened in it.
async fn measure_history(options: &Options, clients: &[Client], figures: &mut Figures) -> Result<(), Error> {
    let mut medians = Vec::new();
    for many in &options.history {
        let (run, w50) = renewals(&clients[0], *many).await?;
        let (r50, _) = reads(&clients[0], "get_run", &json!({"runId": run})).await?;
        println!("a run of {many} renewals: the last of them p50 {w50:.2} ms, get_run p50 {r50:.2} ms");
        figures.insert(format!("renew_p50_ms_{many}"), json!(w50));
        figures.insert(format!("get_run_p50_ms_history_{many}"), json!(r50));
        medians.push(r50);
    }
    growth("get_run_growth_history", &medians, figures);
    Ok(())
}

async fn measure_ended(
    options: &Options,
    clients: &[Client],
    server: &Server,
    figures: &mut Figures,
) -> Result<(), Error> {
    let (mut sizes, mut before) = (Vec::new(), 0);
    for many in &options.ended {
        ended_runs(clients, many.saturating_sub(before)).await?;
        before = *many;
        let memory = server.process().memory_kib().unwrap_or(0) / 1024;
        println!("{many} more ended runs: memory {memory} MiB");
        figures.insert(format!("memory_mib_ended_{many}"), json!(memory));
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        sizes.push(memory as f64);
    }
    growth("memory_growth_ended", &sizes, figures);
    Ok(())
}

async fn measure_open(
    options: &Options,
    clients: &[Client],
    server: &Server,
    figures: &mut Figures,
) -> Result<(), Error> {
    let mut work = Vec::new();
    for many in &options.open {
        let some_run = open_runs(clients, *many).await?;
        let (w50, w99) = reads(&clients[0], "get_work", &json!({"process": PROCESS})).await?;
        let (r50, r99) = reads(&clients[0], "get_run", &json!({"runId": some_run})).await?;
        let memory = server.process().memory_kib().unwrap_or(0) / 1024;
        println!(
            "{many} open runs: get_work p50 {w50:.2} p99 {w99:.2} ms, get_run p50 {r50:.2} p99 {r99:.2} ms, memory {memory} MiB"
        );
        figures.insert(format!("get_work_p50_ms_{many}"), json!(w50));
        figures.insert(format!("get_work_p99_ms_{many}"), json!(w99));
        figures.insert(format!("get_run_p50_ms_{many}"), json!(r50));
        figures.insert(format!("get_run_p99_ms_{many}"), json!(r99));
        figures.insert(format!("memory_mib_{many}"), json!(memory));
        work.push(w50);
    }
    growth("get_work_growth", &work, figures);
    Ok(())
}

/// The last figure as a multiple of the first.
fn growth(name: &str, values: &[f64], figures: &mut Figures) {
    if let [first, .., last] = values {
        println!("{name}: {:.2} x from first to last", last / first);
        figures.insert(name.to_owned(), json!(last / first));
    }
}
