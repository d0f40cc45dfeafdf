//! Reads of a group, with what is due applied first: every view judges by the clock, not by a sweeper (LEASE-EDGE,
//! TIMER-LATE).

use std::sync::Arc;
use std::time::Duration;

use agentprocess::time::Timestamp;
use quorate_proto::shard::ShardCommand;
use quorate_proto::{Command, GroupId, Refusal, RunId};
use quorate_statemachine::shard::Definitions;
use quorate_statemachine::shard::read;
use quorate_statemachine::store::{Fatal, Read};
use tokio::sync::SemaphorePermit;

use super::Api;
use super::envelope::{failed, retry};
use crate::groups::Groups;

/// How often a read ticks before it answers with what is there. A tick of a run fires all that is due; a tick of a
/// shard fires a bounded number, and a storm of due timers must not hold up a list for ever.
const TICKS_MAX: usize = 8;
/// How many reads that take long or much memory a node does at once.
pub(super) const TURNS: usize = 2;
/// How long a call waits for its turn.
const TURN_WAIT: Duration = Duration::from_secs(10);

impl<G: Groups> Api<G> {
    /// Runs `f` on a consistent state of `group`.
    pub(crate) async fn read<T, F>(&self, group: GroupId, f: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, &Definitions, Timestamp) -> Result<T, Fatal> + Send + 'static,
    {
        let definitions = Arc::clone(&self.definitions);
        let read = self.groups.read(group, move |state, at| f(state, &definitions, at)).await?;
        read.map_err(|e| failed(&e))
    }

    /// Runs `f` on a state that holds what `write` was just answered, and tells the time of that state.
    pub(crate) async fn read_answered<T, F>(&self, group: GroupId, f: F) -> Result<(T, Timestamp), Refusal>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, &Definitions) -> Result<T, Fatal> + Send + 'static,
    {
        let definitions = Arc::clone(&self.definitions);
        let read = self.groups.read_answered(group, move |state, at| Ok((f(state, &definitions)?, at)));
        read.await?.map_err(|e: Fatal| failed(&e))
    }

    /// A turn to read what takes long or much memory. Hold it until what was read is done with.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        if let Ok(turn) = self.turns.try_acquire() {
            return Ok(turn);
        }
        match tokio::time::timeout(TURN_WAIT, self.turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(retry("others read as much as it can hold")),
        }
    }

    /// Runs `f`, which takes long, on a consistent state of `group`, where no other call waits for it. Ask for a
    /// [`Self::turn`] first.
    pub(crate) async fn read_long<T, F>(&self, group: GroupId, f: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, &Definitions, Timestamp) -> Result<T, Fatal> + Send + 'static,
    {
        let definitions = Arc::clone(&self.definitions);
        self.groups.read_long(group, move |state, at| f(state, &definitions, at)).await?.map_err(|e| failed(&e))
    }

    /// The same as `read`, once nothing is due in the run, or in the shard when none is named.
    pub(crate) async fn read_settled<T, F>(&self, group: GroupId, run: Option<RunId>, f: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, &Definitions, Timestamp) -> Result<T, Fatal> + Clone + Send + 'static,
    {
        for _ in 0..TICKS_MAX {
            let f = f.clone();
            let seen = self.read(group, move |state, definitions, at| {
                Ok(if read::due(state, run, at)? { None } else { Some(f(state, definitions, at)?) })
            });
            match seen.await? {
                Some(seen) => return Ok(seen),
                None => self.groups.propose(group, Command::Shard(ShardCommand::Tick { run })).await??,
            };
        }
        self.read(group, f).await
    }

    /// The same as `read_long`, once nothing is due in the shard.
    pub(crate) async fn read_settled_long<T, F>(&self, group: GroupId, f: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, &Definitions, Timestamp) -> Result<T, Fatal> + Send + 'static,
    {
        self.read_settled(group, None, |_, _, _| Ok(())).await?;
        self.read_long(group, f).await
    }
}
