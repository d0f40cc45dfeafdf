//! Writes through all nodes of a cluster, beside puts of 256 bytes to an etcd of as many nodes on the same machine.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quorate_load::Error;
use quorate_load::agent::{PROCESS, PROCESS_TEXT};
use quorate_load::client::{Client, http};
use quorate_load::cluster::Cluster;
use quorate_load::etcd::{self, Etcd};
use quorate_load::failover::Subject;
use quorate_load::ground::Ground;
use quorate_load::put::Put;
use serde_json::json;

use super::calls::{Rate, rate, writes};
use super::{CLIENTS, Figures, Options};

/// Bytes of a value that is put.
const VALUE_BYTES: usize = 256;

/// A rate, and the processor time of all nodes for each write, which says more than a rate where other things run meanwhile.
struct Measured {
    rate: Rate,
    cpu_ms: f64,
}

impl Measured {
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    fn new(rate: Rate, cpu_ms: u64) -> Self {
        let cpu_ms = cpu_ms as f64 / rate.calls.max(1) as f64;
        Self { rate, cpu_ms }
    }

    fn tell(&self, whom: &str, many: usize, what: &str, figures: &mut Figures) {
        self.rate.tell(whom, many, what, figures);
        println!("{whom}, {many:>2} clients: {:.2} ms of processor time a {what} in all nodes", self.cpu_ms);
        figures.insert(format!("{whom}_{what}_cpu_ms_{many}"), json!(self.cpu_ms));
    }
}

fn cpu_ms(subject: &mut impl Subject) -> u64 {
    (0..subject.size()).filter_map(|node| subject.process(node).cpu_ms()).sum()
}

pub(super) async fn measure(options: &Options, data: &Path, figures: &mut Figures) -> Result<(), Error> {
    let long = Duration::from_secs(options.seconds);
    let own = own(options, data, long).await?;
    for (many, rate) in CLIENTS.into_iter().zip(&own) {
        rate.tell("cluster", many, "write", figures);
    }
    let etcd = match beside(options, data, long).await {
        Ok(etcd) => etcd,
        Err(why) => {
            println!("etcd: skipped: {why}");
            return Ok(());
        }
    };
    for ((many, own), etcd) in CLIENTS.into_iter().zip(&own).zip(&etcd) {
        etcd.tell("etcd", many, "put", figures);
        for (what, ratio) in [
            ("rate", own.rate.per_s / etcd.rate.per_s),
            ("p50", own.rate.p50 / etcd.rate.p50),
            ("p99", own.rate.p99 / etcd.rate.p99),
            ("cpu", own.cpu_ms / etcd.cpu_ms),
        ] {
            println!("{many:>2} clients, {what}: {ratio:.2} x etcd");
            figures.insert(format!("cluster_to_etcd_{what}_{many}"), json!(ratio));
        }
    }
    Ok(())
}

/// Each client calls a node of its own.
async fn own(options: &Options, data: &Path, long: Duration) -> Result<Vec<Measured>, Error> {
    let mut cluster = Cluster::new(&options.binary, data, options.nodes, Ground::default())?;
    cluster.start().await?;
    let file = data.join("load-test.md");
    std::fs::write(&file, PROCESS_TEXT)?;
    cluster.publish(&file, &[PROCESS])?;
    let (http, urls) = (http(CLIENTS[1])?, cluster.mcp());
    let client = |n| {
        let token = cluster.tools.agent_token(&format!("load-{n}"))?;
        Ok(Client::new(http.clone(), urls.clone(), n % urls.len(), token))
    };
    let clients = (0..CLIENTS[1]).map(client).collect::<Result<Vec<_>, Error>>()?;
    let mut rates = Vec::new();
    for many in CLIENTS {
        let before = cpu_ms(&mut cluster);
        let rate = writes(&clients[..many], long).await?;
        rates.push(Measured::new(rate, cpu_ms(&mut cluster) - before));
    }
    Ok(rates)
}

/// The same number of clients, each over a connection of its own.
async fn beside(options: &Options, data: &Path, long: Duration) -> Result<Vec<Measured>, Error> {
    println!("beside {}", etcd::version()?);
    let mut etcd = Etcd::start(data, options.nodes, 1).await?;
    let mut rates = Vec::new();
    for many in CLIENTS {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        for client in 0..many {
            let put = Put::connect(&etcd.urls()[client % options.nodes]).await?;
            tasks.push(tokio::spawn(puts(put, client, Arc::clone(&stop))));
        }
        let before = cpu_ms(&mut etcd);
        let rate = rate(tasks, &stop, long).await?;
        rates.push(Measured::new(rate, cpu_ms(&mut etcd) - before));
    }
    Ok(rates)
}

async fn puts(mut put: Put, client: usize, stop: Arc<AtomicBool>) -> Result<Vec<Duration>, Error> {
    let mut samples = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        put.put(format!("{client:04}-{:08}", samples.len()), vec![b'v'; VALUE_BYTES]).await?;
        samples.push(began.elapsed());
    }
    Ok(samples)
}
