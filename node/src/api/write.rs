//! One write: propose it, and turn the reply into the result. Originals and replays take the same way (IDEM-ORIGINAL).

use std::sync::atomic::{AtomicU64, Ordering};

use agentprocess::json::{Object, Value};
use quorate_proto::shard::{Action, Write};
use quorate_proto::{Caller, Claim, Command, GroupId, Outcome, Refusal, Reply, Seen};
use quorate_statemachine::coordinate::{Coordinator, Next};
use quorate_statemachine::shard::{Definitions, read};
use quorate_statemachine::store::Read;

use super::arguments::Arguments;
use super::envelope::{Answer, retry};
use super::url::Signer;
use super::{Api, hex, route, token};
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
        token::log_other_holder(&write);
        let reply = self.coordinate(write, group).await?;
        self.result(&caller.org, group, reply).await
    }

    /// Leads a write through its request id's home and the shard of its run, which are often two (design §4).
    async fn coordinate(&self, write: Write, group: GroupId) -> Outcome {
        let GroupId::Shard(target) = group else { return Err(retry("the catalog holds no runs")) };
        let home = if cfg!(feature = "lost-reservation") {
            target
        } else {
            route::home(&write.caller.org, &write.request, self.groups.shards())
        };
        let mut call = Coordinator::new(write, home, target, self.numbers.last(home));
        loop {
            match call.next() {
                Next::Propose(shard, command) => {
                    match self.groups.propose(GroupId::Shard(shard), Command::Shard(command)).await {
                        Ok(outcome) => call.told(outcome),
                        Err(unknown) => return Err(call.refusal().cloned().unwrap_or_else(|| unknown.into())),
                    }
                }
                Next::Done(outcome) => {
                    self.numbers.learn(home, call.last());
                    return outcome;
                }
            }
        }
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
            Reply::Done | Reply::Catalog(_) | Reply::Request(_) => Err(retry("the shard answered something else")),
        }
    }

    async fn run_view(&self, org: &str, group: GroupId, seen: Seen) -> Answer {
        let (mut view, at) =
            self.read_answered(group, move |state, definitions| read::run_at(state, definitions, &seen)).await?;
        self.signer(&self.signing_key().await?, org, at).view(&mut view);
        Ok(view)
    }

    async fn claim_view(&self, org: &str, group: GroupId, seen: Seen, claim: Claim) -> Answer {
        let token = self.token(org, &claim).await?;
        let view =
            move |state: &dyn Read, definitions: &Definitions| read::claim_view(state, definitions, &seen, &claim);
        let (mut view, at) = self.read_answered(group, view).await?;
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

/// The last number of each shard that this node was told. Only a hint: with an old one, a write at home takes one more
/// round.
pub(crate) struct Numbers(Vec<AtomicU64>);

impl Numbers {
    /// None known, for so many shards.
    pub(crate) fn new(shards: u16) -> Self {
        Self((0..shards).map(|_| AtomicU64::new(0)).collect())
    }

    fn last(&self, shard: u16) -> u64 {
        self.0.get(usize::from(shard)).map_or(0, |last| last.load(Ordering::Relaxed))
    }

    fn learn(&self, shard: u16, last: u64) {
        if let Some(known) = self.0.get(usize::from(shard)) {
            known.fetch_max(last, Ordering::Relaxed);
        }
    }
}
