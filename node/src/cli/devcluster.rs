//! The nodes of `quorate dev --nodes N`: a cluster in one process, over loopback.

use anyhow::Context;
use tokio::net::TcpListener;

use crate::cluster::found::Plan;
use crate::config::REPLICAS;
use crate::peers::Security;
use crate::server::Member;

/// What each node is told; one node has no peers. Their ports are any free ones: a node is not its address.
pub(super) async fn members(nodes: u16, shards: u16) -> anyhow::Result<Vec<Option<Member>>> {
    if nodes == 1 {
        return Ok(vec![None]);
    }
    let mut listeners = Vec::new();
    for _ in 0..nodes {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen for peers")?;
        listeners.push((listener.local_addr()?.to_string(), listener));
    }
    // Numbers are given in this order: node 1 is in node-1, as long as nobody mixes the folders.
    listeners.sort_by(|a, b| a.0.cmp(&b.0));
    let join: Vec<_> = listeners.iter().map(|(address, _)| address.clone()).collect();
    let member = |(address, listener)| {
        let plan = Plan {
            address,
            join: join.clone(),
            expect: nodes,
            shards,
            replicas: REPLICAS,
            zone: None,
            join_token: None,
        };
        Some(Member { listener, plan, security: Security::Plain })
    };
    Ok(listeners.into_iter().map(member).collect())
}
