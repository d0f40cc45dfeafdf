//! `decide`: the cross-argument rules here, since they need no state (DECIDE-ORDER); the rest in the run's turn.

use quorate_proto::shard::{Action, Decide, Decision};
use quorate_proto::{Caller, CallerKind};
use quorate_statemachine::shard::{Definitions, read};
use quorate_statemachine::store::Read;

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::envelope::{Answer, invalid};
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn decide(&self, caller: &Caller, a: &Arguments) -> Answer {
        let decision = a.need("decision")?;
        let issues = issues(a, &decision);
        if !issues.is_empty() {
            return Err(invalid(issues));
        }
        let (group, run) = self.place(&a.need("runId")?)?;
        let (work_item, snapshot) = (a.need("workItemId")?, a.need("snapshot")?);
        let decision = match decision.as_str() {
            "completed" => {
                let (asks, item, seen) = (caller.clone(), work_item.clone(), snapshot.clone());
                let may = move |state: &dyn Read, definitions: &Definitions| {
                    read::may_complete(state, definitions, &asks, (run, &item, &seen))
                };
                let human = caller.kind == CallerKind::Human;
                Decision::Completed(self.submission(caller, a, group, human.then_some(may)).await?)
            }
            "approved" => Decision::Approved { note: a.unless_blank("note") },
            "rejected" => Decision::Rejected { note: a.not_blank("note")? },
            "returned" => Decision::Returned { note: a.not_blank("note")? },
            _ => Decision::Failed { note: a.not_blank("note")? },
        };
        let decide = Decide { run, work_item, snapshot, decision };
        self.write(caller, "decide", a, group, Action::Decide(Box::new(decide))).await
    }
}

/// What does not go together (DECIDE-ARGS, NOTE-BLANK).
fn issues(a: &Arguments, decision: &str) -> Vec<String> {
    if decision == "completed" {
        return if a.has("note") { vec!["note: not with completed; say it in summary".to_owned()] } else { vec![] };
    }
    let work = ["output", "evidence", "summary", "next", "reason"];
    let mut issues: Vec<_> =
        work.iter().filter(|name| a.has(name)).map(|name| format!("{name}: only with completed")).collect();
    if decision != "approved" && a.unless_blank("note").is_none() {
        issues.push("note: required".to_owned());
    }
    issues
}
