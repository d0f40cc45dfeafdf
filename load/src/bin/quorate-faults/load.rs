//! Agents, people and readers at work.

use std::sync::Arc;
use std::time::Duration;

use quorate_load::Error;
use quorate_load::actor::Actor;
use quorate_load::agent::work;
use quorate_load::client::{Client, http};
use quorate_load::ending::Ending;
use quorate_load::history::History;
use quorate_load::person::{GROUP, approve};
use quorate_load::reader::{Reader, Readings};
use quorate_load::tools::Tools;
use tokio::task::JoinHandle;

use super::Options;
use super::figures::Figures;

/// For so many agents there is one person.
const AGENTS_OF_A_PERSON: usize = 4;
/// How long what is under way is repeated at the end, when all is well: twice as long as a server takes to say that it does not
/// know the outcome.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The load while it runs.
pub(crate) struct Load {
    pub(crate) history: Arc<History>,
    clients: Vec<Client>,
    ending: Arc<Ending>,
    working: Vec<JoinHandle<()>>,
    reading: Vec<JoinHandle<Readings>>,
}

/// What is there to check when it has ended.
pub(crate) struct Ended {
    pub(crate) history: Arc<History>,
    /// By number of who wrote.
    pub(crate) clients: Vec<Client>,
}

impl Load {
    /// Sets all to work at nodes.
    pub(crate) fn start(options: &Options, tools: &Tools, urls: &[String]) -> Result<Self, Error> {
        let people = options.agents.div_ceil(AGENTS_OF_A_PERSON);
        let http = http(options.agents + people + urls.len())?;
        let client = |number: usize, token| Client::new(http.clone(), urls.to_vec(), number % urls.len(), token);
        let mut clients = Vec::new();
        for number in 0..options.agents {
            clients.push(client(number, tools.agent_token(&format!("load-{number}"))?));
        }
        for number in 0..people {
            clients.push(client(number, tools.person_token(&format!("person-{number}@example.com"), GROUP)?));
        }
        let reader = client(0, tools.agent_token("reader")?);
        let (history, ending) = (Arc::<History>::default(), Arc::<Ending>::default());
        let pause = Duration::from_millis(options.pause_ms);
        let actor = |(number, client): (usize, &Client)| {
            let (history, ending) = (Arc::clone(&history), Arc::clone(&ending));
            let actor = Actor { number, client: client.clone(), history, ending };
            if number < options.agents { tokio::spawn(work(actor, pause)) } else { tokio::spawn(approve(actor, pause)) }
        };
        let working = clients.iter().enumerate().map(actor).collect();
        let reading = (0..urls.len()).map(|node| {
            let reader = Reader { node, client: reader.only(node), history: Arc::clone(&history) };
            tokio::spawn(reader.read(Arc::clone(&ending)))
        });
        let reading = reading.collect();
        Ok(Self { history, clients, ending, working, reading })
    }

    /// Ends it, with so much patience for what is under way; notes what was done and read.
    pub(crate) async fn end(self, patience: Duration, figures: &mut Figures) -> Result<Ended, Error> {
        self.ending.begin(patience);
        for actor in self.working {
            actor.await?;
        }
        for reader in self.reading {
            let readings = reader.await?;
            figures.reads = (figures.reads.0 + readings.reads, figures.reads.1 + readings.unanswered);
            figures.violations.extend(readings.violations);
        }
        let writes = self.history.writes();
        (figures.runs, figures.calls) = (writes.iter().filter(|w| w.tool == "start_run").count(), writes.len());
        figures.longest_gap_ms = self.history.longest_gap_ms();
        Ok(Ended { history: self.history, clients: self.clients })
    }
}
