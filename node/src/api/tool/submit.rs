//! `submit` and `escalate`.

use quorate_proto::shard::Action;
use quorate_proto::{Caller, CallerKind, GroupId, Refusal, RunId};
use quorate_statemachine::shard::{Definitions, read};
use quorate_statemachine::store::Read;

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn submit(&self, caller: &Caller, a: &Arguments) -> Answer {
        let (group, token) = self.verify_token(caller, &a.need("token")?).await?;
        let holds = caller.kind == CallerKind::Agent && caller.id == token.holder;
        let (org, claim) = (caller.org.clone(), token.clone());
        let stands = move |state: &dyn Read, _: &Definitions| Ok(holds && read::claim_stands(state, &org, &claim)?);
        let submission = self.submission(caller, a, group, holds.then_some(stands)).await?;
        self.write(caller, "submit", a, group, Action::Submit { token, submission }).await
    }

    pub(in crate::api) async fn escalate(&self, caller: &Caller, a: &Arguments) -> Answer {
        let note = a.not_blank("note")?;
        let (group, token) = self.verify_token(caller, &a.need("token")?).await?;
        let attended = self.attended(&caller.org, group, token.run).await?;
        self.write(caller, "escalate", a, group, Action::Escalate { token, note, attended }).await
    }

    /// Whether anybody may be in the group that decides a run's escalations. When not, a notification tells the operators.
    async fn attended(&self, org: &str, group: GroupId, run: RunId) -> Result<bool, Refusal> {
        let owner = org.to_owned();
        let read = self.read(group, move |state, _, _| {
            let Some(place) = read::run_place(state, &owner, run)? else { return Ok(None) };
            read::version(state, &owner, &place.process, place.version)
        });
        // A run that is not there is refused in its turn.
        Ok(read.await?.is_none_or(|version| (self.attended)(org, &version.escalations)))
    }
}
