//! Runs move when their time comes: by the leader's own tasks, and by settling a test's clock.
#![cfg(not(madsim))]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agentprocess::json::Object;
use agentprocess::time::{Span, Timestamp};
use agentprocess::{Document, StepKind};
use quorate::clock::Clock;
use quorate::engine::memory::Memory;
use quorate::groups::Groups;
use quorate::memory::MemoryGroups;
use quorate::raft::{Options, RaftGroups};
use quorate::timers::{Timers, settle};
use quorate_proto::shard::{Action, InstallVersion, Limits, ShardCommand, Write};
use quorate_proto::{Attempt, Caller, CallerKind, Command, GroupId, Right, RunId, Unique};
use quorate_statemachine::shard::read::run_place;

const SHARD: GroupId = GroupId::Shard(0);
const TEN_MINUTES: Span = Span(10 * 60_000);
const START: Timestamp = Timestamp(1_800_000_000_000);

const REST: &str = "---
name: rest
description: Waits twice.
steps:
  - id: first
    wait: 10m
  - id: second
    wait: 10m
  - id: end
    finish: rested
---
";

/// Starts a run that waits `first`, then ten minutes, then ends.
async fn begin<G: Groups>(groups: &G, first: Span) -> RunId {
    let mut document = Document::read(REST.as_bytes()).unwrap();
    let StepKind::Wait { span, .. } = &mut document.process.steps[0].kind else { panic!("the first step waits") };
    *span = first;
    let install = InstallVersion {
        org: "o".to_owned(),
        version: 1,
        hash: document.hash,
        roles: BTreeMap::new(),
        mapping: 0,
        escalations: "g_ops".to_owned(),
        operators: "g_ops".to_owned(),
        process: document.process,
        body: document.body,
    };
    let install = Command::Shard(ShardCommand::InstallVersion(Box::new(install)));
    groups.propose(SHARD, install).await.unwrap().unwrap();
    let run = RunId(Unique { shard: 0, random: [3; 10] });
    let (process, inputs) = ("rest".to_owned(), Object::new());
    let write = Write {
        caller: Caller {
            org: "o".to_owned(),
            kind: CallerKind::Agent,
            id: "agent".to_owned(),
            person: None,
            groups: BTreeSet::new(),
            operator: false,
            processes: None,
        },
        request: "1".to_owned(),
        fingerprint: [1; 32],
        limits: Limits { lease: Span(60_000), run_data_bytes_max: 1 << 20 },
        action: Action::StartRun { run, process, version: 1, inputs, test: false },
    };
    let right = Right::Home(Attempt { home: 0, number: 1 });
    groups
        .propose(SHARD, Command::Shard(ShardCommand::Write { right, write: Box::new(write) }))
        .await
        .unwrap()
        .unwrap();
    run
}

async fn ended<G: Groups>(groups: &G, run: RunId) -> bool {
    let place = groups.read(SHARD, move |rows, _| run_place(rows, "o", run).unwrap()).await.unwrap();
    place.unwrap().ended.is_some()
}

async fn ends<G: Groups>(groups: &G, run: RunId) -> bool {
    for _ in 0..200 {
        if ended(groups, run).await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    false
}

async fn raft(clock: &Arc<Clock>) -> Arc<RaftGroups> {
    RaftGroups::start(Options::alone(2, Arc::clone(clock), Arc::new(Memory::new()))).await.unwrap()
}

async fn settles<G: Groups>(groups: &G, clock: &Clock) {
    let run = begin(groups, TEN_MINUTES).await;
    clock.advance(TEN_MINUTES);
    settle(groups).await.unwrap();
    assert!(!ended(groups, run).await);
    clock.advance(TEN_MINUTES);
    settle(groups).await.unwrap();
    assert!(ended(groups, run).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_fires_all_that_is_due_and_no_more() {
    let clock = Arc::new(Clock::test(START));
    settles(&MemoryGroups::new(1, Arc::clone(&clock)), &clock).await;
    let clock = Arc::new(Clock::test(START));
    let groups = raft(&clock).await;
    settles(groups.as_ref(), &clock).await;
    groups.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_fires_when_a_test_clock_is_advanced() {
    let clock = Arc::new(Clock::test(START));
    let groups = raft(&clock).await;
    let timers = Timers::start(&groups, &clock);
    let run = begin(groups.as_ref(), TEN_MINUTES).await;
    clock.advance(TEN_MINUTES);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!ended(groups.as_ref(), run).await);
    clock.advance(TEN_MINUTES);
    assert!(ends(groups.as_ref(), run).await);
    timers.stop();
    groups.shutdown().await;
}

/// A timer that a proposal made is noticed, though the task slept with nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn the_leader_fires_by_the_systems_clock() {
    let clock = Arc::new(Clock::system());
    let groups = raft(&clock).await;
    let _timers = Timers::start(&groups, &clock);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let run = begin(groups.as_ref(), Span(300)).await;
    let revision = || {
        let read =
            move |rows: &dyn quorate_statemachine::store::Read, _| run_place(rows, "o", run).unwrap().unwrap().revision;
        groups.read(SHARD, read)
    };
    let before = revision().await.unwrap();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if revision().await.unwrap() > before {
            groups.shutdown().await;
            return;
        }
    }
    panic!("the wait did not end");
}
