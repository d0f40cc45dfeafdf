//! Runs move without calls: the leader of each shard fires what comes due (TIMER-LATE).
//!
//! A timer is a row of the state, and firing it is an entry (`Tick`) like any other. So nothing here must be remembered: a
//! new leader starts from the rows.

use std::sync::Arc;
use std::time::Duration;

use agentprocess::time::Timestamp;
use quorate_proto::shard::ShardCommand;
use quorate_proto::{Command, GroupId};
use quorate_statemachine::shard::read::due;
use tokio::task::JoinHandle;

use crate::clock::Clock;
use crate::groups::{Groups, Unavailable};
use crate::raft::RaftGroups;

/// The longest sleep: the system's clock may be set forward meanwhile.
const SLEEP_MAX: Duration = Duration::from_secs(10);
/// How long to wait after a tick that did not help.
const RETRY: Duration = Duration::from_secs(1);

const TICK: Command = Command::Shard(ShardCommand::Tick { run: None });

/// The timers of all shards this node leads.
#[derive(Debug)]
pub struct Timers {
    tasks: Vec<JoinHandle<()>>,
}

impl Timers {
    /// Starts one task for each shard.
    pub fn start(groups: &Arc<RaftGroups>, clock: &Arc<Clock>) -> Self {
        let task = |shard| tokio::spawn(watch(Arc::clone(groups), Arc::clone(clock), GroupId::Shard(shard)));
        Self { tasks: (0..groups.shards()).map(task).collect() }
    }

    /// Ends them. Call before the groups are shut down.
    pub fn stop(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Fires everything that is due in any shard at the clock's present time, and returns once nothing is.
pub async fn settle<G: Groups>(groups: &G) -> Result<(), Unavailable> {
    for shard in (0..groups.shards()).map(GroupId::Shard) {
        while groups.read(shard, |rows, at| due(rows, None, at)).await?.map_err(|e| Unavailable(e.0))? {
            drop(groups.propose(shard, TICK).await?);
        }
    }
    Ok(())
}

/// Sleeps until a shard's next timer, or until there is an earlier one, and fires while something is due.
async fn watch(groups: Arc<RaftGroups>, clock: Arc<Clock>, shard: GroupId) {
    loop {
        // Before looking, so that an advance while looking counts.
        let advanced = clock.changed();
        let first = first(&groups, shard);
        let now = clock.now();
        if first.is_some_and(|first| first <= now) {
            // One tick fires a bounded number; the next round looks whether more is due.
            let why = match groups.propose(shard, TICK).await {
                Ok(Ok(_)) => continue,
                Ok(Err(refusal)) => refusal.message,
                Err(unavailable) => unavailable.0,
            };
            tracing::warn!(?shard, reason = %why, "a due timer waits");
            tokio::time::sleep(RETRY).await;
            continue;
        }
        tokio::select! {
            biased;
            () = groups.changed(shard) => (),
            () = advanced => (),
            () = asleep(first.map(|first| until(first, now)), &clock) => (),
        }
    }
}

fn first(groups: &RaftGroups, shard: GroupId) -> Option<Timestamp> {
    groups.first_timer(shard).unwrap_or_else(|e| {
        tracing::warn!(?shard, reason = %e.0, "timers cannot be read");
        None
    })
}

fn until(first: Timestamp, now: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(first.0.saturating_sub(now.0)).unwrap_or(0)).min(SLEEP_MAX)
}

/// Sleeps; for ever when there is nothing to sleep for, or the clock stands.
async fn asleep(time: Option<Duration>, clock: &Clock) {
    match time {
        Some(time) if !clock.is_test() => tokio::time::sleep(time).await,
        Some(_) | None => std::future::pending().await,
    }
}
