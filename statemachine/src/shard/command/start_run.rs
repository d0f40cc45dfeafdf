//! `start_run` (§4.1).

use agentprocess::IssueList;
use agentprocess::json::Object;
use quorate_proto::{CallerKind, Code, Refusal, Reply, RunId};

use super::Call;
use crate::shard::change::{Change, Writes};
use crate::shard::event::Started;
use crate::shard::refuse::{self, Stop};
use crate::shard::settle::settle;
use crate::shard::{accept, advance, data, read};

/// Starts a run; its first step is ready, or further on, when this returns.
pub(super) fn execute(
    call: &Call,
    run: RunId,
    (process, number): (&str, u32),
    inputs: &Object,
    test: bool,
) -> Result<(Writes, Reply), Stop> {
    let caller = call.caller();
    let Some(version) = read::version(call.store, &caller.org, process, number)? else {
        let message = "No such process or version in this organization. See list_processes.";
        return Err(Refusal::new(Code::NotFound, message).into());
    };
    // ERR-TOOLS names the process first; the id stands between what is unknown and what is forbidden (ERR-ORDER 4, 6, 7).
    call.check_request()?;
    if caller.processes.as_ref().is_some_and(|allowed| !allowed.contains(process)) {
        return Err(refuse::forbidden("This agent may not work on this process.").into());
    }
    if read::any_head(call.store, run)?.is_some() {
        return Err(Refusal::new(Code::Retry, "The run's id is taken. Call again with the same requestId.").into());
    }
    let definition = call.definitions.get(call.store, &caller.org, process, number)?;
    let person = caller.kind == CallerKind::Human;
    let started = Started {
        org: caller.org.clone(),
        process: process.to_owned(),
        version: number,
        hash: version.hash.clone(),
        test,
        by: caller.id.clone(),
        initiator: person.then(|| read::person_value(caller).to_owned()),
        inputs: inputs.clone(),
        bytes: data::value_bytes(&inputs.clone().into()),
        steps: advance::position(definition.process.steps.len())?,
    };
    let mut issues = IssueList::default();
    definition.process.inputs.judge("inputs", inputs, &mut issues);
    // A run started by an agent has no initiator (START-INITIATOR).
    if let Some(step) = definition.process.initiator_step().filter(|_| !person) {
        issues.add(format!("steps.{}.person: initiator, so a person must start this process", step.id));
    }
    let mut change = Change::begin(call.store, definition, version, (run, call.at), started);
    if data::bytes(&change.head, change.process()) > call.limits().run_data_bytes_max {
        issues.add(accept::over(call.limits().run_data_bytes_max));
    }
    if !issues.is_empty() {
        return Err(refuse::invalid(issues.into_vec()).into());
    }
    advance::reach(&mut change, 0)?;
    settle(&mut change)?;
    let reply = Reply::Run(change.seen());
    call.finish(change, reply)
}
