//! Notifications leave here: rows that a commit wrote, sent after it, and removed by an entry once they were taken.
//!
//! A crash between sending and removing sends again: at least once, under the same id. Test runs have no rows (§3.3).
//! A row that the receiver refuses waits by itself and holds up no other; order is not promised. Of more than
//! [`ROWS_MAX`] rows the oldest are told to the log instead, whole, so that none is lost in silence.

mod figures;
mod message;
mod queue;
#[cfg(test)]
mod tests;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use agentprocess::time::Timestamp;
use quorate_proto::shard::{Notification, ShardCommand};
use quorate_proto::{Command, GroupId};
use quorate_statemachine::shard::read;
use quorate_statemachine::store::{Fatal, Read};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use figures::Figures;
pub use webhook::{Webhook, WebhookError};

use crate::groups::Groups;
use queue::{Pauses, Queue, longer};

/// How many rows are sent before they are acknowledged together.
const BATCH_ROWS_MAX: usize = 50;
/// How many rows are read or dropped at once.
const READ_ROWS_MAX: usize = 1000;
/// How many rows wait in a shard. What is dropped beyond it are hints: the run itself shows that a step is overdue.
const ROWS_MAX: usize = 10_000;
/// How long an outbox is left alone in which nothing is to be done.
const PAUSE: Duration = Duration::from_millis(500);
/// After failures: of a row, and of a receiver that takes nothing at all.
const PAUSES: Pauses = (Duration::from_secs(1), Duration::from_mins(5));

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
    figures: Figures,
    leads: impl Fn(GroupId) -> bool + Send + Sync + Clone + 'static,
    stop: CancellationToken,
) {
    let mut shards = tokio::task::JoinSet::new();
    for shard in 0..groups.shards() {
        let (groups, destination, figures) = (Arc::clone(&groups), destination.clone(), figures.clone());
        let (leads, stop) = (leads.clone(), stop.clone());
        // Each shard on its own: one that cannot be read must not hold up the others.
        shards.spawn(async move {
            let mut outbox = Outbox::new(&*groups, shard, &destination, &figures, PAUSES);
            stop.run_until_cancelled(outbox.run(leads)).await;
        });
    }
    while shards.join_next().await.is_some() {}
}

/// The outbox of one shard.
struct Outbox<'a, G> {
    groups: &'a G,
    shard: u16,
    destination: &'a Destination,
    figures: &'a Figures,
    pauses: Pauses,
    queue: Queue,
    /// Nothing is sent before: the receiver took nothing, or the group was not to be had.
    rests_until: Instant,
    rest: Duration,
}

impl<'a, G: Groups> Outbox<'a, G> {
    fn new(groups: &'a G, shard: u16, destination: &'a Destination, figures: &'a Figures, pauses: Pauses) -> Self {
        let (queue, rests_until) = (Queue::new(pauses), Instant::now());
        Self { groups, shard, destination, figures, pauses, queue, rests_until, rest: Duration::ZERO }
    }

    async fn run(&mut self, leads: impl Fn(GroupId) -> bool) {
        loop {
            if leads(GroupId::Shard(self.shard)) {
                let more = self.turn().await.unwrap_or_else(|what| {
                    self.rest();
                    tracing::warn!(self.shard, what, again_in_s = self.rest.as_secs_f64(), "the outbox waits");
                    false
                });
                if more {
                    continue;
                }
            } else {
                self.queue = Queue::new(self.pauses);
                self.figures.forget(self.shard);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Learns of new rows, keeps within the bound, and sends one batch; returns whether there is more to do at once.
    async fn turn(&mut self) -> Result<bool, String> {
        let more = self.look().await?;
        self.keep_within(ROWS_MAX).await?;
        if Instant::now() < self.rests_until {
            return Ok(more);
        }
        Ok(self.send().await? || more)
    }

    async fn look(&mut self) -> Result<bool, String> {
        let from = self.queue.next();
        let (rows, at) = self.read(move |state, at| Ok((read::outbox(state, from, READ_ROWS_MAX)?, at))).await?;
        for (sequence, notification) in &rows {
            self.queue.learn(*sequence, notification.at, Instant::now());
        }
        let oldest = self.queue.oldest().map_or(0, |oldest| (at.0 - oldest.0).max(0) / 1000);
        self.figures.waiting(self.shard, self.queue.len(), oldest);
        Ok(rows.len() == READ_ROWS_MAX)
    }

    async fn keep_within(&mut self, max: usize) -> Result<(), String> {
        let mut beyond = self.queue.beyond(max);
        beyond.truncate(READ_ROWS_MAX);
        if beyond.is_empty() {
            return Ok(());
        }
        for (sequence, found) in self.notifications(beyond.clone()).await? {
            let Some(Notification { kind, at, org, run, process, step, groups, people, details }) = found else {
                continue;
            };
            let id = message::id(self.shard, sequence);
            tracing::error!(
                id, kind, %at, org, %run, process, step, ?groups, ?people, %details,
                "the outbox is full: this notification is told here and not sent"
            );
            self.figures.dropped.inc();
        }
        self.remove(beyond).await
    }

    /// Sends what is due, one batch; returns whether there was any. What was taken is acknowledged even when others failed.
    async fn send(&mut self) -> Result<bool, String> {
        let due = self.queue.due(Instant::now(), BATCH_ROWS_MAX);
        if due.is_empty() {
            return Ok(false);
        }
        let (mut done, mut failed, mut last) = (Vec::new(), 0, None);
        for (sequence, found) in self.notifications(due).await? {
            let Some(notification) = found else {
                self.queue.gone(sequence);
                continue;
            };
            match deliver(self.destination, &message::id(self.shard, sequence), &notification).await {
                Ok(()) => {
                    self.figures.sent.inc();
                    self.rest = Duration::ZERO;
                    done.push(sequence);
                }
                Err(fault) => {
                    self.figures.failed.inc();
                    self.queue.failed(sequence, Instant::now());
                    failed += 1;
                    let of_receiver = fault.is_of_the_receiver();
                    last = Some(format!("{}: {fault}", message::id(self.shard, sequence)));
                    if of_receiver {
                        // The rest of the batch would only meet the same. This row, should it be the cause, is not the next.
                        self.rest();
                        break;
                    }
                }
            }
        }
        if let Some(last) = last {
            let (waiting, rests_s) = (self.queue.len() - done.len(), self.rest.as_secs_f64());
            tracing::warn!(self.shard, failed, last, waiting, rests_s, "notifications were not taken");
        }
        if !done.is_empty() {
            self.remove(done).await?;
        }
        Ok(Instant::now() >= self.rests_until)
    }

    fn rest(&mut self) {
        self.rest = longer(self.rest, self.pauses);
        self.rests_until = Instant::now() + self.rest;
    }

    async fn notifications(&self, sequences: Vec<u64>) -> Result<Vec<(u64, Option<Notification>)>, String> {
        self.read(move |state, _| {
            sequences.iter().map(|sequence| Ok((*sequence, read::notification(state, *sequence)?))).collect()
        })
        .await
    }

    async fn remove(&mut self, sequences: Vec<u64>) -> Result<(), String> {
        let command = Command::Shard(ShardCommand::OutboxSent { sequences: sequences.clone() });
        let outcome = self.groups.propose(GroupId::Shard(self.shard), command).await;
        outcome.map_err(|e| e.0)?.map_err(|refusal| refusal.message)?;
        for sequence in sequences {
            self.queue.gone(sequence);
        }
        Ok(())
    }

    async fn read<T: Send + 'static>(
        &self,
        job: impl Fn(&dyn Read, Timestamp) -> Result<T, Fatal> + Send + 'static,
    ) -> Result<T, String> {
        let read = self.groups.read(GroupId::Shard(self.shard), job).await;
        read.map_err(|e| e.0)?.map_err(|e| e.to_string())
    }
}

async fn deliver(destination: &Destination, id: &str, notification: &Notification) -> Result<(), WebhookError> {
    match destination {
        Destination::Log => {
            let Notification { kind, at, org, run, process, step, groups, people, details } = notification;
            tracing::info!(id, kind, %at, org, %run, process, step, ?groups, ?people, %details, "notification");
            Ok(())
        }
        Destination::Webhook(webhook) => webhook.post(id, message::body(id, notification)).await,
    }
}
