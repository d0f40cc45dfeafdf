//! A client: writes and reads on any node, and remembers what it was promised.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use madsim::rand::Rng as _;
use quorate::groups::Groups;
use quorate_proto::GroupId;
use quorate_statemachine::shard::read::{file_chunk, run_place};
use quorate_statemachine::store::{Fatal, Read};

use crate::cluster::{Cluster, NODES};
use crate::commands;
use crate::trace::Trace;

/// What a client did and saw.
#[derive(Debug, Default)]
pub(crate) struct Client {
    number: u16,
    shard: u16,
    /// Rows that were acknowledged: they must be seen from then on.
    rows: BTreeSet<u32>,
    /// Runs that were acknowledged.
    runs: BTreeSet<u32>,
    /// All numbers used: nothing else may be seen.
    used: u32,
    pub(crate) calls: u64,
    pub(crate) unknown: u64,
    pub(crate) violations: Vec<String>,
}

impl Client {
    pub(crate) fn new(number: u16, shard: u16) -> Self {
        Self { number, shard, ..Self::default() }
    }

    /// Makes `calls` calls with pauses, then returns what it holds promises for.
    pub(crate) async fn work(mut self, cluster: Arc<Cluster>, trace: Trace, calls: u32) -> Self {
        for _ in 0..calls {
            let pause = madsim::rand::thread_rng().gen_range(0..200);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let node = madsim::rand::thread_rng().gen_range(1..=NODES);
            let Some(groups) = cluster.node(node) else { continue };
            self.calls += 1;
            match madsim::rand::thread_rng().gen_range(0..10) {
                0..5 => self.write(groups.as_ref(), node, &trace, false).await,
                5..7 => self.write(groups.as_ref(), node, &trace, true).await,
                _ => self.check(groups.as_ref(), node, &trace).await,
            }
        }
        self
    }

    async fn write(&mut self, groups: &impl Groups, node: u64, trace: &Trace, run: bool) {
        let index = self.used;
        self.used += 1;
        let (client, shard) = (self.number, self.shard);
        let command = if run { commands::start(client, shard, index) } else { commands::row(client, shard, index) };
        let outcome = groups.propose(GroupId::Shard(shard), command).await;
        trace.line(format_args!("client {client} on {node}: {index} {run} {outcome:?}"));
        match outcome {
            Ok(Ok(_)) if run => drop(self.runs.insert(index)),
            Ok(Ok(_)) => drop(self.rows.insert(index)),
            Ok(Err(refusal)) => self.violations.push(format!("client {client}: refused: {}", refusal.message)),
            Err(_) => self.unknown += 1,
        }
    }

    /// Everything acknowledged before a read is in it (READ-FRESH), on whatever node it is made.
    pub(crate) async fn check(&mut self, groups: &impl Groups, node: u64, trace: &Trace) {
        let (client, shard, used) = (self.number, self.shard, self.used);
        let read = move |rows: &dyn Read, _| seen(rows, client, shard, used);
        match groups.read(GroupId::Shard(shard), read).await {
            Ok(Ok((rows, runs))) => {
                trace.line(format_args!("client {client} on {node}: sees {} {}", rows.len(), runs.len()));
                let lost = self.rows.difference(&rows).chain(self.runs.difference(&runs)).collect::<Vec<_>>();
                if !lost.is_empty() {
                    self.violations.push(format!("client {client} on node {node}: acknowledged and gone: {lost:?}"));
                }
                // Seen once, seen for ever: also what was never acknowledged.
                self.rows.extend(rows);
                self.runs.extend(runs);
            }
            Ok(Err(e)) => self.violations.push(format!("client {client}: node {node} cannot read: {e}")),
            Err(e) => {
                trace.line(format_args!("client {client} on {node}: {}", e.0));
                self.unknown += 1;
            }
        }
    }
}

fn seen(rows: &dyn Read, client: u16, shard: u16, used: u32) -> Result<(BTreeSet<u32>, BTreeSet<u32>), Fatal> {
    let (mut chunks, mut runs) = (BTreeSet::new(), BTreeSet::new());
    for index in 0..used {
        if file_chunk(rows, commands::file(client, shard), index)?.is_some() {
            chunks.insert(index);
        }
        if run_place(rows, commands::ORG, commands::run(client, shard, index))?.is_some() {
            runs.insert(index);
        }
    }
    Ok((chunks, runs))
}
