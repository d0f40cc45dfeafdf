//! What is done to a cluster. One node at a time, so that a majority stays.

use std::time::{Duration, Instant};

use rand::RngExt;

use crate::Error;
use crate::cluster::Cluster;
use crate::process::Signal;

/// How far a clock is off at most, in seconds: tokens of clients are still good.
const SKEW_S_MAX: i32 = 20;
/// How long a node may take to come back by itself when its disk has space again.
const SPACE_LIMIT: Duration = Duration::from_secs(20);

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL of any node, and its start.
    Kill,
    /// SIGKILL of the node that leads most groups, and its start.
    KillLeader,
    /// SIGSTOP of any node for a while.
    Pause,
    /// SIGTERM and start of each node, one after another.
    Rolling,
    /// A node and its peers do not hear each other for a while; clients reach all.
    Cut,
    /// A node is not heard by its peers, or does not hear them, or one of them; clients reach all.
    OneWay,
    /// Nobody reaches a node for a while.
    Unplug,
    /// What a node sends is late, or lost.
    Slow,
    /// A node's disk is full for a while.
    FullDisk,
    /// A node is started with a clock that is off by seconds, and later with a good one.
    Skew,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Kill,
        Self::KillLeader,
        Self::Pause,
        Self::Rolling,
        Self::Cut,
        Self::OneWay,
        Self::Unplug,
        Self::Slow,
        Self::FullDisk,
        Self::Skew,
    ];
    /// Those that need a network of the harness's own.
    pub const OF_NETWORK: [Self; 4] = [Self::Cut, Self::OneWay, Self::Unplug, Self::Slow];
    /// Those that need disks of its own.
    pub const OF_DISKS: [Self; 1] = [Self::FullDisk];
    /// Those that need another clock.
    pub const OF_CLOCKS: [Self; 1] = [Self::Skew];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::KillLeader => "kill_leader",
            Self::Pause => "pause",
            Self::Rolling => "rolling",
            Self::Cut => "cut",
            Self::OneWay => "one_way",
            Self::Unplug => "unplug",
            Self::Slow => "slow",
            Self::FullDisk => "full_disk",
            Self::Skew => "skew",
        }
    }

    /// Does it, and ends it; says to which node. The cluster may take its time afterwards.
    pub async fn strike(self, cluster: &mut Cluster) -> Result<String, Error> {
        let node = if self == Self::KillLeader { cluster.busiest().await? } else { one_of(cluster.size()) };
        match self {
            Self::Kill | Self::KillLeader => {
                cluster.process(node).kill().await?;
                wait(0, 2000).await;
                cluster.process(node).start()?;
            }
            Self::Pause => {
                cluster.process(node).signal(Signal::STOP)?;
                wait(1000, 4000).await;
                cluster.process(node).signal(Signal::CONT)?;
            }
            Self::Rolling => {
                for node in 0..cluster.size() {
                    cluster.process(node).stop().await.map_err(|e| format!("node {node}: {e}"))?;
                    cluster.process(node).start()?;
                    cluster.ready().await?;
                }
                return Ok("all".to_owned());
            }
            Self::Cut | Self::OneWay | Self::Unplug | Self::Slow => return self.disturb(cluster, node).await,
            Self::FullDisk => return full_disk(cluster, node).await,
            Self::Skew => return skew(cluster, node).await,
        }
        Ok(format!("node {node}"))
    }

    async fn disturb(self, cluster: &Cluster, node: usize) -> Result<String, Error> {
        let network = cluster.ground.network.as_ref().ok_or("there is no network to disturb")?;
        let peers = || (0..cluster.size()).filter(move |peer| *peer != node);
        if self == Self::Unplug {
            network.unplug(node)?;
            wait(2000, 5000).await;
            network.plug(node)?;
            return Ok(format!("node {node}"));
        }
        if self == Self::Slow {
            let how = network.slow(node)?;
            wait(2000, 5000).await;
            network.fast(node)?;
            return Ok(format!("node {node}, {how}"));
        }
        let mut ways: Vec<_> = match (self, one_of(2)) {
            (Self::Cut, _) => peers().flat_map(|peer| [(node, peer), (peer, node)]).collect(),
            (_, 0) => peers().map(|peer| (node, peer)).collect(),
            (_, _) => peers().map(|peer| (peer, node)).collect(),
        };
        if self == Self::OneWay && one_of(3) == 0 {
            ways.truncate(1);
        }
        for (from, to) in &ways {
            network.cut(*from, *to)?;
        }
        wait(2000, 5000).await;
        for (from, to) in &ways {
            network.open(*from, *to)?;
        }
        Ok(format!("node {node}, ways {ways:?}"))
    }
}

async fn full_disk(cluster: &mut Cluster, node: usize) -> Result<String, Error> {
    let disks = || "there is no disk to fill";
    cluster.ground.disks.as_ref().ok_or_else(disks)?.fill(node)?;
    wait(1000, 3000).await;
    // The log that is open has space of its own for a while: a start needs more.
    if one_of(2) == 0 {
        cluster.process(node).kill().await?;
        cluster.process(node).start()?;
    }
    wait(1000, 3000).await;
    cluster.ground.disks.as_ref().ok_or_else(disks)?.free(node)?;
    // It may have ended meanwhile, as it may on a disk that fails: whatever runs nodes starts it again.
    match cluster.ready_by(node, Instant::now() + SPACE_LIMIT).await {
        Ok(()) => Ok(format!("node {node}")),
        Err(why) => {
            cluster.process(node).kill().await?;
            cluster.process(node).start()?;
            Ok(format!("node {node}, started again ({why})"))
        }
    }
}

async fn skew(cluster: &mut Cluster, node: usize) -> Result<String, Error> {
    let seconds = rand::rng().random_range(1..=SKEW_S_MAX) * if one_of(2) == 0 { 1 } else { -1 };
    let prefix = cluster.ground.clocks.as_ref().ok_or("there is no clock to set")?.prefix(seconds);
    cluster.process(node).kill().await?;
    cluster.process(node).start_by(&prefix)?;
    // It need not become ready: it may say that its clock is wrong.
    wait(4000, 8000).await;
    let process = cluster.process(node).id();
    cluster.process(node).kill().await?;
    if let (Some(process), Some(clocks)) = (process, &cluster.ground.clocks) {
        clocks.clear(process);
    }
    cluster.process(node).start()?;
    Ok(format!("node {node}, by {seconds} s"))
}

fn one_of(count: usize) -> usize {
    rand::rng().random_range(0..count)
}

async fn wait(least_ms: u64, most_ms: u64) {
    let ms = rand::rng().random_range(least_ms..=most_ms);
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
