//! Wrong clocks: a node that is started through `libfaketime` has a time of day that is off. Its other clocks run as ever.

use std::path::Path;

use crate::Error;

/// Where distributions put it.
const PLACES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// What makes clocks wrong.
pub struct Clocks(&'static str);

impl Clocks {
    /// Finds the library.
    pub fn find() -> Result<Self, Error> {
        let found = PLACES.into_iter().find(|place| Path::new(place).exists());
        Ok(Self(found.ok_or("libfaketime is not installed")?))
    }

    /// What goes before a command so that its clock is off by so many seconds.
    pub fn prefix(&self, seconds: i32) -> Vec<String> {
        let time = format!("FAKETIME={seconds:+}");
        vec!["env".to_owned(), format!("LD_PRELOAD={}", self.0), time, "FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned()]
    }

    /// Removes what the library of a killed process leaves in shared memory.
    pub fn clear(&self, process: u32) {
        for name in ["faketime_shm", "sem.faketime_sem"] {
            // Not there when the process ended by itself.
            let _ = std::fs::remove_file(format!("/dev/shm/{name}_{process}"));
        }
    }
}
