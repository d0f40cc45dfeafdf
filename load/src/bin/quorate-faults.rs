//! Kills a loaded server at random moments and checks every promise it made.
//!
//! The last line is JSON: `runs`, `calls`, `faults`, `violations`, `longest_gap_ms`. Exit status 0 only without violations.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use quorate_load::Error;
use quorate_load::agent::{Agent, PROCESS, PROCESS_TEXT};
use quorate_load::check::check;
use quorate_load::client::{Client, http};
use quorate_load::history::History;
use quorate_load::server::Server;
use rand::RngExt;
use serde_json::json;

/// Kills a server of its own at random moments and checks every promise it made. Exit status 0 only when all are kept.
#[derive(Parser)]
struct Options {
    /// The quorate binary
    #[arg(long, value_name = "PATH")]
    binary: PathBuf,
    /// How long the load runs
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many agents work at once
    #[arg(long, default_value_t = 64)]
    agents: usize,
    /// How often the server is killed meanwhile
    #[arg(long, default_value_t = 10)]
    kills: usize,
    /// Keep the server's data and log
    #[arg(long)]
    keep: bool,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let options = Options::parse();
    let data = std::env::temp_dir().join(format!("quorate-faults-{}", std::process::id()));
    std::fs::create_dir_all(&data)?;
    let outcome = run(&options, &data).await;
    if options.keep || outcome.as_ref().is_ok_and(|violations| *violations > 0) {
        println!("data kept in {}", data.display());
    } else {
        std::fs::remove_dir_all(&data)?;
    }
    match outcome? {
        0 => Ok(()),
        n => Err(format!("{n} violations").into()),
    }
}

async fn run(options: &Options, data: &std::path::Path) -> Result<usize, Error> {
    let mut server = Server::new(&options.binary, data, &[])?;
    server.start().await?;
    let file = data.join("load-test.md");
    std::fs::write(&file, PROCESS_TEXT)?;
    server.publish(&file, PROCESS)?;
    let http = http(options.agents)?;
    let clients = (0..options.agents)
        .map(|n| Ok(Client::new(http.clone(), server.mcp(), server.agent_token(&format!("load-{n}"))?)))
        .collect::<Result<Vec<_>, Error>>()?;

    let (history, stop) = (Arc::new(History::default()), Arc::new(AtomicBool::new(false)));
    let working: Vec<_> = clients
        .iter()
        .enumerate()
        .map(|(number, client)| {
            tokio::spawn(
                Agent { number, client: client.clone(), history: Arc::clone(&history) }.work(Arc::clone(&stop)),
            )
        })
        .collect();
    for kill in 0..options.kills {
        let share = options.seconds * 1000 / options.kills.max(1) as u64;
        let wait = rand::rng().random_range(share / 2..=share);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        server.kill().await?;
        server.start().await?;
        println!("kill {} of {}: back; {} writes so far", kill + 1, options.kills, history.writes().len());
    }
    if options.kills == 0 {
        tokio::time::sleep(Duration::from_secs(options.seconds)).await;
    }
    stop.store(true, Ordering::Relaxed);
    for agent in working {
        agent.await?;
    }

    let writes = history.writes();
    let runs = writes.iter().filter(|w| w.tool == "start_run").count();
    println!("checking {} writes", writes.len());
    let violations = check(&writes, &clients).await;
    server.kill().await?;
    for line in violations.iter().take(20) {
        println!("VIOLATION {line}");
    }
    println!(
        "{}",
        json!({"runs": runs, "calls": writes.len(), "faults": options.kills, "violations": violations.len(),
               "longest_gap_ms": u64::try_from(history.longest_gap_ms()).unwrap_or(u64::MAX)})
    );
    Ok(violations.len())
}
