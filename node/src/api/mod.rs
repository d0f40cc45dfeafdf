//! The tools of §4: a name, a caller and arguments in, the envelope out. No HTTP and no MCP here.
//!
//! A write goes: arguments judged by our schemas → token or id verified, shard found, facts gathered → proposed →
//! reply turned into the result (design §3). What a call may do is the state machine's to judge.

mod arguments;
mod catalog;
mod cursor;
mod entropy;
pub mod envelope;
mod facts;
mod file;
mod join;
mod keys;
mod merge;
mod read;
mod route;
mod schema;
mod seal;
mod settings;
#[cfg(test)]
mod tests;
mod token;
mod tool;
mod tools;
mod url;
mod write;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use agentprocess::json::Value;
use quorate_proto::Caller;
use quorate_statemachine::shard::Definitions;
use tokio::sync::Semaphore;

pub use arguments::DEPTH_MAX;
pub use entropy::{Entropy, Os};
pub use file::{FileBody, FileError};
pub use settings::Settings;
pub use tools::{Tool, tools};

use crate::clock::Clock;
use crate::groups::Groups;
use arguments::Arguments;
use envelope::Answer;
use tools::Id;

/// Whether anybody of an organization is known to be in a group.
pub type Attended = Box<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// The tools over the groups of a cluster.
pub struct Api<G> {
    groups: Arc<G>,
    settings: Settings,
    clock: Arc<Clock>,
    entropy: Box<dyn Entropy>,
    ring: keys::Ring,
    definitions: Arc<Definitions>,
    numbers: write::Numbers,
    attended: Attended,
    /// Turns of reads that take long or much memory.
    turns: Semaphore,
}

/// How long a client waits for an answer.
const CALL_LIMIT: Duration = Duration::from_secs(10);
/// The same for `upload`, which writes a file in many entries.
const UPLOAD_LIMIT: Duration = Duration::from_secs(30);

impl<G: Groups> Api<G> {
    /// The tools, with the operating system's randomness.
    pub fn new(groups: Arc<G>, settings: Settings, clock: Arc<Clock>) -> Self {
        Self::with_entropy(groups, settings, clock, Box::new(Os))
    }

    /// The tools, with `entropy` for ids and keys.
    pub fn with_entropy(groups: Arc<G>, settings: Settings, clock: Arc<Clock>, entropy: Box<dyn Entropy>) -> Self {
        let definitions = Arc::new(Definitions::default());
        let numbers = write::Numbers::new(groups.shards());
        // Without other knowledge every group is taken to have somebody in it.
        let attended: Attended = Box::new(|_, _| true);
        let turns = Semaphore::new(read::TURNS);
        Self { groups, settings, clock, entropy, ring: keys::Ring::default(), definitions, numbers, attended, turns }
    }

    /// The same, told who is known to be in which group (ESC-WHERE).
    #[must_use]
    pub fn with_attended(self, attended: Attended) -> Self {
        Self { attended, ..self }
    }

    /// The groups it works on.
    pub fn groups(&self) -> &Arc<G> {
        &self.groups
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The node's clock.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Calls a tool with its arguments as the JSON text that was sent, and returns the whole envelope; `None` when there
    /// is no such tool.
    pub async fn call(&self, caller: &Caller, tool: &str, arguments: impl AsRef<[u8]>) -> Option<Value> {
        let tool = tools::find(tool)?;
        let read = Arguments::read(tool, &self.settings, arguments.as_ref());
        // It may be as large as an upload, and is not looked at again.
        drop(arguments);
        let answer = match read {
            Ok(arguments) => self.answer(caller, tool, &arguments).await,
            Err(refusal) => Err(refusal),
        };
        Some(match answer {
            Ok(data) => envelope::ok(data),
            Err(refusal) => envelope::refused(&refusal),
        })
    }

    /// The envelope for a call that is larger than a request may be, so that its arguments are not even here.
    pub fn too_large(&self, tool: &str) -> Value {
        let issue = match tools::find(tool).map(|tool| tool.id) {
            Some(Id::Upload) => tool::over(self.settings.upload_bytes_max),
            Some(_) | None => format!("arguments: over {} bytes", arguments::bytes_max(&self.settings)),
        };
        envelope::refused(&envelope::invalid(vec![issue]))
    }

    /// The envelope for a call that waited too long for room on this node.
    pub fn busy(&self) -> Value {
        envelope::refused(&envelope::retry("it has as much to work on as it can hold"))
    }

    /// How long a client waits for a tool's answer at most, whatever the call goes through: shards, elections, turns.
    pub fn limit(&self, tool: &str) -> Duration {
        match tools::find(tool).map(|tool| tool.id) {
            Some(Id::Upload) => UPLOAD_LIMIT,
            Some(_) | None => CALL_LIMIT,
        }
    }

    /// The envelope for a call that is not answered within its limit. It may still do what it was asked for.
    pub fn late(&self, tool: &str) -> Value {
        envelope::refused(&envelope::retry(&format!("it was not done within {} s", self.limit(tool).as_secs())))
    }

    async fn answer(&self, caller: &Caller, tool: &Tool, a: &Arguments) -> Answer {
        match tool.id {
            Id::Describe => Ok(self.describe()),
            Id::ListProcesses => self.list_processes(caller, a).await,
            Id::StartRun => self.start_run(caller, a).await,
            Id::GetRun => self.get_run(caller, a).await,
            Id::GetWork => self.get_work(caller, a).await,
            Id::Claim => self.claim(caller, a).await,
            Id::Renew => self.renew(caller, a).await,
            Id::Upload => self.upload(caller, a).await,
            Id::Submit => self.submit(caller, a).await,
            Id::Escalate => self.escalate(caller, a).await,
            Id::Decide => self.decide(caller, a).await,
            Id::Cancel => self.cancel(caller, a).await,
            Id::SendEvent => self.send_event(caller, a).await,
            Id::ListRuns => self.list_runs(caller, a).await,
        }
    }
}

/// Lower-case hex.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, b| {
        let _ = write!(hex, "{b:02x}");
        hex
    })
}
