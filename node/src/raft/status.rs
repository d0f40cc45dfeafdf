//! What the nodes tell operators about themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use agentprocess::time::Timestamp;
use quorate_proto::GroupId;
use serde::{Deserialize, Serialize};

use super::groups::{GroupStats, RaftGroups};
use super::message::{Request, Response};
use super::peer::ask;

/// How long a node may take to tell.
const ASK_LIMIT: Duration = Duration::from_secs(1);

/// What a node tells about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStats {
    /// Its clock.
    pub clock: Timestamp,
    /// Why it is not ready, when it is not.
    pub not_ready: Option<String>,
    /// Its replicas.
    pub groups: Vec<GroupStats>,
    /// Space left on its disk, in bytes, where that is known.
    pub disk_free_bytes: Option<u64>,
    /// How long a flush takes on it lately, in microseconds.
    pub flush_us: u64,
}

impl RaftGroups {
    /// What this node tells about itself.
    pub fn status(&self) -> NodeStats {
        NodeStats {
            clock: self.clock.now(),
            not_ready: self.ready().err(),
            groups: self.stats(),
            disk_free_bytes: self.disk_free_bytes(),
            flush_us: u64::try_from(self.store().flush.as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// What each member of this node's groups and each of `nodes` tells about itself, by number; or why it does not.
    pub async fn statuses(&self, nodes: impl IntoIterator<Item = u64>) -> Vec<(u64, Result<NodeStats, String>)> {
        let members = self.stats().into_iter().flat_map(|group| [group.voters, group.learners].concat());
        let nodes: BTreeSet<_> = members.chain(nodes).chain([self.node]).collect();
        let told = nodes.into_iter().map(async |node| {
            let told = if node == self.node { Ok(self.status()) } else { self.status_of(node).await };
            (node, told)
        });
        futures_util::future::join_all(told).await
    }

    async fn status_of(&self, node: u64) -> Result<NodeStats, String> {
        let asked = ask(self.transport.as_ref(), node, GroupId::Catalog, &Request::Status);
        match tokio::time::timeout(ASK_LIMIT, asked).await {
            Ok(Ok(Response::Status(status))) => Ok(status),
            Ok(Ok(_)) => Err("it tells nothing of itself".to_owned()),
            Ok(Err(unreached)) => Err(unreached.why),
            Err(_) => Err(format!("no answer within {ASK_LIMIT:?}")),
        }
    }
}
