//! One write: propose it, and turn the reply into the result. Originals and replays take the same way (IDEM-ORIGINAL).

use agentprocess::json::{Object, Value};
use quorate_proto::shard::{Action, ShardCommand, Write};
use quorate_proto::{Caller, Claim, Command, GroupId, Refusal, Reply, Seen};
use quorate_statemachine::shard::read;

use super::arguments::Arguments;
use super::envelope::{Answer, retry};
use super::url::Signer;
use super::{Api, hex, token};
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    /// Proposes `action` under the call's request id in `group` and answers with its result.
    pub(crate) async fn write(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: &Arguments,
        group: GroupId,
        action: Action,
    ) -> Answer {
        let write = Write {
            caller: caller.clone(),
            request: arguments.need("requestId")?,
            fingerprint: arguments.fingerprint(tool, caller),
            limits: self.settings.limits(),
            action,
        };
        let reply = self.groups.propose(group, Command::Shard(ShardCommand::Write(Box::new(write)))).await??;
        self.result(&caller.org, group, reply).await
    }

    /// A reply as the tool's `data`.
    async fn result(&self, org: &str, group: GroupId, reply: Reply) -> Answer {
        match reply {
            Reply::Run(seen) => self.run_view(org, group, seen).await,
            Reply::Claimed { seen, claim } => self.claim_view(org, group, seen, claim).await,
            Reply::Renewed { claim } => {
                let mut data = Object::new();
                data.set("token", self.token(org, &claim).await?).set("expiresAt", claim.expires.to_string());
                Ok(data.into())
            }
            Reply::EventSent { consumed_by } => {
                let mut data = Object::new();
                data.set("consumedBy", consumed_by);
                Ok(data.into())
            }
            Reply::Uploaded { file, sha256, bytes } => {
                let mut data = Object::new();
                data.set("id", file.to_string()).set("sha256", hex(&sha256)).set("bytes", bytes);
                Ok(data.into())
            }
            // No write of §4 is answered so.
            Reply::Done | Reply::Catalog(_) => Err(retry("the shard answered something else")),
        }
    }

    async fn run_view(&self, org: &str, group: GroupId, seen: Seen) -> Answer {
        let view = self.read(group, move |state, definitions, at| Ok((read::run_at(state, definitions, &seen)?, at)));
        let (mut view, at) = view.await?;
        self.signer(&self.signing_key().await?, org, at).view(&mut view);
        Ok(view)
    }

    async fn claim_view(&self, org: &str, group: GroupId, seen: Seen, claim: Claim) -> Answer {
        let token = self.token(org, &claim).await?;
        let view = self
            .read(group, move |state, definitions, at| Ok((read::claim_view(state, definitions, &seen, &claim)?, at)));
        let (mut view, at) = view.await?;
        self.signer(&self.signing_key().await?, org, at).view(&mut view);
        let mut data = Object::new();
        data.set("token", token);
        if let Value::Object(view) = view {
            for (key, value) in view.iter() {
                data.set(key, value.clone());
            }
        }
        Ok(data.into())
    }

    async fn token(&self, org: &str, claim: &Claim) -> Result<String, Refusal> {
        let key = self.key(claim.key).await?.ok_or_else(|| retry("the token's key is not known here yet"))?;
        Ok(token::make(&key, org, claim))
    }

    /// Signs the file urls of a view made at `at`.
    pub(crate) fn signer<'a>(
        &'a self,
        key: &'a super::keys::Key,
        org: &'a str,
        at: agentprocess::time::Timestamp,
    ) -> Signer<'a> {
        Signer::new(key, &self.settings.public_url, org, at, self.settings.url_ttl)
    }
}
