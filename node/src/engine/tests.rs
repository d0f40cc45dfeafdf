//! One suite for both engines: what holds for one holds for the other.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::mpsc::channel;

use super::memory::Memory;
use super::{Batch, Change, Engine, EngineError, FAMILIES, Family, Flushed, Look, Row};

/// A folder of its own that goes when the test ends.
#[cfg(feature = "rocks")]
pub(crate) struct Folder(std::path::PathBuf);

#[cfg(feature = "rocks")]
impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("quorate-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }
}

#[cfg(feature = "rocks")]
impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[allow(dead_code, reason = "used by the tests of raft")]
/// An engine that says "flushed" without flushing: what a test of durability must notice.
pub(crate) struct Late(pub(crate) Arc<Memory>);

impl Look for Late {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.0.get(family, key)
    }

    fn scan(
        &self,
        family: Family,
        range: std::ops::Range<Vec<u8>>,
        reverse: bool,
        limit: usize,
    ) -> Result<Vec<Row>, EngineError> {
        self.0.scan(family, range, reverse, limit)
    }
}

impl Engine for Late {
    fn write(&self, batch: Batch) -> Result<(), EngineError> {
        self.0.write(batch)
    }

    fn flushed(&self, done: Flushed) {
        done(Ok(()));
    }

    fn view(&self) -> Result<Arc<dyn Look>, EngineError> {
        self.0.view()
    }

    fn close(&self) -> Result<(), EngineError> {
        self.0.close()
    }
}

pub(crate) fn flush_now(engine: &dyn Engine) -> Result<(), EngineError> {
    let (tell, told) = channel();
    engine.flushed(Box::new(move |result| tell.send(result).unwrap()));
    told.recv().unwrap()
}

fn put(engine: &dyn Engine, family: Family, key: &[u8], value: &[u8]) {
    engine.write(Batch(vec![Change::Put(family, key.to_vec(), value.to_vec())])).unwrap();
}

fn range(engine: &dyn Look, family: Family, from: &[u8], to: &[u8], reverse: bool, limit: usize) -> String {
    let rows = engine.scan(family, from.to_vec()..to.to_vec(), reverse, limit).unwrap();
    let rows: Vec<_> = rows.iter().map(|(k, v)| format!("{}={}", k.escape_ascii(), v.escape_ascii())).collect();
    rows.join(" ")
}

fn suite(engine: &dyn Engine) {
    for family in FAMILIES {
        for key in [b"a", b"b", b"c", b"d"] {
            put(engine, family, key, format!("{}{family:?}", key.escape_ascii()).as_bytes());
        }
    }
    assert_eq!(engine.get(Family::Meta, b"b").unwrap().unwrap(), b"bMeta");
    assert_eq!(engine.get(Family::Meta, b"x").unwrap(), None);
    assert_eq!(range(engine, Family::Log, b"b", b"d", false, 9), "b=bLog c=cLog");
    assert_eq!(range(engine, Family::Log, b"b", b"d", true, 9), "c=cLog b=bLog");
    assert_eq!(range(engine, Family::Log, b"a", b"z", true, 1), "d=dLog");
    assert_eq!(range(engine, Family::Log, b"a", b"z", false, 0), "");
    assert_eq!(range(engine, Family::Log, b"d", b"a", false, 9), "");

    let before = engine.view().unwrap();
    let mut batch = Batch::default();
    batch.put(Family::State, b"b".to_vec(), b"new".to_vec());
    batch.delete(Family::State, b"a".to_vec());
    batch.delete_range(Family::Log, b"b".to_vec()..b"d".to_vec());
    batch.delete_range(Family::Log, b"z".to_vec()..b"a".to_vec());
    batch.put(Family::Log, b"c".to_vec(), b"again".to_vec());
    engine.write(batch).unwrap();
    assert_eq!(range(engine, Family::State, b"a", b"z", false, 9), "b=new c=cState d=dState");
    assert_eq!(range(engine, Family::Log, b"a", b"z", false, 9), "a=aLog c=again d=dLog");
    assert_eq!(range(before.as_ref(), Family::State, b"a", b"c", false, 9), "a=aState b=bState");
    assert_eq!(range(before.as_ref(), Family::Log, b"b", b"d", true, 9), "c=cLog b=bLog");
    assert_eq!(before.get(Family::State, b"a").unwrap().unwrap(), b"aState");
    drop(before);

    flush_now(engine).unwrap();
    engine.close().unwrap();
    engine.close().unwrap();
    assert_eq!(engine.get(Family::Log, b"a"), Err(EngineError::Closed));
    assert_eq!(engine.write(Batch::default()), Err(EngineError::Closed));
    assert_eq!(flush_now(engine), Err(EngineError::Closed));
    assert!(engine.view().is_err());
}

#[test]
fn memory_keeps_the_suite() {
    suite(&Memory::new());
}

#[cfg(feature = "rocks")]
#[test]
fn rocks_keeps_the_suite() {
    let folder = Folder::new();
    suite(&super::rocks::Rocks::open(folder.path()).unwrap());
    let again = super::rocks::Rocks::open(folder.path()).unwrap();
    assert_eq!(range(&again, Family::State, b"a", b"z", false, 9), "b=new c=cState d=dState");
}

#[cfg(feature = "rocks")]
#[test]
fn a_folder_is_opened_once() {
    let folder = Folder::new();
    let first = super::rocks::Rocks::open(folder.path()).unwrap();
    let second = super::rocks::Rocks::open(folder.path()).err().unwrap();
    assert!(second.to_string().contains("is in use by another process"), "{second}");
    drop(first);
    super::rocks::Rocks::open(folder.path()).unwrap();
}

#[test]
fn a_crash_leaves_what_was_flushed() {
    let engine = Memory::new();
    put(&engine, Family::Log, b"a", b"1");
    flush_now(&engine).unwrap();
    put(&engine, Family::Log, b"b", b"2");
    let crashed = engine.crashed();
    assert_eq!(range(&crashed, Family::Log, b"a", b"z", false, 9), "a=1");
    assert_eq!(range(&engine, Family::Log, b"a", b"z", false, 9), "a=1 b=2");
}

/// A copy of the files of an open store: what a process that is killed at this moment leaves behind.
#[cfg(all(feature = "rocks", not(feature = "late-flush")))]
fn killed(folder: &Folder) -> Folder {
    let copy = Folder::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    copy
}

#[cfg(all(feature = "rocks", not(feature = "late-flush")))]
#[test]
fn a_kill_leaves_what_was_flushed() {
    let folder = Folder::new();
    let engine = super::rocks::Rocks::open(folder.path()).unwrap();
    put(&engine, Family::Log, b"a", b"1");
    flush_now(&engine).unwrap();
    put(&engine, Family::Log, b"b", b"2");
    let left = |folder: &Folder| {
        let engine = super::rocks::Rocks::open(folder.path()).unwrap();
        range(&engine, Family::Log, b"a", b"z", false, 9)
    };
    assert_eq!(left(&killed(&folder)), "a=1");
    flush_now(&engine).unwrap();
    assert_eq!(left(&killed(&folder)), "a=1 b=2");
}

/// Going on from before the damage would lose what was acknowledged without a word.
#[cfg(all(feature = "rocks", not(feature = "late-flush")))]
#[test]
fn a_damaged_write_ahead_log_stops_the_start_and_a_torn_end_does_not() {
    let folder = Folder::new();
    let engine = super::rocks::Rocks::open(folder.path()).unwrap();
    for key in 0..100 {
        put(&engine, Family::Log, &[key], &[key; 1000]);
        flush_now(&engine).unwrap();
    }
    let logs = |folder: &Folder| {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "log")).collect::<Vec<_>>()
    };
    let opened = |change: fn(&mut Vec<u8>)| {
        let copy = killed(&folder);
        let log = logs(&copy).remove(0);
        let mut bytes = std::fs::read(&log).unwrap();
        change(&mut bytes);
        std::fs::write(&log, bytes).unwrap();
        let engine = super::rocks::Rocks::open(copy.path())?;
        engine.scan(Family::Log, vec![0]..vec![255], false, 999).map(|rows| rows.len())
    };
    assert_eq!(logs(&folder).len(), 1);
    assert_eq!(opened(|_| ()), Ok(100));
    assert_eq!(opened(|log| log.truncate(log.len() - 10)), Ok(99));
    let damaged = opened(|log| {
        let middle = log.len() / 2;
        log[middle] ^= 1;
    });
    assert!(matches!(&damaged, Err(EngineError::Failed(why)) if why.contains("orruption")), "{damaged:?}");
}

/// Many threads write and wait: each finds its own write durable, and none waits forever.
#[cfg(feature = "rocks")]
#[test]
fn flushes_are_shared() {
    let folder = Folder::new();
    let engine = super::rocks::Rocks::open(folder.path()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let engine = &engine;
            scope.spawn(move || {
                for round in 0..20u8 {
                    put(engine, Family::Log, &[thread, round], b"x");
                    flush_now(engine).unwrap();
                }
            });
        }
    });
    assert_eq!(engine.scan(Family::Log, vec![0]..vec![9], false, 999).unwrap().len(), 160);
}
