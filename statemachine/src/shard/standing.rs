//! Who may hand in work, as far as a read can tell: for the edge to ask before it gathers facts that cost much. The
//! command judges again in its turn.

use agentprocess::same_person;
use quorate_proto::shard::Token;
use quorate_proto::{Caller, CallerKind, RunId, WorkItemId};

use super::definitions::Definitions;
use super::head::Assigned;
use super::journal::Journal;
use super::{data, read};
use crate::store::{Fatal, Read};

/// Whether the token's claim is the step's present one. One that is not never is again. Whether its time is over is left to
/// the command, whose clock decides.
pub fn claim_stands(store: &dyn Read, org: &str, token: &Token) -> Result<bool, Fatal> {
    let Some(head) = read::head(store, org, token.run)?.filter(|head| head.ended.is_none()) else { return Ok(false) };
    let claim = head.steps.get(token.step as usize).and_then(|step| step.claim.as_ref());
    Ok(claim.is_some_and(|claim| claim.number == token.number && claim.holder == token.holder))
}

/// Whether the caller decides this open item, and saw the run's data as they are.
pub fn may_complete(
    store: &dyn Read,
    definitions: &Definitions,
    caller: &Caller,
    (run, work_item, snapshot): (RunId, &str, &str),
) -> Result<bool, Fatal> {
    let Some(head) = read::head(store, &caller.org, run)?.filter(|head| head.ended.is_none()) else { return Ok(false) };
    let id = work_item.parse::<WorkItemId>().ok().filter(|id| id.run == run);
    let item = id.and_then(|id| head.open_item(id.number));
    if !item.is_some_and(|(_, item)| may_decide(caller, &item.assigned)) {
        return Ok(false);
    }
    let definition = definitions.of(store, &head)?;
    let run_data = data::run_data(&head, &definition.process, &Journal::new(store, run))?;
    Ok(data::snapshot(&run_data) == snapshot)
}

/// Whether the caller is a person the item is assigned to, at this moment (GROUP-LIVE).
pub(super) fn may_decide(caller: &Caller, assigned: &Assigned) -> bool {
    caller.kind == CallerKind::Human
        && match assigned {
            Assigned::Group(group) => caller.groups.contains(group),
            Assigned::Person(person) => same_person(read::person_value(caller), person),
        }
}
