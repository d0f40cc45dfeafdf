//! `submit` and `escalate`.

use quorate_proto::shard::Action;
use quorate_proto::{Caller, CallerKind, GroupId, Refusal, RunId};
use quorate_statemachine::shard::read;

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn submit(&self, caller: &Caller, a: &Arguments) -> Answer {
        let (group, token) = self.verify_token(caller, &a.need("token")?).await?;
        let holds = caller.kind == CallerKind::Agent && caller.id == token.holder;
        let submission = self.submission(caller, a, holds).await?;
        self.write(caller, "submit", a, group, Action::Submit { token, submission }).await
    }

    pub(in crate::api) async fn escalate(&self, caller: &Caller, a: &Arguments) -> Answer {
        let note = a.not_blank("note")?;
        let (group, token) = self.verify_token(caller, &a.need("token")?).await?;
        let run = token.run;
        let unseen = self.unattended(&caller.org, group, run).await?;
        let action = Action::Escalate { token, note, attended: unseen.is_none() };
        let answer = self.write(caller, "escalate", a, group, action).await;
        if let (Ok(_), Some(decides)) = (&answer, unseen) {
            tracing::warn!(org = caller.org, group = decides, %run, "escalated to a group that nobody is known to be in");
        }
        answer
    }

    /// The group that decides a run's escalations, when nobody is known to be in it (ESC-WHERE).
    async fn unattended(&self, org: &str, group: GroupId, run: RunId) -> Result<Option<String>, Refusal> {
        let owner = org.to_owned();
        let read = self.read(group, move |state, _, _| {
            let Some(place) = read::run_place(state, &owner, run)? else { return Ok(None) };
            read::version(state, &owner, &place.process, place.version)
        });
        // A run that is not there is refused in its turn.
        Ok(read.await?.map(|version| version.escalations).filter(|decides| !(self.attended)(org, decides)))
    }
}
