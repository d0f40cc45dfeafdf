//! The disk under a node: the space that is left on it, how fast it flushes, whether the store on it failed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::config::Watch;
use crate::raft::{Matter, RaftGroups};

/// How often to look.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many looks in a row must find flushes slow before the node steps aside, and fast before it leads again.
const SLOW_LOOKS: u32 = 5;
const FAST_LOOKS: u32 = 30;

/// Watches the disk.
pub(super) struct DiskWatch {
    pub(super) groups: Arc<RaftGroups>,
    pub(super) folder: PathBuf,
    pub(super) watch: Watch,
}

/// Space left for this program on the disk of a folder, in bytes; nothing when the system does not tell.
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// Waits until a store can be opened without running out of space at once: half of what new runs need.
pub(super) async fn room(folder: &Path, watch: &Watch, waits_for: &watch::Sender<String>) {
    let least = watch.disk_free_bytes_min / 2;
    while let Some(free) = free_bytes(folder).filter(|free| *free < least) {
        let why = format!(
            "space: {} MiB are left on the disk of {}, {} are needed",
            free >> 20,
            folder.display(),
            least >> 20
        );
        if *waits_for.borrow() != why {
            tracing::warn!(reason = %why, "waiting to open the store");
            waits_for.send_replace(why);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl DiskWatch {
    /// Looks without end.
    pub(super) async fn run(self) {
        let mut slowness = Slowness::default();
        let mut low = false;
        loop {
            let free = free_bytes(&self.folder);
            self.groups.note_free(free);
            low = free.is_some_and(|free| is_low(free, self.watch.disk_free_bytes_min, low));
            self.groups.set_aside(Matter::Space, free.filter(|_| low).map(|free| self.too_little(free)));

            let store = self.groups.store();
            let slow = slowness.look(store.flush, Duration::from_millis(self.watch.flush_ms_max));
            let why = || format!("its disk is slow: a flush takes {} ms", store.flush.as_millis());
            self.groups.set_aside(Matter::Slow, slow.then(why));
            self.groups.set_aside(Matter::Store, store.failed.map(|why| format!("its store failed: {why}")));
            self.groups.step_aside().await;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn too_little(&self, free: u64) -> String {
        let least = self.watch.disk_free_bytes_min;
        format!("its disk has {} MiB left, less than the {} that are asked for", free >> 20, least >> 20)
    }
}

/// Whether there is too little space. A tenth more than the least makes it enough again.
fn is_low(free: u64, least: u64, low: bool) -> bool {
    free < if low { least.saturating_add(least / 10) } else { least }
}

/// Whether flushes have been slow for long, and not been fast for long since.
#[derive(Debug, Default)]
struct Slowness {
    slow: bool,
    against: u32,
}

impl Slowness {
    fn look(&mut self, flush: Duration, most: Duration) -> bool {
        let changes = if self.slow { flush < most / 2 } else { flush > most };
        self.against = if changes { self.against + 1 } else { 0 };
        if self.against >= if self.slow { FAST_LOOKS } else { SLOW_LOOKS } {
            (self.slow, self.against) = (!self.slow, 0);
        }
        self.slow
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::ops::Range;
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio_util::task::AbortOnDropHandle;

    use super::*;
    use crate::clock::Clock;
    use crate::engine::memory::Memory;
    use crate::engine::{Batch, Condition, Engine, EngineError, Family, Flushed, Look, Row};
    use crate::raft::Options;

    /// An engine whose flushes take as long as it is told.
    struct Slow(Memory, AtomicU64);

    impl Look for Slow {
        fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
            self.0.get(family, key)
        }

        fn scan(
            &self,
            family: Family,
            range: Range<Vec<u8>>,
            reverse: bool,
            limit: usize,
        ) -> Result<Vec<Row>, EngineError> {
            self.0.scan(family, range, reverse, limit)
        }
    }

    impl Engine for Slow {
        fn write(&self, batch: Batch) -> Result<(), EngineError> {
            self.0.write(batch)
        }

        fn flushed(&self, done: Flushed) {
            self.0.flushed(done);
        }

        fn condition(&self) -> Condition {
            Condition { flush: Duration::from_millis(self.1.load(Ordering::Relaxed)), ..Condition::default() }
        }

        fn view(&self) -> Result<Arc<dyn Look>, EngineError> {
            self.0.view()
        }

        fn close(&self) -> Result<(), EngineError> {
            self.0.close()
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn slow_flushes_and_a_full_disk_set_a_node_aside() {
        let engine = Arc::new(Slow(Memory::new(), AtomicU64::new(3)));
        let options = Options::alone(1, Arc::new(Clock::system()), Arc::clone(&engine) as _);
        let groups = RaftGroups::start(options).await.unwrap();
        let asides = async |expected: &[Matter]| {
            let begun = std::time::Instant::now();
            while groups.asides() != expected {
                assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", groups.ready());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let run = |least| {
            let watch = Watch { disk_free_bytes_min: least, ..Watch::default() };
            let watch = DiskWatch { groups: Arc::clone(&groups), folder: std::env::temp_dir(), watch };
            AbortOnDropHandle::new(tokio::spawn(watch.run()))
        };
        let watching = run(0);
        tokio::time::sleep(2 * LOOK_EVERY).await;
        assert!(groups.asides().is_empty() && groups.ready().is_ok() && groups.disk_free_bytes().is_some());
        engine.1.store(700, Ordering::Relaxed);
        asides(&[Matter::Slow]).await;
        assert!(groups.ready().unwrap_err().contains("its disk is slow: a flush takes 700 ms"));
        drop(watching);
        engine.1.store(3, Ordering::Relaxed);
        let _watching = run(u64::MAX / 2);
        asides(&[Matter::Space]).await;
        groups.shutdown().await;
    }

    #[test]
    fn a_disk_is_slow_when_it_was_for_long() {
        let (most, mut slowness) = (Duration::from_millis(500), Slowness::default());
        let mut look =
            |ms, times: u32| (0..times).map(|_| slowness.look(Duration::from_millis(ms), most)).collect::<Vec<_>>();
        assert!(!look(501, SLOW_LOOKS - 1).contains(&true));
        assert!(!look(10, 1)[0], "a pause is enough");
        assert!(look(900, SLOW_LOOKS)[4]);
        assert!(!look(400, 99).contains(&false), "neither fast nor slow: it stays");
        assert!(!look(10, FAST_LOOKS - 1).contains(&false));
        assert!(!look(10, 1)[0]);
    }

    #[test]
    fn space_comes_back_with_some_to_spare() {
        assert!(is_low(99, 100, false) && !is_low(100, 100, false));
        assert!(is_low(109, 100, true) && !is_low(110, 100, true));
        assert!(free_bytes(&std::env::temp_dir()).is_some_and(|free| free > 0));
        assert_eq!(free_bytes(Path::new("/no/such/folder")), None);
    }
}
