//! `quorate cluster recover`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use clap::Args;
use quorate_proto::catalog::{CatalogCommand, NodeCommand};
use quorate_proto::{Command, GroupId};
use quorate_statemachine::catalog::read::{drained, nodes};
use quorate_statemachine::store::Fatal;
use tokio::sync::watch;

use super::{config, serve};
use crate::clock::Clock;
use crate::cluster::found::{self, Ask as _, Place};
use crate::cluster::founding::Stage;
use crate::engine::rocks::Rocks;
use crate::engine::{Batch, Engine, flush};
use crate::groups::Groups as _;
use crate::peers::Door;
use crate::raft::{self, Holding, NoPeers, RaftGroups};

/// The last way out: a majority of the nodes is lost for good, and a node that is left founds a cluster of one with what it has.
///
/// Without --yes-lose-what-only-others-had it only explains. It works on a stopped node, and refuses while it can reach enough
/// others to make a majority. Acknowledged writes that only lost nodes had are lost; so may be the memory of a request id.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Recover {
    #[command(flatten)]
    file: config::File,
    /// Do it. No other node of the old cluster may ever be started again
    #[arg(long)]
    yes_lose_what_only_others_had: bool,
}

impl Recover {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let config = self.file.read()?;
        let cluster =
            config.cluster.as_ref().context("the settings name no cluster: a node alone has no majority to lose")?;
        let folder = config.data_dir.join(crate::server::STORE);
        ensure!(folder.is_dir(), "{} holds no store", config.data_dir.display());
        let engine: Arc<dyn Engine> = Arc::new(Rocks::open(&folder).context("stop the node first")?);
        let place = found::kept(engine.as_ref())?.context("the data folder holds no member of a cluster")?;
        let (_, all) = raft::holdings(&engine).await?;

        let mut known: BTreeSet<_> = cluster.join.iter().cloned().collect();
        known.extend(place.nodes.values().map(|node| node.address.clone()));
        known.extend(raft::known_nodes(engine.as_ref())?.into_iter().map(|(_, row)| row.node.address));
        let door = Door::new(&serve::security(cluster), watch::channel(None).1)?;
        let mut reached = BTreeMap::new();
        for address in known.iter().filter(|address| **address != cluster.address()) {
            if let Some(other) = door.candidate(address).await
                && let Stage::Member { cluster, node } = other.stage
                && cluster == place.cluster
                && node != place.node
            {
                reached.insert(node, address.clone());
            }
        }
        explain(&place, &all, &reached);
        for holding in &all {
            let there =
                holding.voters.iter().filter(|voter| **voter == place.node || reached.contains_key(voter)).count();
            if there > holding.voters.len() / 2 {
                bail!(
                    "refused: with this node a majority of {:?} is within reach; start this one, nothing is lost",
                    holding.voters
                );
            }
        }
        if !self.yes_lose_what_only_others_had {
            println!(
                "\nNothing was changed. Look at each node that is left, take the one with the highest term and entry, copy its \
                 data folder, and run this there with --yes-lose-what-only-others-had."
            );
            return Ok(());
        }
        take_over(engine, &place, &all).await?;
        println!(
            "\nNode {} is a cluster of its own now. Start it. Never start another node of the old cluster with its old folder; let new \
             ones join (quorate cluster join-token).",
            place.node
        );
        Ok(())
    }
}

fn explain(place: &Place, all: &[Holding], reached: &BTreeMap<u64, String>) {
    println!("This is node {}. What it has of each group:\n\nGROUP    TERM  LAST ENTRY  VOTERS", place.node);
    for Holding { group, voters, last: (term, index) } in all {
        let group = match group {
            GroupId::Catalog => "catalog".to_owned(),
            GroupId::Shard(number) => number.to_string(),
        };
        let voters: Vec<_> = voters.iter().map(u64::to_string).collect();
        println!("{group:<8} {term:>4} {index:>11}  {}", voters.join(", "));
    }
    println!("\nWhat lost nodes acknowledged behind these entries would be lost.");
    for (node, address) in reached {
        println!("Node {node} answers at {address}.");
    }
}

async fn take_over(engine: Arc<dyn Engine>, place: &Place, all: &[Holding]) -> anyhow::Result<()> {
    let mut cluster = [0; 16];
    getrandom::fill(&mut cluster).context("no random bytes")?;
    // Both or neither: the others of the old cluster are no peers of the new one.
    let mut batch = Batch::default();
    raft::alone(&engine, place.node, all, &mut batch).await?;
    found::alone(engine.as_ref(), cluster, &mut batch)?;
    engine.write(batch)?;
    flush(engine.as_ref()).await?;

    let options = raft::Options::alone(place.shards, Arc::new(Clock::system()), engine);
    let groups = RaftGroups::start(raft::Options { node: place.node, transport: Arc::new(NoPeers), ..options }).await?;
    let rows = groups.read(GroupId::Catalog, |state, _| Ok((nodes(state)?, drained(state)?))).await;
    let (rows, drained): (Vec<_>, BTreeMap<_, _>) = rows.map_err(|e| anyhow::anyhow!(e.0))?.map_err(|e: Fatal| e)?;
    // It is to lead all: the last node that is not drained would not be removed.
    if drained.contains_key(&place.node) {
        change(&groups, NodeCommand::Resume { node: place.node }).await?;
        println!("Node {} is drained no more.", place.node);
    }
    for (node, _) in rows.into_iter().filter(|(node, row)| *node != place.node && !row.removed) {
        change(&groups, NodeCommand::Remove { node }).await?;
        println!("Node {node} is removed.");
    }
    groups.shutdown().await;
    Ok(())
}

async fn change(groups: &RaftGroups, command: NodeCommand) -> anyhow::Result<()> {
    let command = Command::Catalog(CatalogCommand::Node(command));
    let changed = groups.propose(GroupId::Catalog, command).await.map_err(|e| anyhow::anyhow!(e.0))?;
    changed.map(drop).map_err(|refusal| anyhow::anyhow!(refusal.message))
}
