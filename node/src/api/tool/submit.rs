//! `submit` and `escalate`.

use quorate_proto::Caller;
use quorate_proto::shard::Action;

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn submit(&self, caller: &Caller, a: &Arguments) -> Answer {
        let (group, token) = self.verify_token(caller, &a.need("token")?).await?;
        let submission = self.submission(caller, a).await?;
        self.write(caller, "submit", a, group, Action::Submit { token, submission }).await
    }

    pub(in crate::api) async fn escalate(&self, caller: &Caller, a: &Arguments) -> Answer {
        let note = a.not_blank("note")?;
        let (group, token) = self.verify_token(caller, &a.need("token")?).await?;
        self.write(caller, "escalate", a, group, Action::Escalate { token, note }).await
    }
}
