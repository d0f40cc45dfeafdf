//! How long a node with many runs takes until it serves again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quorate_load::Error;
use quorate_load::actor::request_id;
use quorate_load::agent::{PROCESS, PROCESS_TEXT};
use quorate_load::client::{Answer, Client, http};
use quorate_load::cluster::Cluster;
use quorate_load::ground::Ground;
use serde_json::{Value, json};

use super::{CLIENTS, Figures};

/// Within which a node must serve again.
const TARGET: Duration = Duration::from_secs(10);
/// How long a restart may take until it is given up.
const LIMIT: Duration = Duration::from_mins(10);
/// Runs that are started after a restart, so that the next one has something to read from the logs, too; in runs of each hundred.
const SHARE_BEFORE_NEXT: usize = 5;
/// How long a write may take.
const WRITE_LIMIT: Duration = Duration::from_mins(1);
/// Between two words about how far it is.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// Between two looks.
const POLL: Duration = Duration::from_millis(5);

/// Fills a node, stops it by SIGKILL and by SIGTERM, and starts it again.
pub(super) async fn measure(
    binary: &Path,
    data: &Path,
    open: usize,
    ended: usize,
    figures: &mut Figures,
) -> Result<(), Error> {
    let mut node = Cluster::new(binary, data, 1, Ground::default())?;
    node.start().await?;
    let file = data.join("load-test.md");
    std::fs::write(&file, PROCESS_TEXT)?;
    node.publish(&file, &[PROCESS])?;
    let http = http(CLIENTS[1])?;
    let client = |n| Ok(Client::new(http.clone(), node.mcp(), 0, node.tools.agent_token(&format!("load-{n}"))?));
    let clients = (0..CLIENTS[1]).map(client).collect::<Result<Vec<_>, Error>>()?;

    let last = (open + ended) * SHARE_BEFORE_NEXT / 100;
    let operator = Client::new(http.clone(), node.mcp(), 0, node.tools.operator_token()?);
    let all = Arc::new(Filling::new(open, ended, operator));
    let some_run = all.go_on(&clients, open + ended - last).await?;
    let killed = restart(&mut node, true, &clients[0], &some_run).await?;
    let some_run = all.go_on(&clients, last).await?;
    let stopped = restart(&mut node, false, &clients[0], &some_run).await?;
    let megabytes = megabytes(&data.join("node-0"))?;
    println!("{megabytes} MiB on the disk");
    figures.insert("restart_open_runs".to_owned(), json!(open));
    figures.insert("restart_ended_runs".to_owned(), json!(ended));
    figures.insert("restart_disk_mib".to_owned(), json!(megabytes));
    figures.insert("restart_after_kill".to_owned(), killed.told());
    figures.insert("restart_after_term".to_owned(), stopped.told());
    let met = killed.slowest().max(stopped.slowest()) <= TARGET;
    figures.insert("restart_target_met".to_owned(), json!(met));
    Ok(())
}

/// Runs that are started, most of which are then ended.
struct Filling {
    open: usize,
    all: usize,
    begun: AtomicUsize,
    done: AtomicUsize,
    /// Only an operator cancels.
    operator: Client,
}

impl Filling {
    fn new(open: usize, ended: usize, operator: Client) -> Self {
        Self { open, all: open + ended, begun: AtomicUsize::new(0), done: AtomicUsize::new(0), operator }
    }

    /// Starts so many more; tells one of them.
    async fn go_on(self: &Arc<Self>, clients: &[Client], more: usize) -> Result<Value, Error> {
        let (until, began, before) = (self.begun.load(Ordering::Relaxed) + more, Instant::now(), self.done());
        let fill = |client: &Client| tokio::spawn(Arc::clone(self).fill(client.clone(), until));
        let tasks: Vec<_> = clients.iter().map(fill).collect();
        let telling = tokio::spawn(Arc::clone(self).tell());
        let mut last = Value::Null;
        for task in tasks {
            last = task.await??;
        }
        telling.abort();
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let per_s = (self.done() - before) as f64 / began.elapsed().as_secs_f64();
        println!("{} runs of {}, {per_s:.0} runs a second", self.done(), self.all);
        self.begun.store(until, Ordering::Relaxed);
        Ok(last)
    }

    async fn fill(self: Arc<Self>, client: Client, until: usize) -> Result<Value, Error> {
        let mut run = Value::Null;
        loop {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            if number >= until {
                return Ok(run);
            }
            let start = json!({"process": PROCESS, "inputs": {"tag": "fill"}, "requestId": request_id()});
            run = written(&client, "start_run", &start).await?["run"]["id"].clone();
            if !stays_open(number, self.open, self.all) {
                let cancel = json!({"runId": run, "reason": "enough", "requestId": request_id()});
                written(&self.operator, "cancel", &cancel).await?;
            }
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn tell(self: Arc<Self>) {
        loop {
            let before = self.done();
            tokio::time::sleep(TELL_EVERY).await;
            let done = self.done();
            println!("{done} runs of {}, {} a second", self.all, (done - before) as u64 / TELL_EVERY.as_secs());
        }
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }
}

/// Whether the run of a number is one of the `open` that stay open of `all`: they are spread evenly.
fn stays_open(number: usize, open: usize, all: usize) -> bool {
    (number + 1) * open / all.max(1) > number * open / all.max(1)
}

/// Writes, again and again if need be: on a busy machine one may take long.
async fn written(client: &Client, tool: &str, arguments: &Value) -> Result<Value, Error> {
    let began = Instant::now();
    match client.settle(tool, arguments, || began.elapsed() > WRITE_LIMIT).await.0 {
        Answer::Done(data) => Ok(data),
        other @ (Answer::Refused(..) | Answer::Unknown(_)) => Err(format!("{tool}: {other:?}").into()),
    }
}

/// How long it took from the start of the process.
struct Restart {
    /// How long stopping took before.
    stop: Duration,
    ready: Duration,
    get_run: Duration,
    get_work: Duration,
    memory_mib: u64,
}

impl Restart {
    fn told(&self) -> Value {
        let Self { stop, ready, get_run, get_work, memory_mib } = self;
        json!({"stop_s": stop.as_secs_f64(), "ready_s": ready.as_secs_f64(), "get_run_s": get_run.as_secs_f64(),
               "get_work_s": get_work.as_secs_f64(), "memory_mib": memory_mib})
    }

    fn slowest(&self) -> Duration {
        self.ready.max(self.get_run).max(self.get_work)
    }
}

async fn restart(node: &mut Cluster, kill: bool, client: &Client, run: &Value) -> Result<Restart, Error> {
    let began = Instant::now();
    if kill {
        node.process(0).kill().await?;
    } else {
        node.process(0).stop().await?;
    }
    let stop = began.elapsed();
    let began = Instant::now();
    node.process(0).start()?;
    let (get_run, get_work) = (json!({"runId": run}), json!({"process": PROCESS, "limit": 20}));
    let (ready, get_run, get_work) = tokio::try_join!(
        async { node.ready_by(0, began + LIMIT).await.map(|()| began.elapsed()) },
        answered(client, "get_run", &get_run, began),
        answered(client, "get_work", &get_work, began),
    )?;
    let memory_mib = node.process(0).memory_kib().unwrap_or(0) / 1024;
    let restart = Restart { stop, ready, get_run, get_work, memory_mib };
    println!("after {}: {}", if kill { "SIGKILL" } else { "SIGTERM" }, restart.told());
    Ok(restart)
}

/// How long after the start a read is answered first, asked again and again from then on.
async fn answered(client: &Client, tool: &str, arguments: &Value, began: Instant) -> Result<Duration, Error> {
    loop {
        match client.call(tool, arguments).await {
            Answer::Done(_) => return Ok(began.elapsed()),
            other @ (Answer::Refused(..) | Answer::Unknown(_)) if began.elapsed() > LIMIT => {
                return Err(format!("{tool} is not answered: {other:?}").into());
            }
            Answer::Refused(..) | Answer::Unknown(_) => tokio::time::sleep(POLL).await,
        }
    }
}

/// What a folder takes on the disk.
fn megabytes(folder: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += entry.metadata()?.len();
            }
        }
    }
    Ok(bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_stay_open_as_asked_for() {
        let open = |open, ended| (0..open + ended).filter(|n| stays_open(*n, open, open + ended)).count();
        assert_eq!([open(100, 1000), open(7, 3), open(0, 5), open(5, 0)], [100, 7, 0, 5]);
    }
}
