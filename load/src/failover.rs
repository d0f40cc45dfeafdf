//! How long writes stand still when the node that leads most is lost, as clients of the other nodes see it.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Error;
use crate::client::{Answer, Client};
use crate::cluster::Cluster;
use crate::history::longest_gap_ms;
use crate::process::Process;

/// Load before the first loss.
const CALM: Duration = Duration::from_secs(5);
/// How long a killed node stays away: longer than an etcd keeps calls that its lost leader had (7 s).
const AWAY: Duration = Duration::from_secs(8);
/// How long the load goes on after all nodes are ready again.
const AFTER: Duration = Duration::from_secs(2);
/// Before a write is sent again.
const PAUSE: Duration = Duration::from_millis(20);

/// A cluster that loses nodes.
pub trait Subject {
    /// How many nodes there are.
    fn size(&self) -> usize;
    /// The process of a node.
    fn process(&mut self, node: usize) -> &mut Process;
    /// Waits until all nodes are ready.
    fn ready(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
    /// The node that leads most.
    fn busiest(&self) -> impl Future<Output = Result<usize, Error>> + Send;
}

/// Why a write has no acknowledgement.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The node was not there, or went away.
    Broken(String),
    /// The node answered something else.
    Said(String),
}

/// Writes at a node. The same client and number is the same write.
pub trait Writer: Clone + Send + Sync + 'static {
    /// Writes once.
    fn write(&self, node: usize, client: usize, number: usize) -> impl Future<Output = Result<(), Trouble>> + Send;
}

/// Starts runs.
#[derive(Clone)]
pub struct Starts(pub Arc<[Client]>);

impl Writer for Starts {
    async fn write(&self, node: usize, client: usize, number: usize) -> Result<(), Trouble> {
        let request = format!("failover-{}-{client}-{number}", std::process::id());
        let inputs = json!({"tag": format!("{request:-<256}")});
        let start = json!({"process": crate::agent::PROCESS, "inputs": inputs, "requestId": request});
        match self.0[client].only(node).call("start_run", &start).await {
            Answer::Done(_) => Ok(()),
            Answer::Refused(_, error) => Err(Trouble::Said(error.to_string())),
            Answer::Unknown(why) => Err(Trouble::Broken(why)),
        }
    }
}

impl Subject for Cluster {
    fn size(&self) -> usize {
        Self::size(self)
    }

    fn process(&mut self, node: usize) -> &mut Process {
        Self::process(self, node)
    }

    async fn ready(&mut self) -> Result<(), Error> {
        Self::ready(self).await
    }

    async fn busiest(&self) -> Result<usize, Error> {
        Self::busiest(self).await
    }
}

/// One try of a write.
struct Try {
    node: usize,
    ended: Instant,
    took: Duration,
    trouble: Option<String>,
}

type Tries = Arc<Mutex<Vec<Try>>>;

fn lock(tries: &Tries) -> MutexGuard<'_, Vec<Try>> {
    tries.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loss, as clients saw it that called through the other nodes.
#[derive(Debug)]
pub struct Round {
    /// The node.
    pub node: usize,
    /// The longest gap in acknowledged writes until it is started again.
    pub gap_ms: u64,
    /// The same from then on until all is well.
    pub return_gap_ms: u64,
    /// The longest time one write took.
    pub call_ms: u64,
    /// Errors of the other nodes.
    pub errors: Vec<String>,
}

/// A measurement.
#[derive(Debug)]
pub struct Measured {
    /// Acknowledged writes a second before the first loss, and the longest gap then.
    pub calm: (u64, u64),
    /// Each SIGKILL of the node that led most.
    pub kills: Vec<Round>,
    /// Each SIGTERM, when asked for: all nodes in turn.
    pub stops: Vec<Round>,
}

/// Measures so many kills, and a rolling restart when asked to.
pub async fn measure<S: Subject>(
    subject: &mut S,
    writer: &impl Writer,
    clients: usize,
    kills: usize,
    rolling: bool,
) -> Result<Measured, Error> {
    let (tries, stop) = (Tries::default(), Arc::new(AtomicBool::new(false)));
    let nodes = subject.size();
    let working: Vec<_> = (0..clients)
        .map(|client| tokio::spawn(load(writer.clone(), client, nodes, Arc::clone(&tries), Arc::clone(&stop))))
        .collect();
    tokio::time::sleep(CALM).await;
    let calm = {
        let tries = lock(&tries);
        let done: Vec<_> = tries.iter().filter(|t| t.trouble.is_none()).map(|t| t.ended).collect();
        (done.len() as u64 / CALM.as_secs(), longest_gap_ms(done, None))
    };
    let mut measured = Measured { calm, kills: Vec::new(), stops: Vec::new() };
    for _ in 0..kills {
        let node = subject.busiest().await?;
        let began = Instant::now();
        subject.process(node).kill().await?;
        tokio::time::sleep(AWAY).await;
        measured.kills.push(back(subject, node, began, &tries).await?);
    }
    for node in (0..nodes).filter(|_| rolling) {
        let began = Instant::now();
        subject.process(node).stop().await?;
        measured.stops.push(back(subject, node, began, &tries).await?);
    }
    stop.store(true, Ordering::Relaxed);
    for client in working {
        client.await?;
    }
    Ok(measured)
}

/// One client: always a write, at a node of its own as long as that one answers.
async fn load(writer: impl Writer, client: usize, nodes: usize, tries: Tries, stop: Arc<AtomicBool>) {
    for number in 0.. {
        let mut node = client % nodes;
        loop {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let began = Instant::now();
            let written = writer.write(node, client, number).await;
            let (trouble, next) = match written {
                Ok(()) => (None, node),
                Err(Trouble::Broken(why)) => (Some(why), (node + 1) % nodes),
                Err(Trouble::Said(why)) => (Some(why), node),
            };
            let done = trouble.is_none();
            lock(&tries).push(Try { node, ended: Instant::now(), took: began.elapsed(), trouble });
            if done {
                break;
            }
            node = next;
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Starts a node that was lost at `began`, waits until all is well, and tells what clients of the others saw.
async fn back(subject: &mut impl Subject, node: usize, began: Instant, tries: &Tries) -> Result<Round, Error> {
    let started = Instant::now();
    subject.process(node).start()?;
    subject.ready().await?;
    tokio::time::sleep(AFTER).await;
    let now = Instant::now();
    let tries = lock(tries);
    let others = || tries.iter().filter(|t| t.node != node && t.ended >= began);
    let gap = |from: Instant, to: Instant| {
        let done = others().filter(|t| t.trouble.is_none() && (from..to).contains(&t.ended));
        longest_gap_ms(done.map(|t| t.ended).collect(), Some((from, to)))
    };
    let longest = others().map(|t| t.took.as_millis()).max().unwrap_or(0);
    Ok(Round {
        node,
        gap_ms: gap(began, started),
        return_gap_ms: gap(started, now),
        call_ms: u64::try_from(longest).unwrap_or(u64::MAX),
        errors: others().filter_map(|t| t.trouble.clone()).collect(),
    })
}

/// What rounds come to.
pub fn figures(rounds: &[Round]) -> Value {
    let mut gaps: Vec<_> = rounds.iter().map(|r| r.gap_ms).collect();
    gaps.sort_unstable();
    let worst = |of: fn(&Round) -> u64| rounds.iter().map(of).max().unwrap_or(0);
    json!({
        "rounds": rounds.len(), "gaps_ms": rounds.iter().map(|r| r.gap_ms).collect::<Vec<_>>(), "median_ms": median(&gaps),
        "worst_ms": worst(|r| r.gap_ms), "worst_return_ms": worst(|r| r.return_gap_ms),
        "longest_call_ms": worst(|r| r.call_ms), "errors": rounds.iter().map(|r| r.errors.len()).sum::<usize>(),
    })
}

/// The middle of sorted figures; of two the mean.
fn median(sorted: &[u64]) -> u64 {
    let middle = |at: usize| sorted.get(at).copied().unwrap_or(0);
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { middle(half.saturating_sub(1)).midpoint(middle(half)) } else { middle(half) }
}
