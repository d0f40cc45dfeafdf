//! A cluster, with one fault after the other.

use std::path::Path;
use std::time::{Duration, Instant};

use quorate_load::Error;
use quorate_load::agent::PROCESS;
use quorate_load::check::check;
use quorate_load::cluster::Cluster;
use quorate_load::faults::Fault;
use quorate_load::ground::Ground;
use quorate_load::person::{PROCESS_TEXT, ROLE};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::figures::Figures;
use super::load::{Load, PATIENCE};
use super::{Options, process_file};

pub(super) async fn run(options: &Options, nodes: usize, data: &Path) -> Result<Figures, Error> {
    let ground = Ground::new(data, nodes);
    for (fault, why) in &ground.left_out {
        println!("left out: {fault}: {why}");
    }
    let mut figures = Figures { left_out: ground.left_out.clone(), ..Figures::default() };
    let mut faults = ground.faults();
    faults.retain(|fault| options.only.is_empty() || options.only.iter().any(|name| name == fault.name()));
    if faults.is_empty() {
        return Err("none of these faults can be had here".into());
    }
    let mut cluster = Cluster::new(&options.binary, data, nodes, ground)?;
    cluster.start().await?;
    cluster.publish(&process_file(data, PROCESS_TEXT)?, &[&[PROCESS], &ROLE[..]].concat())?;
    let load = Load::start(options, &cluster.tools, &cluster.mcp())?;
    let well = harm(options, &faults, &mut cluster, &load, &mut figures).await;
    // Waiting for a cluster that does not become well would only put off the verdict.
    let patience = if well.is_ok() { PATIENCE } else { Duration::ZERO };
    let ended = load.end(patience, &mut figures).await?;
    if let Err(why) = well {
        figures.violations.push(why.to_string());
    }
    println!("checking {} writes", figures.calls);
    figures.violations.extend(check(&ended.history.writes(), &ended.clients, nodes).await);
    Ok(figures)
}

/// Faults until the time is over, each kind once before any comes again. A cluster that does not become well again ends it.
async fn harm(
    options: &Options,
    faults: &[Fault],
    cluster: &mut Cluster,
    load: &Load,
    figures: &mut Figures,
) -> Result<(), Error> {
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let mut round = Vec::new();
    while Instant::now() < until {
        let wait = rand::rng().random_range(500..=2000);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        if round.is_empty() {
            round.extend_from_slice(faults);
            round.shuffle(&mut rand::rng());
        }
        let Some(fault) = round.pop() else { return Ok(()) };
        let began = Instant::now();
        let not_well = |e| format!("the cluster is not well after {}: {e}", fault.name());
        let what = fault.strike(cluster).await.map_err(not_well)?;
        let struck = began.elapsed().as_millis();
        cluster.ready().await.map_err(not_well)?;
        let (gap, ready, writes) =
            (load.history.gap_since_ms(began), began.elapsed().as_millis(), load.history.count());
        figures.fault(fault.name(), gap);
        println!(
            "{} of {what} for {struck} ms: ready after {ready} ms, gap {gap} ms; {writes} writes so far",
            fault.name()
        );
    }
    Ok(())
}
