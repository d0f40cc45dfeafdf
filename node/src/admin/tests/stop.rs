//! Calls end well when the client goes away.

use std::sync::atomic::{AtomicBool, Ordering};

use agentprocess::time::{Span, Timestamp};
use quorate_proto::{Command, GroupId, Refusal, Reply};
use tokio::sync::Notify;

use super::*;
use crate::admin::reach::{Boxed, Job};
use crate::groups::Unavailable;

/// The groups, with shards that learn of new roles when they are let.
struct Slow {
    inner: Arc<Api<MemoryGroups>>,
    begun: Notify,
    go_on: Notify,
    spread: AtomicBool,
}

impl Reach for Slow {
    fn shards(&self) -> u16 {
        self.inner.shards()
    }

    fn clock(&self) -> &Clock {
        Reach::clock(&*self.inner)
    }

    fn propose(&self, group: GroupId, command: Command) -> Boxed<'_, Result<Result<Reply, Refusal>, Unavailable>> {
        self.inner.propose(group, command)
    }

    fn look(&self, group: GroupId, job: Job) -> Boxed<'_, Result<(), Unavailable>> {
        self.inner.look(group, job)
    }

    fn join_token(&self, ttl: Span) -> Boxed<'_, Result<(String, Timestamp), Refusal>> {
        Reach::join_token(&*self.inner, ttl)
    }

    fn settle(&self) -> Boxed<'_, Result<(), Unavailable>> {
        self.inner.settle()
    }

    fn spread_roles<'a>(&'a self, org: &'a str, process: &'a str, version: u32) -> Boxed<'a, Result<(), Refusal>> {
        Box::pin(async move {
            self.begun.notify_one();
            self.go_on.notified().await;
            self.inner.spread_roles(org, process, version).await?;
            self.spread.store(true, Ordering::SeqCst);
            Ok(())
        })
    }
}

/// The catalog has the new roles by then; shards that never hear of them would go on with the old.
#[tokio::test]
async fn new_roles_reach_the_shards_when_the_client_goes_away() {
    let mut world = World::new();
    world.release(&with_role("Body."), json!({ "lead": "g_1" })).await;
    let inner = Arc::clone(&world.api);
    let slow = Arc::new(Slow { inner, begun: Notify::new(), go_on: Notify::new(), spread: AtomicBool::new(false) });
    world.serve(Arc::clone(&slow) as Arc<dyn Reach>, Vec::new(), Vec::new(), None);
    {
        let call = world.done("PUT", "/processes/p/versions/1/roles", r#"{"roles":{"lead":"g_2"}}"#);
        tokio::select! {
            answer = call => panic!("answered before the shards know: {answer}"),
            () = slow.begun.notified() => (),
        }
        // Here the call is dropped, as a server drops it with its connection.
    }
    slow.go_on.notify_one();
    let told = async {
        while !slow.spread.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), told).await.expect("the shards know");
}
