//! Notifications leave here: rows that a commit wrote, sent after it, and removed by an entry once they were taken.
//!
//! A crash between sending and removing sends again: at least once, under the same id. Test runs have no rows (§3.3).

mod message;
#[cfg(test)]
mod tests;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use quorate_proto::shard::{Notification, ShardCommand};
use quorate_proto::{Command, GroupId};
use quorate_statemachine::shard::read;
use tokio_util::sync::CancellationToken;

pub use webhook::{Webhook, WebhookError};

use crate::groups::Groups;

/// How many rows are sent before they are acknowledged together.
const BATCH: usize = 50;
/// How long an empty outbox is left alone.
const PAUSE: Duration = Duration::from_millis(500);
/// Pauses after failures: doubled each time, up to the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// Where notifications go.
#[derive(Clone, Debug)]
pub enum Destination {
    /// One log line each.
    Log,
    /// A signed POST each.
    Webhook(Webhook),
}

/// Sends the notifications of all shards that `leads` says are this node's, until `stop`.
pub async fn run<G: Groups>(
    groups: Arc<G>,
    destination: Destination,
    leads: impl Fn(GroupId) -> bool + Send + Sync + Clone + 'static,
    stop: CancellationToken,
) {
    let mut shards = tokio::task::JoinSet::new();
    for shard in 0..groups.shards() {
        let (groups, destination, leads, stop) =
            (Arc::clone(&groups), destination.clone(), leads.clone(), stop.clone());
        // Each shard on its own: one that cannot be read must not hold up the others.
        shards.spawn(async move {
            let work = run_shard(&*groups, shard, &destination, leads, Backoff::new(BACKOFF));
            stop.run_until_cancelled(work).await;
        });
    }
    while shards.join_next().await.is_some() {}
}

async fn run_shard<G: Groups>(
    groups: &G,
    shard: u16,
    destination: &Destination,
    leads: impl Fn(GroupId) -> bool,
    mut backoff: Backoff,
) {
    let group = GroupId::Shard(shard);
    loop {
        let pause = if leads(group) {
            match send_batch(groups, shard, destination).await {
                Ok(0) => PAUSE,
                Ok(_) => {
                    backoff.reset();
                    Duration::ZERO
                }
                Err(what) => {
                    let pause = backoff.next();
                    tracing::warn!(shard, %what, again_in_s = pause.as_secs_f64(), "notifications wait");
                    pause
                }
            }
        } else {
            PAUSE
        };
        tokio::time::sleep(pause).await;
    }
}

/// Sends at most one batch; returns how many rows it took away. What was taken is acknowledged even when others failed.
async fn send_batch<G: Groups>(groups: &G, shard: u16, destination: &Destination) -> Result<usize, String> {
    let group = GroupId::Shard(shard);
    let rows = groups.read(group, |state, _| read::outbox(state, 0, BATCH)).await;
    let rows = rows.map_err(|e| e.0)?.map_err(|e| e.to_string())?;
    let (mut sent, mut failed) = (Vec::new(), None);
    for (sequence, notification) in &rows {
        match deliver(destination, shard, *sequence, notification).await {
            Ok(()) => sent.push(*sequence),
            Err(what) => failed = Some(what),
        }
    }
    let taken = sent.len();
    if taken > 0 {
        let acknowledge = Command::Shard(ShardCommand::OutboxSent { sequences: sent });
        groups.propose(group, acknowledge).await.map_err(|e| e.0)?.map_err(|refusal| refusal.message)?;
    }
    failed.map_or(Ok(taken), Err)
}

async fn deliver(
    destination: &Destination,
    shard: u16,
    sequence: u64,
    notification: &Notification,
) -> Result<(), String> {
    let id = message::id(shard, sequence);
    match destination {
        Destination::Log => {
            let Notification { kind, at, org, run, process, step, groups, people, details } = notification;
            tracing::info!(id, kind, %at, org, %run, process, step, ?groups, ?people, %details, "notification");
            Ok(())
        }
        Destination::Webhook(webhook) => {
            webhook.post(&id, message::body(&id, notification)).await.map_err(|e| format!("{id}: {e}"))
        }
    }
}

/// Pauses that double.
struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    fn new((first, most): (Duration, Duration)) -> Self {
        Self { first, most, next: first }
    }

    fn reset(&mut self) {
        self.next = self.first;
    }

    fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        pause
    }
}
