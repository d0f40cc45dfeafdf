//! Reads of a group that has no replica here: the rows are looked up in a view that a replica elsewhere holds open.
//!
//! A read is any function of rows. So nothing that reads needs to know where the rows are. A far row takes a round trip, unless it
//! came ahead: with the head of a run come the small rows that it points at, and for an index row that was scanned
//! the heads of the next ones. When the other node goes away meanwhile, the read begins anew at another.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentprocess::time::Timestamp;
use openraft::AsyncRuntime as _;
use quorate_proto::GroupId;
use quorate_statemachine::shard::ahead;
use quorate_statemachine::store::{Fatal, Read, Row};
use serde::{Deserialize, Serialize};

use super::group::Group;
use super::groups::RaftGroups;
use super::message::{Request, Response};
use super::peer::{Transport, ask};
use super::rows::Rows;
use super::types::{Runtime, name};
use crate::groups::Unavailable;

/// Views that peers may have open, in views.
const VIEWS_MAX: usize = 4096;
/// How long a view stays open at most: somewhat longer than any call.
const VIEW_LIMIT: Duration = Duration::from_secs(15);
/// Rows of a scan go into one response until they have this many bytes; the last may go beyond.
const SCAN_BYTES: usize = 1 << 20;
/// Rows that are looked up together for a scan, in rows: one may be as large as a run's data.
const SCAN_ROWS: usize = 8;
/// Values that come with one that is asked for, since the reader scanned what leads to them, in values.
const AHEAD_VALUES: usize = 32;
/// How large a row may be that comes ahead since another points at it, in bytes. Larger ones are read when they are asked for.
const AHEAD_BYTES_MAX: usize = 4096;
/// How many keys a read expects to ask for, in keys.
const ROWS_EXPECTED_MAX: usize = 4096;
/// How much of what came ahead a read keeps, in bytes.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// How long a replica may take to open a view, before another is asked.
const OPEN_LIMIT: Duration = Duration::from_secs(3);
/// How long a row may take.
const ROW_LIMIT: Duration = Duration::from_secs(5);
/// Reads elsewhere that a node does at once, in reads: each takes a thread that waits.
pub(super) const READS_MAX: usize = 256;
/// How long to wait before all are asked again.
const RETRY: Duration = Duration::from_millis(25);

/// What a replica tells of a view that it opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opened {
    view: u64,
    /// The leader's time of the read barrier (CLOCK-ONE).
    at: Timestamp,
}

/// A key and the value under it.
type Value = (Vec<u8>, Option<Vec<u8>>);

/// A look at a view of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Look {
    /// The value under the first key, and what fits of those under the others, which the reader expects to ask for next.
    Get(Vec<Vec<u8>>),
    /// Rows of a range.
    Scan {
        /// The range.
        range: Range<Vec<u8>>,
        /// From its end.
        reverse: bool,
        /// At most so many.
        limit: u64,
    },
    /// It is not needed any more.
    Close,
}

/// What a look shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Seen {
    /// To `Get`: the values that were asked for, each with the small rows it points at.
    Values(Vec<Value>),
    /// To `Scan`: rows, and whether there may be more of the range.
    Rows(Vec<Row>, bool),
    /// To `Close`.
    Closed,
}

/// The views that peers have open here.
#[derive(Default)]
pub(super) struct Views(Mutex<Open>);

#[derive(Default)]
struct Open {
    last: u64,
    views: BTreeMap<u64, (Instant, Rows)>,
}

impl Views {
    /// Keeps a view open for a while.
    pub(super) fn open(&self, rows: Rows, at: Timestamp) -> Result<Opened, String> {
        self.expire();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.views.len() >= VIEWS_MAX {
            return Err(format!("peers have {VIEWS_MAX} views open here already"));
        }
        open.last += 1;
        let view = open.last;
        open.views.insert(view, (Instant::now(), rows));
        Ok(Opened { view, at })
    }

    /// Lets go of views that were open for too long: who read them is gone, and they hold what was removed since.
    pub(super) fn expire(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // They are in the order in which they were opened.
        while open.views.first_key_value().is_some_and(|(_, (opened, _))| opened.elapsed() > VIEW_LIMIT) {
            open.views.pop_first();
        }
    }

    /// Looks at a view.
    pub(super) fn look(&self, view: u64, look: Look) -> Result<Seen, String> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if look == Look::Close {
            open.views.remove(&view);
            return Ok(Seen::Closed);
        }
        let rows = open.views.get(&view).map(|(_, rows)| rows.clone());
        drop(open);
        let rows = rows.ok_or("the view is not open any more")?;
        seen(&rows, look).map_err(|e| e.0)
    }
}

fn seen(rows: &Rows, look: Look) -> Result<Seen, Fatal> {
    let (mut range, reverse, limit) = match look {
        Look::Close => return Ok(Seen::Closed),
        Look::Get(keys) => return values(rows, keys).map(Seen::Values),
        Look::Scan { range, reverse, limit } => (range, reverse, usize::try_from(limit).unwrap_or(usize::MAX)),
    };
    let (mut found, mut bytes) = (Vec::new(), 0);
    while found.len() < limit {
        let piece = rows.scan(range.clone(), reverse, SCAN_ROWS.min(limit - found.len()))?;
        if piece.is_empty() {
            break;
        }
        for (key, value) in piece {
            range = beyond(range, &key, reverse);
            bytes += key.len() + value.len();
            found.push((key, value));
            if bytes >= SCAN_BYTES {
                return Ok(Seen::Rows(found, true));
            }
        }
    }
    Ok(Seen::Rows(found, false))
}

fn values(rows: &Rows, keys: Vec<Vec<u8>>) -> Result<Vec<Value>, Fatal> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for key in keys.into_iter().take(1 + AHEAD_VALUES) {
        if bytes >= SCAN_BYTES {
            break;
        }
        let value = rows.get(&key)?;
        let pointed = value.as_deref().map(|value| ahead::of_row(&key, value)).unwrap_or_default();
        bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        found.push((key, value));
        for key in pointed {
            let value = rows.get(&key)?.filter(|value| value.len() <= AHEAD_BYTES_MAX && bytes < SCAN_BYTES);
            if let Some(value) = value {
                bytes += key.len() + value.len();
                found.push((key, Some(value)));
            }
        }
    }
    Ok(found)
}

/// What is left of a range after a row of it.
fn beyond(range: Range<Vec<u8>>, key: &[u8], reverse: bool) -> Range<Vec<u8>> {
    if reverse { range.start..key.to_vec() } else { [key, &[0]].concat()..range.end }
}

/// How far reads did, since the node started.
#[derive(Debug, Default)]
pub struct FarFigures {
    /// Reads that were done elsewhere.
    pub reads: AtomicU64,
    /// Round trips of them, those that open a view among them.
    pub trips: AtomicU64,
}

/// What came ahead of being asked for. The view does not change, so it is right whenever it is asked for.
#[derive(Default)]
struct Ahead {
    values: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    bytes: usize,
    /// Keys that what was scanned leads to, in the order of the scans.
    expected: Vec<Vec<u8>>,
}

impl Ahead {
    fn scanned(&mut self, rows: &[Row]) {
        if self.expected.len() > ROWS_EXPECTED_MAX {
            self.expected.clear();
        }
        self.expected.extend(rows.iter().filter_map(|(key, _)| ahead::of_index(key)));
    }

    /// A key, and those that are asked for after it as far as is known.
    fn with_next(&self, key: &[u8]) -> Vec<Vec<u8>> {
        let at = self.expected.iter().position(|expected| expected == key);
        let next = at.map_or(&[][..], |at| &self.expected[at + 1..]).iter();
        let next = next.filter(|next| *next != key && !self.values.contains_key(*next)).take(AHEAD_VALUES);
        std::iter::once(key.to_vec()).chain(next.cloned()).collect()
    }

    fn keep(&mut self, values: Vec<Value>) {
        if self.bytes > KEPT_BYTES_MAX {
            (self.values, self.bytes) = (BTreeMap::new(), 0);
        }
        for (key, value) in values {
            self.bytes += key.len() + value.as_ref().map_or(0, Vec::len);
            self.values.insert(key, value);
        }
    }
}

/// A view that a peer holds open. It is read where waiting holds up nobody.
struct Far {
    transport: Arc<dyn Transport>,
    peer: u64,
    group: GroupId,
    view: u64,
    /// Whether a look came to nothing: what was read is void.
    broken: AtomicBool,
    ahead: RefCell<Ahead>,
    figures: Arc<FarFigures>,
    #[cfg(not(madsim))]
    runtime: tokio::runtime::Handle,
}

impl Far {
    fn look(&self, look: Look) -> Result<Seen, Fatal> {
        self.figures.trips.fetch_add(1, Ordering::Relaxed);
        let request = Request::Look { view: self.view, look };
        let seen = match self.wait(&request) {
            Ok(Response::Seen(seen)) => Ok(seen),
            Ok(Response::Failed(why)) | Err(why) => Err(why),
            Ok(_) => Err("it answered something else".to_owned()),
        };
        seen.map_err(|why| {
            self.broken.store(true, Ordering::Relaxed);
            Fatal(format!("{} on node {} cannot be read: {why}", name(self.group), self.peer))
        })
    }

    fn wait(&self, request: &Request) -> Result<Response, String> {
        let asked = ask(self.transport.as_ref(), self.peer, self.group, request);
        match self.block_on(async { tokio::time::timeout(ROW_LIMIT, asked).await }) {
            Some(Ok(answered)) => answered.map_err(|unreached| unreached.to_string()),
            Some(Err(_)) | None => Err(format!("no answer within {ROW_LIMIT:?}")),
        }
    }

    #[cfg(not(madsim))]
    #[expect(clippy::unnecessary_wraps, reason = "a simulated node cannot wait")]
    fn block_on<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        Some(self.runtime.block_on(work))
    }

    /// Simulated nodes have a replica of every group, and no thread that could wait.
    #[cfg(madsim)]
    #[expect(clippy::unused_self, reason = "as in the build that is not simulated")]
    fn block_on<T>(&self, _: impl Future<Output = T>) -> Option<T> {
        None
    }
}

impl Read for Far {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
        if let Some(value) = self.ahead.borrow().values.get(key) {
            return Ok(value.clone());
        }
        let keys = self.ahead.borrow().with_next(key);
        let Seen::Values(values) = self.look(Look::Get(keys))? else { return Err(self.unfit()) };
        let Some((_, value)) = values.first().filter(|(first, _)| first == key).cloned() else {
            return Err(self.unfit());
        };
        self.ahead.borrow_mut().keep(values);
        Ok(value)
    }

    fn scan(&self, range: Range<Vec<u8>>, reverse: bool, limit: usize) -> Result<Vec<Row>, Fatal> {
        let (mut range, mut found) = (range, Vec::new());
        while found.len() < limit {
            let left = u64::try_from(limit - found.len()).unwrap_or(u64::MAX);
            let Seen::Rows(rows, more) = self.look(Look::Scan { range: range.clone(), reverse, limit: left })? else {
                return Err(self.unfit());
            };
            let Some((last, _)) = rows.last() else { break };
            range = beyond(range, last, reverse);
            self.ahead.borrow_mut().scanned(&rows);
            found.extend(rows);
            if !more {
                break;
            }
        }
        Ok(found)
    }
}

impl Far {
    fn unfit(&self) -> Fatal {
        self.broken.store(true, Ordering::Relaxed);
        Fatal(format!("node {} answered something else than it was asked", self.peer))
    }
}

impl RaftGroups {
    /// Reads a group at one of `hosts`.
    pub(super) async fn read_far<T, F>(&self, group: &Group, hosts: Vec<u64>, mut read: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        let work = async {
            let closed = |_| "this node stops".to_owned();
            let _turn = self.far_reads.acquire().await.map_err(closed)?;
            self.far.reads.fetch_add(1, Ordering::Relaxed);
            loop {
                let first = self.turn.fetch_add(1, Ordering::Relaxed) % hosts.len().max(1);
                for host in hosts.iter().cycle().skip(first).take(hosts.len()) {
                    let Some((far, at)) = self.open_far(group.id, *host).await else { continue };
                    let done = Runtime::spawn_blocking(move || {
                        let done = read(&far, at);
                        (done, read, far)
                    });
                    let (done, again, far) =
                        done.await.map_err(|e| format!("a read of {} broke: {e}", name(group.id)))?;
                    if !far.broken.load(Ordering::Relaxed) {
                        let (transport, view) = (Arc::clone(&self.transport), far.view);
                        let (host, id) = (*host, group.id);
                        drop(Runtime::spawn(async move {
                            let close = Request::Look { view, look: Look::Close };
                            drop(tokio::time::timeout(ROW_LIMIT, ask(transport.as_ref(), host, id, &close)).await);
                        }));
                        return Ok(done);
                    }
                    read = again;
                }
                tokio::time::sleep(RETRY).await;
            }
        };
        self.in_time(group.id, work).await
    }

    async fn open_far(&self, group: GroupId, host: u64) -> Option<(Far, Timestamp)> {
        self.far.trips.fetch_add(1, Ordering::Relaxed);
        let asked = ask(self.transport.as_ref(), host, group, &Request::View);
        let Ok(Ok(Response::Opened(opened))) = tokio::time::timeout(OPEN_LIMIT, asked).await else { return None };
        let far = Far {
            transport: Arc::clone(&self.transport),
            peer: host,
            group,
            view: opened.view,
            broken: AtomicBool::new(false),
            ahead: RefCell::default(),
            figures: Arc::clone(&self.far),
            #[cfg(not(madsim))]
            runtime: tokio::runtime::Handle::current(),
        };
        Some((far, opened.at))
    }
}
