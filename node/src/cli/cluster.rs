//! `quorate cluster`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use reqwest::Method;

use super::client::{Client, Connection};
use super::recover::Recover;
use super::words::tell;
use crate::admin::{ClusterPlan, ClusterStatus, Drained, JoinToken, JoinTokenRequest, Removed};

/// How often to look whether a node leads nothing.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Look at the cluster and change its nodes, as a human operator.
///
///   quorate cluster status
///   quorate cluster plan
///   quorate cluster status --server URL --token-file FILE --json
///   quorate cluster join-token --ttl 2h
///   quorate cluster drain 3
///   quorate cluster resume 3
///   quorate cluster remove 3
///   quorate cluster recover --config FILE
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Cluster {
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand)]
enum ClusterCommand {
    /// Nodes, leaders, how far replicas are behind, clocks; exit status 0 when every group has a leader and its replicas run
    Status,
    /// Where the replicas of the shards are wanted, what is done next, and why
    Plan,
    /// Make a token that lets new nodes in: put it into the file that their settings name as join token
    JoinToken {
        /// How long it is good for: digits and m, h or d; 30d at most
        #[arg(long, value_name = "SPAN", default_value = "1h")]
        ttl: String,
    },
    Recover(Recover),
    /// Let a node lead nothing, until it is resumed: before work on it; exit status 0 once it leads nothing
    Drain {
        /// Its number
        node: u64,
        /// How long to wait until it leads nothing, in seconds; 0 does not wait
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
    },
    /// Let a drained node lead again
    Resume {
        /// Its number
        node: u64,
    },
    /// Take a node out, for good: it leaves all groups, one after another, and its folder cannot come back
    Remove {
        /// Its number
        node: u64,
    },
}

impl Cluster {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let command = match self.command {
            ClusterCommand::Recover(recover) => return recover.run().await,
            other @ (ClusterCommand::Status
            | ClusterCommand::Plan
            | ClusterCommand::JoinToken { .. }
            | ClusterCommand::Drain { .. }
            | ClusterCommand::Resume { .. }
            | ClusterCommand::Remove { .. }) => other,
        };
        let client = self.connection.open()?;
        match command {
            ClusterCommand::Recover(_) => Ok(()),
            ClusterCommand::Status => {
                let status: ClusterStatus = client.get("/cluster").await?;
                tell(self.connection.json, &status, |status| println!("{}", table(status)))?;
                let leaderless = status.groups.iter().filter(|group| group.leader.is_none()).count();
                anyhow::ensure!(leaderless == 0, "{leaderless} groups have no leader");
                let replicas = status.groups.iter().flat_map(|group| &group.replicas);
                let wrong = replicas.filter(|replica| replica.differs || replica.stopped.is_some()).count();
                anyhow::ensure!(wrong == 0, "{wrong} replicas differ or do not run; see --json for why");
                Ok(())
            }
            ClusterCommand::Plan => {
                let plan: ClusterPlan = client.get("/cluster/plan").await?;
                tell(self.connection.json, &plan, |plan| println!("{}", words(plan)))
            }
            ClusterCommand::JoinToken { ttl } => {
                let request = serde_json::to_string(&JoinTokenRequest { ttl: Some(ttl) })?;
                let token: JoinToken = client.send(Method::POST, "/cluster/join-tokens", request).await?;
                tell(self.connection.json, &token, |token| println!("{}", token.token))
            }
            ClusterCommand::Drain { node, wait } => {
                let drained = drain(&client, node, Duration::from_secs(wait)).await?;
                tell(self.connection.json, &drained, |_| {
                    println!("Node {node} is drained. Let it lead again with quorate cluster resume {node}.");
                })
            }
            ClusterCommand::Resume { node } => {
                let resumed: Drained = client.send(Method::DELETE, &drain_path(node), String::new()).await?;
                tell(self.connection.json, &resumed, |_| println!("Node {node} may lead again."))
            }
            ClusterCommand::Remove { node } => {
                let path = format!("/cluster/nodes/{node}");
                let removed: Removed = client.send(Method::DELETE, &path, String::new()).await?;
                tell(self.connection.json, &removed, |removed| {
                    println!("Node {} leaves the groups; see quorate cluster status. Then stop it.", removed.node);
                })
            }
        }
    }
}

fn drain_path(node: u64) -> String {
    format!("/cluster/nodes/{node}/drain")
}

/// Drains a node, and waits until it leads nothing.
async fn drain(client: &Client, node: u64, wait: Duration) -> anyhow::Result<Drained> {
    let drained: Drained = client.send(Method::PUT, &drain_path(node), String::new()).await?;
    let begun = Instant::now();
    while !wait.is_zero() {
        let status: ClusterStatus = client.get("/cluster").await?;
        // One that does not answer leads nothing, and hears of it when it is back.
        let Some(told) = status.nodes.iter().find(|told| told.node == node) else { break };
        if told.state == "drained" || told.state == "unreachable" {
            break;
        }
        anyhow::ensure!(begun.elapsed() < wait, "node {node} is to lead nothing, but {}", yet(told.leads));
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(drained)
}

fn yet(leads: usize) -> String {
    match leads {
        0 => "has not heard of it yet".to_owned(),
        groups => format!("leads {groups} groups yet: nobody else takes them over now; see quorate cluster status"),
    }
}

fn words(plan: &ClusterPlan) -> String {
    let list = |nodes: &[u64]| nodes.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let next = &plan.next;
    let mut text = match (next.shard, next.add, next.drop) {
        (Some(shard), Some(add), Some(drop)) => format!("Next: shard {shard} moves from node {drop} to node {add}"),
        (Some(shard), Some(add), None) => format!("Next: shard {shard} gets a replica on node {add}"),
        (Some(shard), None, Some(drop)) => format!("Next: shard {shard} leaves node {drop}"),
        _ if next.kind == "wait" => "Waits".to_owned(),
        _ => "Nothing to do".to_owned(),
    };
    // Writing into a string cannot fail.
    let _ = write!(text, ": {}.\n\nNODE   ZONE             REPLICAS", next.why);
    for node in &plan.nodes {
        let zone = node.zone.as_deref().unwrap_or("-");
        let reached = if node.reached { "" } else { "  (does not answer)" };
        let drained = if node.drained { "  (drained)" } else { "" };
        let _ = write!(text, "\n{:<6} {zone:<16} {:>8}{reached}{drained}", node.node, node.replicas);
    }
    text.push_str("\n\nSHARD  WANTED ON        VOTES NOW ON");
    for shard in &plan.shards {
        let votes = shard.voters.as_deref().map_or("no leader".to_owned(), list);
        let _ = write!(text, "\n{:<6} {:<16} {votes}", shard.shard, list(&shard.wanted));
    }
    text
}

fn table(status: &ClusterStatus) -> String {
    let mut text = "NODE   STATE         LEADS     CLOCK  DISK FREE    FLUSH  ZONE         ADDRESS
"
    .to_owned();
    for node in &status.nodes {
        let clock = node.clock_ahead_ms.map_or("-".to_owned(), |ms| format!("{ms:+} ms"));
        let free = node.disk_free_bytes.map_or("-".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
        let flush = node.flush_us.map_or("-".to_owned(), |us| format!("{}.{} ms", us / 1000, us % 1000 / 100));
        let address = node.address.as_deref().unwrap_or("(asked)");
        let reason = node.reason.as_ref().map_or(String::new(), |reason| format!("  {reason}"));
        // Writing into a string cannot fail.
        let zone = node.zone.as_deref().unwrap_or("-");
        let _ = writeln!(
            text,
            "{:<6} {:<12} {:>6} {clock:>9} {free:>10} {flush:>8}  {zone:<12} {address}{reason}",
            node.node, node.state, node.leads
        );
    }
    text.push_str("\nGROUP    LEADER   TERM       LAST  BEHIND (node: entries; * without a vote)");
    for group in &status.groups {
        let leader = group.leader.map_or("none".to_owned(), |leader| leader.to_string());
        let behind: Vec<_> = group
            .replicas
            .iter()
            .map(|r| {
                let mark = if group.voters.contains(&r.node) { "" } else { "*" };
                let alarm = match (&r.stopped, r.differs) {
                    (Some(_), _) => " STOPPED",
                    (None, true) => " DIFFERS",
                    (None, false) => "",
                };
                format!("{}{mark}: {}{alarm}", r.node, r.behind)
            })
            .collect();
        let _ = write!(
            text,
            "\n{:<8} {leader:>6} {:>6} {:>10}  {}",
            group.group,
            group.term,
            group.last,
            behind.join(", ")
        );
    }
    text
}
