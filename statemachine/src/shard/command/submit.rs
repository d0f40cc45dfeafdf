//! `submit` (§3.3, §6.3).

use agentprocess::StepKind;
use quorate_proto::Reply;
use quorate_proto::shard::{Submission, Token};

use super::Call;
use crate::shard::accept;
use crate::shard::change::Writes;
use crate::shard::refuse::Stop;
use crate::shard::settle::settle;
use crate::store::Fatal;

/// Completes the claimed step, or refuses with every issue; then the claim stands.
pub(super) fn execute(call: &Call, token: &Token, submission: &Submission) -> Result<(Writes, Reply), Stop> {
    let (mut change, step, _) = call.open_token(token)?;
    let definition = std::sync::Arc::clone(&change.definition);
    let StepKind::Agent(work) = &definition.process.steps[step].kind else {
        return Err(Fatal(format!("run {}: a claim on a step that is not an agent's", token.run)).into());
    };
    let bytes_max = call.limits().run_data_bytes_max;
    accept::complete_work(&mut change, step, work, (&call.caller().id, false), submission, bytes_max)?;
    settle(&mut change)?;
    let reply = Reply::Run(change.seen());
    call.finish(change, reply)
}
