//! One server, killed at random moments.

use std::path::Path;
use std::time::{Duration, Instant};

use quorate_load::Error;
use quorate_load::agent::PROCESS;
use quorate_load::check::check;
use quorate_load::person::{PROCESS_TEXT, ROLE};
use quorate_load::server::Server;
use quorate_load::tools::Tools;
use rand::RngExt;

use super::figures::Figures;
use super::load::{Load, PATIENCE};
use super::{Options, process_file};

pub(super) async fn run(options: &Options, data: &Path) -> Result<Figures, Error> {
    let mut server = Server::new(&options.binary, data, &[])?;
    server.start().await?;
    server.publish(&process_file(data, PROCESS_TEXT)?, &[&[PROCESS], &ROLE[..]].concat())?;
    let tools = Tools { binary: options.binary.clone(), data: data.to_owned() };
    let load = Load::start(options, &tools, &[server.mcp()])?;

    let mut figures = Figures::default();
    for kill in 0..options.kills {
        let share = options.seconds * 1000 / options.kills.max(1) as u64;
        let wait = rand::rng().random_range(share / 2..=share);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let began = Instant::now();
        server.kill().await?;
        server.start().await?;
        figures.fault("kill_alone", load.history.gap_since_ms(began));
        println!("kill {} of {}: back; {} writes so far", kill + 1, options.kills, load.history.count());
    }
    if options.kills == 0 {
        tokio::time::sleep(Duration::from_secs(options.seconds)).await;
    }
    let clients = load.end(PATIENCE, &mut figures).await?;
    println!("checking {} writes", figures.calls);
    figures.violations.extend(check(&clients.history.writes(), &clients.clients, 1).await);
    server.kill().await?;
    Ok(figures)
}
