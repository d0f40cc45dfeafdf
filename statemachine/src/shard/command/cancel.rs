//! `cancel` (§3.5).

use quorate_proto::{CallerKind, Reply, RunId};

use super::Call;
use crate::shard::advance::end;
use crate::shard::change::Writes;
use crate::shard::refuse::{self, Stop};

/// Cancels a run; only an operator may (OPERATOR).
pub(super) fn execute(call: &Call, run: RunId, reason: &str) -> Result<(Writes, Reply), Stop> {
    let mut change = call.open(run)?;
    let caller = call.caller();
    if caller.kind != CallerKind::Human || !caller.operator {
        return Err(
            refuse::forbidden("Only an operator cancels a run. Ask one of the organization's operators.").into()
        );
    }
    end(&mut change, None, &caller.id, Some(reason.to_owned()))?;
    let reply = Reply::Run(change.seen());
    call.finish(change, reply)
}
