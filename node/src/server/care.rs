//! What a node watches about itself and its peers, until it stops.

use std::future::{Future, pending};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::disk::DiskWatch;
use crate::clock::Clock;
use crate::config::Watch;
use crate::peers::{ClockWatch, Peers};
use crate::raft::RaftGroups;

/// How often to look whether replicas have left the node.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What there is to watch.
pub(super) struct Care {
    pub(super) groups: Arc<RaftGroups>,
    /// The links, when the node has peers.
    pub(super) peers: Option<Arc<Peers>>,
    pub(super) clock: Arc<Clock>,
    /// Where the node keeps its data.
    pub(super) folder: PathBuf,
    pub(super) watch: Watch,
}

impl Care {
    /// Watches until the node stops.
    pub(super) async fn run(self, stop: CancellationToken) {
        let checks = self.groups.keep_checked(Duration::from_secs(self.watch.digest_every_s));
        tokio::select! {
            () = stop.cancelled() => {}
            () = checks => {}
            () = self.clocks() => {}
            () = self.disk().run() => {}
            () = self.departed() => {}
        }
    }

    /// Its own turn: a leader that is asked may not answer for a while.
    async fn departed(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.groups.clear_departed().await;
        }
    }

    fn disk(&self) -> DiskWatch {
        DiskWatch { groups: Arc::clone(&self.groups), folder: self.folder.clone(), watch: self.watch.clone() }
    }

    fn clocks(&self) -> impl Future<Output = ()> + use<> {
        let watch = self.peers.as_ref().map(|peers| ClockWatch {
            peers: Arc::clone(peers),
            groups: Arc::clone(&self.groups),
            clock: Arc::clone(&self.clock),
            skew_ms_max: self.watch.clock_skew_ms_max,
        });
        async move {
            match watch {
                Some(watch) => watch.run().await,
                None => pending().await,
            }
        }
    }
}
