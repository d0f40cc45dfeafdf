//! The machine's own rate of durable writes, as a yardstick.

use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use quorate_load::Error;

/// How many 4 KiB writes with fdatasync the disk under `data` takes a second.
pub(crate) fn durable_writes_per_second(data: &Path) -> Result<f64, Error> {
    let path = data.join("fdatasync");
    let mut file = std::fs::File::create(&path)?;
    file.write_all(&vec![0; 1 << 20])?;
    file.sync_all()?;
    let (block, began, mut done) = (vec![1; 4096], Instant::now(), 0u32);
    while began.elapsed() < Duration::from_secs(2) {
        file.write_all_at(&block, u64::from(done % 256) * 4096)?;
        file.sync_data()?;
        done += 1;
    }
    std::fs::remove_file(path)?;
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}
