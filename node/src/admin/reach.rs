//! What administration asks of the node behind it. An object, so that the routes need not be generic.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use agentprocess::time::{Span, Timestamp};
use quorate_proto::catalog::{CatalogCommand, CatalogReply};
use quorate_proto::{Command, GroupId, Refusal, Reply};
use quorate_statemachine::store::{Fatal, Read};
use quorate_statemachine::{catalog, shard};

use super::error::Fault;
use crate::api::Api;
use crate::clock::Clock;
use crate::groups::{Groups, Unavailable};
use crate::timers;

/// A future of an object.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// What is done with a consistent state.
pub type Job = Box<dyn Fn(&dyn Read, Timestamp) + Send>;

/// The node behind.
pub trait Reach: Send + Sync {
    /// How many shards there are.
    fn shards(&self) -> u16;
    /// The node's clock.
    fn clock(&self) -> &Clock;
    /// See [`Groups::propose`].
    fn propose(&self, group: GroupId, command: Command) -> Boxed<'_, Result<Result<Reply, Refusal>, Unavailable>>;
    /// See [`Groups::read`].
    fn look(&self, group: GroupId, job: Job) -> Boxed<'_, Result<(), Unavailable>>;
    /// Fires everything that is due, until nothing is.
    fn settle(&self) -> Boxed<'_, Result<(), Unavailable>>;
    /// A token that lets a new node into the cluster for so long, and when it ends.
    fn join_token(&self, ttl: Span) -> Boxed<'_, Result<(String, Timestamp), Refusal>>;
    /// Gives a version's present role map to every shard that has it.
    fn spread_roles<'a>(&'a self, org: &'a str, process: &'a str, version: u32) -> Boxed<'a, Result<(), Refusal>>;
}

impl<G: Groups> Reach for Api<G> {
    fn shards(&self) -> u16 {
        self.groups().shards()
    }

    fn clock(&self) -> &Clock {
        Api::clock(self)
    }

    fn propose(&self, group: GroupId, command: Command) -> Boxed<'_, Result<Result<Reply, Refusal>, Unavailable>> {
        Box::pin(self.groups().propose(group, command))
    }

    fn look(&self, group: GroupId, job: Job) -> Boxed<'_, Result<(), Unavailable>> {
        Box::pin(self.groups().read(group, job))
    }

    fn settle(&self) -> Boxed<'_, Result<(), Unavailable>> {
        Box::pin(timers::settle(&**self.groups()))
    }

    fn join_token(&self, ttl: Span) -> Boxed<'_, Result<(String, Timestamp), Refusal>> {
        Box::pin(Api::join_token(self, ttl))
    }

    fn spread_roles<'a>(&'a self, org: &'a str, process: &'a str, version: u32) -> Boxed<'a, Result<(), Refusal>> {
        Box::pin(Api::spread_roles(self, org, process, version))
    }
}

/// What a read of a group makes of it.
async fn read<T: Send + 'static>(
    reach: &dyn Reach,
    group: GroupId,
    read: impl Fn(&dyn Read, Timestamp) -> Result<T, Fatal> + Send + 'static,
) -> Result<T, Fault> {
    let found = Arc::new(Mutex::new(None));
    let place = Arc::clone(&found);
    let job: Job = Box::new(move |state, at| {
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(read(state, at));
    });
    reach.look(group, job).await?;
    let read = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(read.ok_or_else(|| Fatal("the group did not read".to_owned()))??)
}

impl dyn Reach + '_ {
    /// Reads the catalog.
    pub async fn catalog<T: Send + 'static>(
        &self,
        job: impl Fn(&dyn Read) -> Result<T, Fatal> + Send + 'static,
    ) -> Result<T, Fault> {
        read(self, GroupId::Catalog, move |state, _| job(state)).await
    }

    /// Changes the catalog.
    pub async fn change(&self, command: CatalogCommand) -> Result<CatalogReply, Fault> {
        let reply = self.propose(GroupId::Catalog, Command::Catalog(command)).await??;
        let Reply::Catalog(reply) = reply else {
            return Err(Fatal(format!("not a catalog's reply: {reply:?}")).into());
        };
        Ok(reply)
    }

    /// The latest instant that any group has agreed on.
    pub async fn agreed(&self) -> Result<Timestamp, Fault> {
        let mut latest = self.catalog(catalog::read::clock).await?;
        for shard in 0..self.shards() {
            latest = latest.max(read(self, GroupId::Shard(shard), |state, _| shard::read::clock(state)).await?);
        }
        Ok(latest)
    }
}
