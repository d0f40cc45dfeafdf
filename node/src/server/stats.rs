//! Figures of the groups, gathered at each scrape.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use quorate_proto::GroupId;

use crate::raft::{GroupStats, RaftGroups};

/// A figure: its name, what it is, and where it stands in a group's figures.
type Figure = (&'static str, &'static str, fn(&GroupStats) -> u64);

const FIGURES: [Figure; 4] = [
    ("group_leads", "Whether this node leads the group", |stats| u64::from(stats.leads)),
    ("group_term", "Term of the group", |stats| stats.term),
    ("group_log_last", "Index of the last entry of the group's log", |stats| stats.last),
    ("group_log_applied", "Index of the last applied entry of the group's log", |stats| stats.applied),
];

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
                let group = match stats.group {
                    GroupId::Catalog => "catalog".to_owned(),
                    GroupId::Shard(number) => number.to_string(),
                };
                let gauge = ConstGauge::new(i64::try_from(figure(stats)).unwrap_or(i64::MAX));
                gauge.encode(family.encode_family(&[("group", group.as_str())])?)?;
            }
        }
        Ok(())
    }
}
