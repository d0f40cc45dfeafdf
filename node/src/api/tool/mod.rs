//! One file per tool or family: from arguments to a read or a command.

mod claim;
mod decide;
mod describe;
mod get_run;
mod get_work;
mod list_processes;
mod list_runs;
mod run_writes;
mod start_run;
mod submit;
mod upload;

pub(super) use upload::over;

use quorate_proto::{GroupId, Refusal, RunId};
use quorate_statemachine::shard::refuse::run_not_found;

use super::{Api, route};
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    /// The run an id names and its group. What is not an id of ours is a run that does not exist, in the same words.
    fn place(&self, id: &str) -> Result<(GroupId, RunId), Refusal> {
        let run: RunId = id.parse().map_err(|_| run_not_found())?;
        route::run(run, self.groups.shards()).map(|group| (group, run)).ok_or_else(run_not_found)
    }
}
