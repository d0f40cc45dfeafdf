//! Does harm to loaded servers and checks every promise they made.
//!
//! The last line is JSON: at least `runs`, `calls`, `faults`, `violations`, `longest_gap_ms`; or the figures of a failover.
//! Exit status 0 only without violations.

mod alone;
mod failover;
mod figures;
mod load;
mod nodes;

use std::path::{Path, PathBuf};

use clap::Parser;
use figures::Figures;
use quorate_load::Error;
use tokio::signal::unix::{SignalKind, signal};

/// Kills a server of its own at random moments, or the nodes of a cluster, and checks every promise it made. Exit status 0 only when all are kept.
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
    /// How often a server alone is killed meanwhile; a cluster has one fault after the other
    #[arg(long, default_value_t = 10)]
    kills: usize,
    /// How many nodes; for several numbers, one test after the other
    #[arg(long, value_delimiter = ',', default_value = "1")]
    nodes: Vec<usize>,
    /// How long an agent rests after a step, in milliseconds
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    /// Only these faults of a cluster, by their names in the last line
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Measure this many losses of the busiest leader instead, beside an etcd if there is one
    #[arg(long, value_name = "KILLS", conflicts_with_all = ["only", "seconds", "kills"])]
    failover: Option<usize>,
    /// Keep the server's data and log
    #[arg(long)]
    keep: bool,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let options = Options::parse();
    let data = std::env::temp_dir().join(format!("quorate-faults-{}", std::process::id()));
    std::fs::create_dir_all(&data)?;
    let outcome = tokio::select! {
        outcome = run(&options, &data) => outcome,
        // Ends here, so that what was started and made is ended and removed.
        () = asked_to_stop() => Err("asked to stop".into()),
    };
    if options.keep || !outcome.as_ref().is_ok_and(|violations| *violations == 0) {
        eprintln!("data kept in {}", data.display());
    } else {
        std::fs::remove_dir_all(&data)?;
    }
    match outcome? {
        0 => Ok(()),
        n => Err(format!("{n} violations").into()),
    }
}

async fn run(options: &Options, data: &Path) -> Result<usize, Error> {
    if let Some(kills) = options.failover {
        return failover::run(options, kills, data).await;
    }
    let mut figures = Figures::default();
    for nodes in &options.nodes {
        let data = data.join(format!("of-{nodes}"));
        std::fs::create_dir_all(&data)?;
        figures.add(match nodes {
            1 => alone::run(options, &data).await?,
            _ => nodes::run(options, *nodes, &data).await?,
        });
    }
    for line in figures.violations.iter().take(20) {
        println!("VIOLATION {line}");
    }
    println!("{}", figures.line());
    Ok(figures.violations.len())
}

async fn asked_to_stop() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => (),
        _ = int.recv() => (),
    }
}

/// A process as a file.
fn process_file(data: &Path, text: &str) -> Result<PathBuf, Error> {
    let file = data.join("load-test.md");
    std::fs::write(&file, text)?;
    Ok(file)
}
