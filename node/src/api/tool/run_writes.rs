//! `cancel` and `send_event`.

use quorate_proto::Caller;
use quorate_proto::shard::Action;

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn cancel(&self, caller: &Caller, a: &Arguments) -> Answer {
        let reason = a.not_blank("reason")?;
        let (group, run) = self.place(&a.need("runId")?)?;
        self.write(caller, "cancel", a, group, Action::Cancel { run, reason }).await
    }

    pub(in crate::api) async fn send_event(&self, caller: &Caller, a: &Arguments) -> Answer {
        let (group, run) = self.place(&a.need("runId")?)?;
        // The name's form is judged in the run's turn: an ended run comes first (ERR-TOOLS).
        let action = Action::SendEvent { run, name: a.need("name")?, data: a.object("data") };
        self.write(caller, "send_event", a, group, action).await
    }
}
