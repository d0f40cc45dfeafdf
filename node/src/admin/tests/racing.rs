//! D/B-03, two publishing at once: each publishes its own file or is told that it cannot, on real Raft groups.

use std::sync::Arc;

use agentprocess::time::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::{BASE, Who, World, with_role};
use crate::clock::Clock;
use crate::engine::memory::Memory;
use crate::raft::{Options, RaftGroups};

/// How often the two race.
const ROUNDS: u64 = 10;

/// How often one tries anew when the other was faster.
const TRIES_MAX: usize = 100;

/// D/B-03: the draft is taken by its hash, so a file never goes out under a claim for another.
#[tokio::test]
async fn a_draft_goes_by_the_hash_that_was_told() {
    let world = World::new();
    world.release(BASE, json!({})).await;
    let hash = |draft: &Value| json!({ "hash": draft["hash"] }).to_string();
    let file = |name: &str| BASE.replace("Body.", name);
    let one = world.import(&file("One.")).await;
    let two = world.import(&file("Two.")).await;
    let (status, refused) = world.call(Who::Operator, "POST", "/processes/p/publish", hash(&one)).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (409, &json!("conflict")));
    assert!(message.contains("is not the one you saw") && message.contains(two["hash"].as_str().unwrap()), "{message}");
    let published = world.done("POST", "/processes/p/publish", hash(&two)).await;
    assert_eq!((&published["version"]["version"], &published["version"]["hash"]), (&json!(2), &two["hash"]));
    // The first imports again and comes next.
    let again = world.import(&file("One.")).await;
    assert_eq!(again["hash"], one["hash"]);
    let published = world.done("POST", "/processes/p/publish", hash(&again)).await;
    assert_eq!((&published["version"]["version"], &published["version"]["hash"]), (&json!(3), &one["hash"]));
    // Another's draft that stands with roles to bind: the stale hash is told, not the other's issues.
    world.import(&with_role("Three.")).await;
    let (code, issues) = world.refused("POST", "/processes/p/publish", hash(&again)).await;
    assert_eq!((code.as_str(), issues.len()), ("conflict", 0));
}

/// D/B-03: 2 and 3, never the same number twice; whoever was told a version finds the own file under it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_who_race_get_a_number_each() {
    let clock = Arc::new(Clock::test(Timestamp(1_800_000_000_000)));
    let groups = RaftGroups::start(Options::alone(2, Arc::clone(&clock), Arc::new(Memory::new()))).await.unwrap();
    let world = Arc::new(World::over(Arc::clone(&groups), clock));
    let first = world.import(BASE).await;
    let asked = json!({ "hash": first["hash"] }).to_string();
    assert_eq!(world.done("POST", "/processes/p/publish", asked).await["version"]["version"], 1);
    let (barrier, mut told) = (Arc::new(Barrier::new(2)), Vec::new());
    let racers = ["One", "Two"].map(|who| tokio::spawn(race(Arc::clone(&world), Arc::clone(&barrier), who)));
    for racer in racers {
        told.extend(racer.await.unwrap());
    }
    for (number, file) in &told {
        let source = world.done("GET", &format!("/processes/p/versions/{number}/source"), "").await;
        assert_eq!(source, json!(file), "version {number}");
    }
    let mut numbers: Vec<u64> = told.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (2..2 + 2 * ROUNDS).collect::<Vec<_>>());
    groups.shutdown().await;
}

/// Publishes a file of its own in each round; what it was told and the file.
async fn race(world: Arc<World<RaftGroups>>, barrier: Arc<Barrier>, who: &str) -> Vec<(u64, String)> {
    let mut told = Vec::new();
    for round in 0..ROUNDS {
        let file = BASE.replace("Body.", &format!("{who} {round}."));
        barrier.wait().await;
        told.push((publish(&world, &file).await, file));
    }
    told
}

/// Imports and publishes until that file is a version: the other may be faster, and then it says so.
async fn publish(world: &World<RaftGroups>, file: &str) -> u64 {
    for _ in 0..TRIES_MAX {
        let (status, draft) = world.call(Who::Operator, "POST", "/drafts", file.to_owned()).await;
        let asked = json!({ "hash": draft["hash"] }).to_string();
        let (status, answer) = match status.as_u16() {
            200 => world.call(Who::Operator, "POST", "/processes/p/publish", asked).await,
            _ => (status, draft),
        };
        match status.as_u16() {
            200 => {
                assert_eq!(answer["created"], true, "{answer}");
                return answer["version"]["version"].as_u64().unwrap();
            }
            409 => {}
            _ => panic!("{answer}"),
        }
        tokio::task::yield_now().await;
    }
    panic!("{file} was never published");
}
