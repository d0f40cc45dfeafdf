//! One seed: clients work while nodes are killed, one or all at once; then everything promised must be everywhere.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use madsim::rand::Rng as _;
use madsim::runtime::Runtime;
use quorate::groups::Groups;
use quorate::timers::settle;
use quorate_proto::GroupId;
use quorate_statemachine::digest;

use crate::client::Client;
use crate::cluster::{Cluster, NODES, SHARDS};
use crate::commands;
use crate::trace::Trace;

const CLIENTS: u16 = 6;
const CALLS: u32 = 60;
const FAULTS: u32 = 4;

/// What came of seeds.
#[derive(Debug, Default)]
pub(crate) struct Report {
    calls: u64,
    unknown: u64,
    faults: u64,
    pub(crate) violations: Vec<String>,
}

impl Report {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.unknown += other.unknown;
        self.faults += other.faults;
        self.violations.extend(other.violations);
    }

    /// One line for tools.
    pub(crate) fn json(&self, seeds: u64) -> String {
        let Self { calls, unknown, faults, violations } = self;
        let violations = violations.len();
        format!(
            r#"{{"seeds":{seeds},"calls":{calls},"unknown":{unknown},"faults":{faults},"violations":{violations}}}"#
        )
    }
}

/// Runs one seed. Returns what came of it, and its trace.
pub(crate) fn run(seed: u64, late_flush: bool) -> (Report, String) {
    let trace = Trace::default();
    let mut runtime = Runtime::with_seed_and_config(seed, madsim::Config::default());
    runtime.set_time_limit(Duration::from_hours(1));
    let mut report = Report::default();
    // A panic is a violation of this seed, and the next seeds go on.
    let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work(&mut report, &trace, late_flush))));
    if let Err(why) = ended.unwrap_or_else(|_| Err("something panicked".to_owned())) {
        report.violations.push(why);
    }
    (report, trace.text())
}

async fn work(report: &mut Report, trace: &Trace, late_flush: bool) -> Result<(), String> {
    let cluster = Arc::new(Cluster::start(trace, late_flush));
    cluster.ready().await?;
    for shard in 0..SHARDS {
        let groups = cluster.node(1).ok_or("node 1 is gone")?;
        let installed = groups.propose(GroupId::Shard(shard), commands::install()?).await;
        trace.line(format_args!("installed {installed:?}"));
        installed.map_err(|e| e.0)?.map_err(|e| e.message)?;
    }
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let client = Client::new(number, number % SHARDS);
            madsim::task::spawn(client.work(Arc::clone(&cluster), trace.clone(), CALLS))
        })
        .collect();
    for _ in 0..FAULTS {
        fail(&cluster).await?;
        report.faults += 1;
    }
    let mut done = Vec::new();
    for client in clients {
        done.push(client.await.map_err(|e| e.to_string())?);
    }
    cluster.ready().await?;
    finish(&cluster, trace, &mut done).await?;
    for client in done {
        report.calls += client.calls;
        report.unknown += client.unknown;
        report.violations.extend(client.violations);
    }
    trace.line(format_args!("end {:016x}", madsim::rand::random::<u64>()));
    Ok(())
}

/// One node is killed, or all are, and they come back.
async fn fail(cluster: &Cluster) -> Result<(), String> {
    let pause = madsim::rand::thread_rng().gen_range(200..2000);
    tokio::time::sleep(Duration::from_millis(pause)).await;
    let chosen = madsim::rand::thread_rng().gen_range(0..=NODES);
    // 0 stands for all: the power is cut.
    let nodes: BTreeSet<u64> = (1..=NODES).filter(|node| chosen == 0 || *node == chosen).collect();
    for node in &nodes {
        cluster.kill(*node);
    }
    let pause = madsim::rand::thread_rng().gen_range(100..3000);
    tokio::time::sleep(Duration::from_millis(pause)).await;
    for node in &nodes {
        cluster.restart(*node);
    }
    cluster.ready().await
}

/// Every client checks on every node; then all replicas hold the same.
async fn finish(cluster: &Cluster, trace: &Trace, clients: &mut [Client]) -> Result<(), String> {
    // Long enough for every wait to end, so that no timer moves a state between two looks at it.
    tokio::time::sleep(Duration::from_mins(2)).await;
    let mut digests = vec![BTreeSet::new(); usize::from(SHARDS) + 1];
    for node in 1..=NODES {
        let groups = cluster.node(node).ok_or("a node is gone")?;
        settle(groups.as_ref()).await.map_err(|e| e.0)?;
        for client in clients.iter_mut() {
            client.check(groups.as_ref(), node, trace).await;
        }
        let all = std::iter::once(GroupId::Catalog).chain((0..SHARDS).map(GroupId::Shard));
        for (group, digests) in all.zip(&mut digests) {
            let digest = groups.read(group, |rows, _| digest(rows)).await.map_err(|e| e.0)?.map_err(|e| e.0)?;
            trace.line(format_args!("{group:?} on {node}: {digest:02x?}"));
            digests.insert(digest);
        }
    }
    if digests.iter().all(|digests| digests.len() == 1) {
        Ok(())
    } else {
        Err("replicas hold different states".to_owned())
    }
}
