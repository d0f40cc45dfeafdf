//! `claim` and `renew`.

use quorate_proto::Caller;
use quorate_proto::shard::Action;

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn claim(&self, caller: &Caller, a: &Arguments) -> Answer {
        let (group, run) = self.place(&a.need("runId")?)?;
        let action = Action::Claim { run, step: a.need("stepId")?, key: self.signing_key().await?.id };
        self.write(caller, "claim", a, group, action).await
    }

    pub(in crate::api) async fn renew(&self, caller: &Caller, a: &Arguments) -> Answer {
        let (group, token) = self.verify_token(caller, &a.need("token")?).await?;
        // An empty note must not lose the only trace of work (RENEW-RACE).
        let progress = a.unless_blank("progress");
        let action = Action::Renew { token, progress, key: self.signing_key().await?.id };
        self.write(caller, "renew", a, group, action).await
    }
}
