//! How `RocksDB` is set up: what it may keep in memory, and when it writes files.

use rocksdb::{BlockBasedOptions, Cache, DBRecoveryMode, Options};

use super::Family;

/// Blocks read from files, shared by all families, in bytes.
const BLOCK_CACHE_BYTES: usize = 128 << 20;
/// A family's writes before they go to a file of their own, in bytes.
const WRITE_BUFFER_BYTES: usize = 32 << 20;
/// The write-ahead log before the oldest writes in it go to files of their own, in bytes.
const WRITE_AHEAD_LOG_BYTES_MAX: u64 = 256 << 20;
/// `RocksDB`'s own text logs that are kept, in files.
const TEXT_LOGS_MAX: usize = 4;

/// Removed rows that one step of a read may pass in memory before they are written to a file, and removed rows near each
/// other in a file that have it compacted. Work lists and timers are queues: rows go at the front, where every read
/// begins, and without this a read would pass all that were ever taken.
const REMOVED_ROWS_PASSED_MAX: usize = 1_000;
/// How far apart such rows of a file may lie, in rows.
const REMOVED_ROWS_WINDOW: usize = 2 * REMOVED_ROWS_PASSED_MAX;

/// Options of the database.
pub(super) fn database_options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    // Written and synced by `Engine::flushed` alone.
    options.set_manual_wal_flush(true);
    // Damage within the log must stop the start. RocksDB's default takes it for the log's end, and goes on without what
    // lies behind: that was acknowledged. A last record that a crash cut off is no damage.
    options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    options.set_max_total_wal_size(WRITE_AHEAD_LOG_BYTES_MAX);
    options.set_keep_log_file_num(TEXT_LOGS_MAX);
    options.set_max_background_jobs(2);
    options
}

/// Options of a family.
pub(super) fn family_options(family: Family) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache());
    match family {
        // A key that is not there is often asked for: request ids, most of all.
        Family::State => blocks.set_bloom_filter(10.0, false),
        Family::Log | Family::Meta => (),
    }
    let mut options = Options::default();
    options.set_write_buffer_size(WRITE_BUFFER_BYTES);
    options.set_block_based_table_factory(&blocks);
    // Zero: by the window, not by the file's overall share.
    options.add_compact_on_deletion_collector_factory(REMOVED_ROWS_WINDOW, REMOVED_ROWS_PASSED_MAX, 0.0);
    options
}

/// What can only be set on an open database.
pub(super) fn late_options() -> [(&'static str, String); 1] {
    [("memtable_op_scan_flush_trigger", REMOVED_ROWS_PASSED_MAX.to_string())]
}

/// One cache for all families and databases of the process.
fn cache() -> &'static Cache {
    static CACHE: std::sync::OnceLock<Cache> = std::sync::OnceLock::new();
    CACHE.get_or_init(|| Cache::new_lru_cache(BLOCK_CACHE_BYTES))
}
