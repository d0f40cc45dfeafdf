//! What holds for `RocksDB` alone.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};

use super::rocks::Rocks;
use super::tests::Folder;
use super::{Batch, Engine as _, Family};

const ROWS: u32 = 50_000;

/// How many removed rows a read of the first row passes. Reads come by views, as all of the node's do: that old views go
/// is what lets rows removed since leave the files.
fn passed(engine: &Rocks) -> u64 {
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut context = PerfContext::default();
    context.reset();
    let first = engine.view().unwrap().scan(Family::State, vec![0]..vec![9], false, 1).unwrap();
    let passed = context.metric(PerfMetric::InternalDeleteSkippedCount);
    set_perf_stats(PerfStatsLevel::Disable);
    assert_eq!(first.len(), 1);
    passed
}

/// A work list is a queue: what was taken from its front must not cost later reads.
#[test]
fn reading_the_front_of_a_queue_stays_cheap() {
    let folder = Folder::new();
    let engine = Rocks::open(folder.path()).unwrap();
    let key = |row: u32| [&[1], row.to_be_bytes().as_slice()].concat();
    for row in 0..=ROWS {
        let mut batch = Batch::default();
        batch.put(Family::State, key(row), vec![7; 20]);
        engine.write(batch).unwrap();
    }
    for row in 0..ROWS {
        let mut batch = Batch::default();
        batch.delete(Family::State, key(row));
        engine.write(batch).unwrap();
    }
    assert!(passed(&engine) >= u64::from(ROWS), "the test leaves what it is about");
    let began = Instant::now();
    loop {
        // The next write sees that a read asked for the file to be written.
        let mut batch = Batch::default();
        batch.put(Family::State, vec![8], Vec::new());
        engine.write(batch).unwrap();
        let passed = passed(&engine);
        if passed <= 1_000 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "a read still passes {passed} removed rows");
        std::thread::sleep(Duration::from_millis(50));
    }
}
