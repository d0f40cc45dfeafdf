//! Figures of groups and links, gathered at each scrape.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use quorate_proto::GroupId;

use crate::peers::{PeerStats, Peers};
use crate::raft::{GroupStats, Matter, RaftGroups};

/// A figure: its name, what it is, and where it stands in a group's figures.
type Figure = (&'static str, &'static str, fn(&GroupStats) -> u64);

const FIGURES: [Figure; 7] = [
    ("group_leads", "Whether this node leads the group", |stats| u64::from(stats.leads)),
    ("group_term", "Term of the group", |stats| stats.term),
    ("group_log_last", "Index of the last entry of the group's log", |stats| stats.last),
    ("group_log_applied", "Index of the last applied entry of the group's log", |stats| stats.applied),
    ("group_stopped", "Whether this node's replica of the group does not run", |stats| {
        u64::from(stats.stopped.is_some())
    }),
    ("group_checked", "Index of the last entry as of which this replica was found equal to a majority", |stats| {
        stats.checked
    }),
    ("group_differs", "Whether replicas were found to differ, and this one may be wrong", |stats| {
        u64::from(stats.differs)
    }),
];

/// How a group is named towards operators.
pub(super) fn group_name(group: GroupId) -> String {
    match group {
        GroupId::Catalog => "catalog".to_owned(),
        GroupId::Shard(number) => number.to_string(),
    }
}

/// The groups of this node.
pub(super) struct Stats(pub(super) Arc<RaftGroups>);

impl std::fmt::Debug for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stats")
    }
}

impl Collector for Stats {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let all = self.0.stats();
        for (name, help, figure) in FIGURES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for stats in &all {
                let group = group_name(stats.group);
                let gauge = ConstGauge::new(i64::try_from(figure(stats)).unwrap_or(i64::MAX));
                gauge.encode(family.encode_family(&[("group", group.as_str())])?)?;
            }
        }
        let store = self.0.store();
        let help = "Flushes of the store";
        let family = encoder.encode_descriptor("store_flushes", help, None, MetricType::Counter)?;
        ConstCounter::new(store.flushes).encode(family)?;
        let (help, unit) = ("How long the flushes of the store took together", Unit::Seconds);
        let family = encoder.encode_descriptor("store_flushing", help, Some(&unit), MetricType::Counter)?;
        ConstCounter::new(store.flushing.as_secs_f64()).encode(family)?;
        let help = "How long a flush of the store takes lately";
        let family = encoder.encode_descriptor("store_flush", help, Some(&unit), MetricType::Gauge)?;
        ConstGauge::new(store.flush.as_secs_f64()).encode(family)?;
        if let Some(free) = self.0.disk_free_bytes() {
            let help = "Space left on the disk of the data folder";
            let family = encoder.encode_descriptor("disk_free", help, Some(&Unit::Bytes), MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(free).unwrap_or(i64::MAX)).encode(family)?;
        }
        let far = self.0.far();
        for (name, help, figure) in [
            ("far_reads", "Reads of shards that this node has no replica of", &far.reads),
            ("far_trips", "Round trips to other nodes that these reads took", &far.trips),
        ] {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(figure.load(Ordering::Relaxed)).encode(family)?;
        }
        let help = "Whether this node should not lead, by what is against it";
        let mut family = encoder.encode_descriptor("node_aside", help, None, MetricType::Gauge)?;
        let asides = self.0.asides();
        for matter in Matter::ALL {
            let aside = ConstGauge::new(i64::from(asides.contains(&matter)));
            aside.encode(family.encode_family(&[("matter", matter.name())])?)?;
        }
        Ok(())
    }
}

/// What a figure of links is called, what it is, and where it stands in a link's figures.
type LinkFigure = (&'static str, &'static str, fn(&PeerStats) -> u64);

const LINK_FIGURES: [LinkFigure; 4] = [
    ("peer_connected", "Whether this node is connected to the peer", |stats| u64::from(stats.disconnected.is_none())),
    ("peer_connects", "How often this node connected to the peer since it started", |stats| stats.connects),
    ("peer_sent_bytes", "Bytes of requests to the peer", |stats| stats.sent_bytes),
    ("peer_waiting_bytes", "Bytes of requests that wait to be sent to the peer", |stats| {
        u64::try_from(stats.waiting_bytes).unwrap_or(u64::MAX)
    }),
];

/// The links of this node to its peers.
pub(super) struct Links(pub(super) Arc<Peers>);

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Links")
    }
}

impl Collector for Links {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let all = self.0.stats().peers;
        for (name, help, figure) in LINK_FIGURES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for stats in &all {
                gauge(&mut family, stats.peer, i64::try_from(figure(stats)).unwrap_or(i64::MAX))?;
            }
        }
        let help = "How far the peer's clock is ahead of this node's, in milliseconds";
        let mut family = encoder.encode_descriptor("peer_clock_ahead_ms", help, None, MetricType::Gauge)?;
        for (peer, skew) in self.0.skews() {
            gauge(&mut family, peer, skew.ahead_ms)?;
        }
        if let Some(ahead) = self.0.clock_ahead_ms() {
            let help = "How far this node's clock is ahead of the majority's, in milliseconds";
            let family = encoder.encode_descriptor("clock_ahead_ms", help, None, MetricType::Gauge)?;
            ConstGauge::new(ahead).encode(family)?;
        }
        Ok(())
    }
}

fn gauge(family: &mut MetricEncoder<'_>, peer: u64, figure: i64) -> Result<(), std::fmt::Error> {
    ConstGauge::new(figure).encode(family.encode_family(&[("peer", peer.to_string().as_str())])?)
}
