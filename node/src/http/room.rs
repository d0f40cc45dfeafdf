//! How many bytes of callers a node holds and works on at once. A tree of JSON values takes up to fifty times the bytes of
//! its text, so calls with large arguments wait for each other; small ones never wait.

use std::sync::Arc;
use std::time::Duration;

use agentprocess::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Up to this size, in bytes, a body needs no room.
pub const SMALL_BYTES: usize = 64 << 10;
/// Most that larger bodies take together, in bytes.
const BODIES_BYTES_MAX: usize = 64 << 20;
/// Most that the larger arguments of calls at work weigh together, in bytes.
const CALLS_BYTES_MAX: usize = 8 << 20;
/// How long a call waits for room.
const WAIT: Duration = Duration::from_secs(10);
/// Bytes that one permit stands for.
const UNIT: usize = 1024;

/// The room of a node.
pub struct Room {
    bodies: Arc<Semaphore>,
    calls: Arc<Semaphore>,
}

/// Room that was taken, until it is dropped; `None` for what is small.
pub type Taken = Option<OwnedSemaphorePermit>;

impl Default for Room {
    fn default() -> Self {
        let semaphore = |bytes: usize| Arc::new(Semaphore::new(bytes / UNIT));
        Self { bodies: semaphore(BODIES_BYTES_MAX), calls: semaphore(CALLS_BYTES_MAX) }
    }
}

impl Room {
    /// Room for a body of so many bytes, or of up to so many. The time that a body may take bounds the wait.
    pub async fn body(&self, bytes: usize) -> Taken {
        take(&self.bodies, bytes.min(BODIES_BYTES_MAX)).await
    }

    /// Room to work on a call with these arguments, or none within the time that it waits.
    pub async fn call(&self, arguments: &[u8]) -> Result<Taken, Busy> {
        if arguments.len() <= SMALL_BYTES {
            return Ok(None);
        }
        let size = json::size(arguments);
        // A string takes what its text takes, and is copied a few times; all else becomes values.
        let weight = size.structure.saturating_add(size.compact / 4).min(CALLS_BYTES_MAX);
        tokio::time::timeout(WAIT, take(&self.calls, weight)).await.map_err(|_| Busy)
    }
}

/// There was no room in time.
#[derive(Debug)]
pub struct Busy;

async fn take(semaphore: &Arc<Semaphore>, bytes: usize) -> Taken {
    let permits = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
    // It is never closed.
    Arc::clone(semaphore).acquire_many_owned(permits).await.ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[tokio::test]
    async fn large_arguments_wait_for_each_other_and_small_ones_do_not() {
        let room = Room::default();
        let numbers = format!("[{}1]", "1,".repeat(1 << 20));
        let first = room.call(numbers.as_bytes()).await.unwrap();
        assert!(first.is_some() && room.call(b"{}").await.unwrap().is_none());
        let mut more = Vec::new();
        let soon = Duration::from_millis(50);
        while let Ok(taken) = tokio::time::timeout(soon, room.call(numbers.as_bytes())).await {
            more.push(taken.unwrap());
            assert!(more.len() < 8, "the room has an end");
        }
        assert!(!more.is_empty(), "a second one fits");
        assert!(room.call(b"{}").await.unwrap().is_none());
        drop(first);
        assert!(room.call(numbers.as_bytes()).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn one_call_always_fits() {
        let room = Room::default();
        let numbers = "1,".repeat(CALLS_BYTES_MAX);
        assert!(room.call(numbers.as_bytes()).await.unwrap().is_some());
        assert!(room.body(usize::MAX).await.is_some());
    }
}
