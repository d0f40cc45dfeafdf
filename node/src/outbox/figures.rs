//! What `/metrics` tells of notifications.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

/// Figures of the outboxes that this node leads. Copies share their values.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    rows: Family<Shard, Gauge>,
    oldest: Family<Shard, Gauge>,
    pub(super) sent: Counter,
    pub(super) failed: Counter,
    pub(super) dropped: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Shard {
    group: u16,
}

impl Figures {
    /// How many rows wait in a shard, and since how many seconds the oldest of them does.
    pub(super) fn waiting(&self, group: u16, rows: usize, oldest_s: i64) {
        self.rows.get_or_create(&Shard { group }).set(i64::try_from(rows).unwrap_or(i64::MAX));
        self.oldest.get_or_create(&Shard { group }).set(oldest_s);
    }

    /// Another node leads the shard now, and tells of it.
    pub(super) fn forget(&self, group: u16) {
        self.rows.remove(&Shard { group });
        self.oldest.remove(&Shard { group });
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let figures: [(&str, &str, &dyn Encode); 5] = [
            ("outbox_rows", "Notifications that wait, by shard led by this node", &self.rows),
            ("outbox_oldest_age_seconds", "Age of the oldest notification that waits", &self.oldest),
            ("notifications_sent", "Notifications that were taken", &self.sent),
            ("notifications_failed", "Tries of notifications that were not taken", &self.failed),
            ("notifications_dropped", "Notifications told to the log alone, since an outbox was full", &self.dropped),
        ];
        for (name, help, figure) in figures {
            figure.encode_as(&mut encoder, name, help)?;
        }
        Ok(())
    }
}

/// A metric of any type under a name.
trait Encode {
    fn encode_as(&self, encoder: &mut DescriptorEncoder, name: &str, help: &str) -> Result<(), std::fmt::Error>;
}

impl<M: EncodeMetric> Encode for M {
    fn encode_as(&self, encoder: &mut DescriptorEncoder, name: &str, help: &str) -> Result<(), std::fmt::Error> {
        self.encode(encoder.encode_descriptor(name, help, None, self.metric_type())?)
    }
}
