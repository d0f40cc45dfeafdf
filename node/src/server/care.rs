//! What a node watches about itself and its peers, until it stops.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::config::Watch;
use crate::raft::RaftGroups;

/// Watches until the node stops.
pub(super) async fn run(groups: Arc<RaftGroups>, watch: Watch, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = groups.keep_checked(Duration::from_secs(watch.digest_every_s)) => {}
    }
}
