//! How long writes stand still when the busiest leader is lost, beside an etcd on the same machine.

use std::path::Path;

use quorate_load::Error;
use quorate_load::agent::{PROCESS, PROCESS_TEXT};
use quorate_load::client::{Client, http};
use quorate_load::cluster::Cluster;
use quorate_load::etcd::{self, Etcd};
use quorate_load::failover::{Measured, Round, Starts, figures, measure};
use quorate_load::ground::Ground;
use serde_json::{Value, json};

use super::{Options, process_file};

/// A cluster for it has three nodes, when no other number is asked for.
const NODES: usize = 3;
/// What is expected: the longest gap at the median and at worst, in milliseconds.
const TARGETS_MS: (u64, u64) = (1500, 3000);

pub(super) async fn run(options: &Options, kills: usize, data: &Path) -> Result<usize, Error> {
    let nodes = options.nodes.iter().copied().find(|nodes| *nodes > 1).unwrap_or(NODES);
    let mut cluster = Cluster::new(&options.binary, data, nodes, Ground::default())?;
    cluster.start().await?;
    cluster.publish(&process_file(data, PROCESS_TEXT)?, &[PROCESS])?;
    let (http, urls) = (http(options.agents)?, cluster.mcp());
    let client = |n| {
        let token = cluster.tools.agent_token(&format!("load-{n}"))?;
        Ok::<_, Error>(Client::new(http.clone(), urls.clone(), 0, token))
    };
    let starts = Starts((0..options.agents).map(client).collect::<Result<_, _>>()?);
    let measured = measure(&mut cluster, &starts, options.agents, kills, true).await?;
    drop(cluster);
    show("quorate", &measured);
    let (lost, rolling) = (figures(&measured.kills), figures(&measured.stops));
    let met = lost["median_ms"].as_u64() <= Some(TARGETS_MS.0) && lost["worst_ms"].as_u64() <= Some(TARGETS_MS.1);

    let beside = match beside(options, nodes, kills, data).await {
        Ok(etcd) => etcd,
        Err(why) => {
            println!("etcd: skipped: {why}");
            json!({"skipped": why.to_string()})
        }
    };
    let ratio = |key: &str| lost[key].as_f64().zip(beside["kills"][key].as_f64()).map(|(own, other)| own / other);
    let ratios = json!({"median": ratio("median_ms"), "worst": ratio("worst_ms")});
    let errors: usize = measured.kills.iter().chain(&measured.stops).map(|round| round.errors.len()).sum();
    println!(
        "{}",
        json!({"faults": kills + nodes, "violations": errors, "clients": options.agents, "writes_per_s": measured.calm.0,
               "calm_gap_ms": measured.calm.1, "kills": lost, "rolling": rolling, "targets_met": met, "etcd": beside,
               "ratio_to_etcd": ratios})
    );
    Ok(errors)
}

async fn beside(options: &Options, nodes: usize, kills: usize, data: &Path) -> Result<Value, Error> {
    let version = etcd::version()?;
    let mut etcd = Etcd::start(data, nodes, options.agents).await?;
    let puts = etcd.writer();
    let measured = measure(&mut etcd, &puts, options.agents, kills, false).await?;
    show("etcd", &measured);
    let (writes, gap) = measured.calm;
    Ok(json!({"version": version, "writes_per_s": writes, "calm_gap_ms": gap, "kills": figures(&measured.kills)}))
}

fn show(name: &str, measured: &Measured) {
    println!("{name}: calm: {} writes a second, longest gap {} ms", measured.calm.0, measured.calm.1);
    let rounds = measured.kills.iter().map(|round| ("killed", round));
    for (what, Round { node, gap_ms, return_gap_ms, call_ms, errors }) in
        rounds.chain(measured.stops.iter().map(|round| ("stopped", round)))
    {
        let (count, first) = (errors.len(), errors.first().map_or("", String::as_str));
        println!(
            "{name}: node {node} {what}: gap {gap_ms} ms, on its return {return_gap_ms} ms, longest call {call_ms} ms, {count} errors {first}"
        );
    }
}
