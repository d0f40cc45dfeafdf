//! Request ids over several shards, when proposals on the way are not answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentprocess::json::Value;
use agentprocess::time::Timestamp;
use quorate_proto::shard::ShardCommand;
use quorate_proto::{Command, GroupId, Outcome, RunId};
use quorate_statemachine::store::Read;

use super::world::{World, at, caller, simple, text, wait};
use crate::api::{Api, Settings, route};
use crate::groups::{Groups, Unavailable};
use crate::memory::MemoryGroups;

/// Groups that do not answer one of the proposals of a write.
struct Losing {
    groups: Arc<MemoryGroups>,
    /// Proposals until the one that is not answered.
    left: AtomicUsize,
    /// Whether that one is applied all the same.
    applied: bool,
}

impl Groups for Losing {
    fn shards(&self) -> u16 {
        self.groups.shards()
    }

    async fn propose(&self, group: GroupId, command: Command) -> Result<Outcome, Unavailable> {
        let counts = matches!(command, Command::Shard(ShardCommand::Write { .. } | ShardCommand::Request { .. }));
        if !counts || self.left.fetch_sub(1, Ordering::Relaxed) != 1 {
            return self.groups.propose(group, command).await;
        }
        if self.applied {
            // Whoever proposed it never hears what came of it.
            let _ = self.groups.propose(group, command).await?;
        }
        Err(Unavailable("lost".to_owned()))
    }

    async fn read<T, F>(&self, group: GroupId, read: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        self.groups.read(group, read).await
    }
}

/// A world with a run, and an id whose home is not the run's shard.
fn world() -> (World, String, String) {
    let world = World::new();
    world.publish(&simple("p1"));
    let run = text(&world.ok("a1", "start_run", r#"{"process":"p1","inputs":{},"requestId":"s"}"#), "run.id");
    let shard = run.parse::<RunId>().unwrap().0.shard;
    let id = (0..100).map(|n| format!("id-{n}")).find(|id| route::home("demo", id, 4) != shard).unwrap();
    (world, run, id)
}

/// Makes a call through a node that gets no answer to its `nth` proposal.
fn lose(world: &World, (nth, applied): (usize, bool), tool: &str, arguments: &str) -> Value {
    let groups = Losing { groups: Arc::clone(&world.groups), left: AtomicUsize::new(nth), applied };
    let node = Api::new(Arc::new(groups), Settings::new("https://q.example"), Arc::clone(&world.clock));
    wait(node.call(&caller("a1"), tool, arguments)).unwrap()
}

fn reused() -> (String, Vec<String>) {
    ("conflict".to_owned(), vec!["request_id_reused".to_owned()])
}

/// Loses each proposal of a claim in turn, and each of a start that meets what the claim left. `same` is whether the claim
/// is made again before the other call.
fn claim_is_lost(same: bool) {
    for (nth, applied) in [(1, false), (1, true), (2, false), (2, true)] {
        let (world, run, id) = world();
        let claim = format!(r#"{{"runId":"{run}","stepId":"a","requestId":"{id}"}}"#);
        let start = format!(r#"{{"process":"p1","inputs":{{}},"requestId":"{id}"}}"#);
        let lost = lose(&world, (nth, applied), "claim", &claim);
        assert_eq!(text(&lost, "error.code"), "retry");
        let took_effect = same || (nth == 2 && applied);
        if same {
            world.ok("a1", "claim", &claim);
        }
        for nth in 1..=4 {
            // Not answered, or answered for good: the next one tells.
            lose(&world, (nth, nth % 2 == 0), "start_run", &start);
        }
        if took_effect {
            assert_eq!(world.refused("a1", "start_run", &start), reused(), "{nth} {applied}");
            assert_eq!(world.ok("a1", "claim", &claim), world.ok("a1", "claim", &claim));
        } else {
            let started = world.ok("a1", "start_run", &start);
            assert_eq!(world.refused("a1", "claim", &claim), reused(), "{nth} {applied}");
            assert_eq!(world.ok("a1", "start_run", &start), started);
        }
        let runs = world.ok("a1", "list_runs", "{}");
        let count = at(&runs, "items").and_then(Value::as_array).unwrap().len();
        assert_eq!(count, if took_effect { 1 } else { 2 });
    }
}

#[test]
fn an_unanswered_claim_is_settled_by_the_same_call() {
    claim_is_lost(true);
}

#[test]
fn an_unanswered_claim_is_settled_by_another_call() {
    claim_is_lost(false);
}

/// IDEM-KEEP: a refusal is told though its reservation could not be released, and the id is free.
#[test]
fn a_refusal_stands_when_its_release_is_lost() {
    for applied in [false, true] {
        let (world, run, id) = world();
        let claim = format!(r#"{{"runId":"{run}","stepId":"none","requestId":"{id}"}}"#);
        let told = lose(&world, (3, applied), "claim", &claim);
        assert_eq!(text(&told, "error.code"), "not_found");
        world.ok("a1", "start_run", &format!(r#"{{"process":"p1","inputs":{{}},"requestId":"{id}"}}"#));
        assert_eq!(world.refused("a1", "claim", &claim), reused());
    }
}

/// What names no run of this organization is refused before it has an id, or leaves it free (ERR-ORDER 4).
#[test]
fn runs_that_do_not_exist_leave_the_id_free() {
    let (world, run, id) = world();
    let shard = run.parse::<RunId>().unwrap().0.shard;
    let other = (0..4).map(|shard| RunId(quorate_proto::Unique { shard, random: [1; 10] })).map(|run| run.to_string());
    for gone in other.chain(["r_1".to_owned(), "none".to_owned()]) {
        let of = |more: &str| format!(r#"{{"runId":"{gone}","requestId":"{id}"{more}}}"#);
        assert_eq!(world.refused("a1", "claim", &of(r#","stepId":"a""#)).0, "not_found");
        assert_eq!(world.refused("olga", "cancel", &of(r#","reason":"r""#)).0, "not_found");
        assert_eq!(world.refused("a1", "send_event", &of(r#","name":"n""#)).0, "not_found");
        let decide = of(r#","workItemId":"w","snapshot":"s","decision":"approved""#);
        assert_eq!(world.refused("fin", "decide", &decide).0, "not_found");
    }
    assert_eq!(
        world.refused("a1", "escalate", &format!(r#"{{"token":"t","note":"n","requestId":"{id}"}}"#)).0,
        "invalid"
    );
    let claim = format!(r#"{{"runId":"{run}","stepId":"a","requestId":"{id}"}}"#);
    let claimed = world.ok("a1", "claim", &claim);
    assert_ne!(route::home("demo", &id, 4), shard);
    assert_eq!(world.ok("a1", "claim", &claim), claimed);
}
