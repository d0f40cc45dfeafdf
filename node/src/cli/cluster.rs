//! `quorate cluster`.

use std::fmt::Write as _;

use clap::{Args, Subcommand};

use super::client::Connection;
use super::words::tell;
use crate::admin::ClusterStatus;

/// Look at the cluster, as a human operator.
///
///   quorate cluster status
///   quorate cluster status --server URL --token-file FILE --json
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
    /// Nodes, leaders, how far replicas are behind, clocks; exit status 0 when every group has a leader
    Status,
}

impl Cluster {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let client = self.connection.open()?;
        match self.command {
            ClusterCommand::Status => {
                let status: ClusterStatus = client.get("/cluster").await?;
                tell(self.connection.json, &status, |status| println!("{}", table(status)))?;
                let leaderless = status.groups.iter().filter(|group| group.leader.is_none()).count();
                anyhow::ensure!(leaderless == 0, "{leaderless} groups have no leader");
                Ok(())
            }
        }
    }
}

fn table(status: &ClusterStatus) -> String {
    let mut text = "NODE   STATE         LEADS     CLOCK  ADDRESS\n".to_owned();
    for node in &status.nodes {
        let clock = node.clock_ahead_ms.map_or("-".to_owned(), |ms| format!("{ms:+} ms"));
        let address = node.address.as_deref().unwrap_or("(asked)");
        let reason = node.reason.as_ref().map_or(String::new(), |reason| format!("  {reason}"));
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{:<6} {:<12} {:>6} {clock:>9}  {address}{reason}", node.node, node.state, node.leads);
    }
    text.push_str("\nGROUP    LEADER   TERM       LAST  BEHIND (node: entries)");
    for group in &status.groups {
        let leader = group.leader.map_or("none".to_owned(), |leader| leader.to_string());
        let behind: Vec<_> = group.replicas.iter().map(|r| format!("{}: {}", r.node, r.behind)).collect();
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
