//! One file per write of §4.

mod cancel;
mod claim;
mod decide;
mod escalate;
mod renew;
mod send_event;
mod start_run;
mod submit;
mod upload;

use agentprocess::time::Timestamp;
use quorate_proto::shard::{Action, Limits, Token, Write};
use quorate_proto::{Caller, CallerKind, Code, Refusal, Reply, RunId};

use super::change::{Change, Writes};
use super::definitions::Definitions;
use super::head::{ClaimHead, Head};
use super::read;
use super::refuse::{self, Stop};
use crate::store::Read;

/// What every command is judged with.
pub(super) struct Call<'a> {
    pub(super) store: &'a dyn Read,
    pub(super) definitions: &'a Definitions,
    pub(super) write: &'a Write,
    pub(super) at: Timestamp,
    /// Whether another call has used the request id (refused at its place in ERR-ORDER).
    pub(super) reused: bool,
}

impl<'a> Call<'a> {
    fn caller(&self) -> &'a Caller {
        &self.write.caller
    }

    fn limits(&self) -> Limits {
        self.write.limits
    }

    fn check_request(&self) -> Result<(), Refusal> {
        if self.reused { Err(refuse::request_id_reused()) } else { Ok(()) }
    }

    /// The run of a call that names it: unknown, then ended, then a reused request id (ERR-ORDER 4 to 6).
    fn open(&self, run: RunId) -> Result<Change<'a>, Stop> {
        let head = self.find(run)?.ok_or_else(refuse::run_not_found)?;
        self.open_head(head)
    }

    /// The run and step of a token: then the holder (TOKEN-OTHER), then whether the claim is current (TOKEN-FORM).
    fn open_token(&self, token: &Token) -> Result<(Change<'a>, usize, ClaimHead), Stop> {
        let unknown =
            || Refusal::new(Code::Invalid, "This token is not one of this server. Claim the step to get one.");
        let head = self.find(token.run)?.ok_or_else(unknown)?;
        let change = self.open_head(head)?;
        if self.caller().kind != CallerKind::Agent || self.caller().id != token.holder {
            return Err(refuse::forbidden("This token belongs to another caller. Claim a step of your own.").into());
        }
        let step = token.step as usize;
        let claim = change.head.steps.get(step).and_then(|s| s.claim.clone());
        let current = |c: &ClaimHead| c.number == token.number || cfg!(feature = "reused-token");
        match claim.filter(|c| current(c) && c.holder == token.holder && self.at < c.expires) {
            Some(claim) => Ok((change, step, claim)),
            None => Err(refuse::stale_token().into()),
        }
    }

    fn find(&self, run: RunId) -> Result<Option<Head>, Stop> {
        Ok(read::head(self.store, &self.caller().org, run)?)
    }

    fn open_head(&self, head: Head) -> Result<Change<'a>, Stop> {
        if head.ended.is_some() {
            return Err(refuse::run_ended().into());
        }
        self.check_request()?;
        Ok(Change::open(self.store, self.definitions, head, self.at)?)
    }

    /// Stores a change under this call's name and request id.
    fn finish(&self, change: Change, reply: Reply) -> Result<(Writes, Reply), Stop> {
        Ok((change.finish(&self.caller().id, Some(&self.write.request))?, reply))
    }
}

/// Judges a write. Nothing is changed unless the writes it returns are applied.
pub(super) fn execute(call: &Call) -> Result<(Writes, Reply), Stop> {
    match &call.write.action {
        Action::StartRun { run, process, version, inputs, test } => {
            start_run::execute(call, *run, (process, *version), inputs, *test)
        }
        Action::Claim { run, step, key } => claim::execute(call, *run, step, *key),
        Action::Renew { token, progress, key } => renew::execute(call, token, progress.as_deref(), *key),
        Action::Submit { token, submission } => submit::execute(call, token, submission),
        Action::Escalate { token, note, attended } => escalate::execute(call, token, note, *attended),
        Action::Decide(decide) => decide::execute(call, decide),
        Action::Cancel { run, reason } => cancel::execute(call, *run, reason),
        Action::SendEvent { run, name, data } => send_event::execute(call, *run, name, data.as_ref()),
        Action::Upload { .. } => upload::execute(call),
    }
}

/// The run that a write names, except the one that `start_run` makes.
pub(super) fn target(action: &Action) -> Option<RunId> {
    match action {
        Action::StartRun { .. } | Action::Upload { .. } => None,
        Action::Claim { run, .. } | Action::Cancel { run, .. } | Action::SendEvent { run, .. } => Some(*run),
        Action::Renew { token, .. } | Action::Submit { token, .. } | Action::Escalate { token, .. } => Some(token.run),
        Action::Decide(decide) => Some(decide.run),
    }
}
