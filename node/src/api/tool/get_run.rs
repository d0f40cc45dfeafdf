//! `get_run`.

use quorate_proto::Caller;
use quorate_statemachine::shard::read;
use quorate_statemachine::shard::refuse::run_not_found;

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn get_run(&self, caller: &Caller, a: &Arguments) -> Answer {
        let (group, run) = self.place(&a.need("runId")?)?;
        let org = caller.org.clone();
        let seen = self.read_settled(group, Some(run), move |state, definitions, at| {
            Ok((read::get_run(state, definitions, &org, run, at)?, at))
        });
        let (view, at) = seen.await?;
        let mut view = view.ok_or_else(run_not_found)?;
        self.signer(&self.signing_key().await?, &caller.org, at).view(&mut view);
        Ok(view)
    }
}
