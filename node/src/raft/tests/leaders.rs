//! What becomes of writes while leaders change.

use std::collections::BTreeMap;

use agentprocess::Document;
use agentprocess::json::Object;
use agentprocess::time::Span;
use quorate_proto::shard::{Action, InstallVersion, Limits, Write};
use quorate_proto::{Attempt, Caller, CallerKind, Right, RunId};

use super::cluster::{Direct, led, three};
use super::*;

/// The position of the first of `nodes` that leads the shard, as soon as it does.
async fn first_to_lead(nodes: &[&Arc<RaftGroups>]) -> usize {
    for _ in 0..10_000 {
        if let Some(leader) = nodes.iter().position(|node| node.leads(SHARD)) {
            return leader;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("nobody leads");
}

/// Before there is a leader, and on a leader that no majority has confirmed yet, Raft says "forward, leader unknown". That
/// is asked again, and never told as a failure.
#[tokio::test(flavor = "multi_thread")]
async fn writes_wait_for_a_leader_and_for_a_fresh_one_to_be_confirmed() {
    let network = Direct::slow(Duration::from_millis(20));
    let nodes = three(&network).await;
    let early = (0..).zip(&nodes).map(|(index, node)| write(node, index));
    for done in futures_util::future::join_all(early).await {
        done.unwrap();
    }
    let leader = led(&nodes).await;
    network.take_out(u64::try_from(leader).unwrap() + 1);
    let others: Vec<_> = nodes.iter().enumerate().filter(|(at, _)| *at != leader).map(|(_, node)| node).collect();
    let fresh = others[first_to_lead(&others).await];
    write(fresh, 3).await.unwrap();
    assert_eq!(written(fresh, 9).await, [0, 1, 2, 3]);
    for node in &nodes {
        node.shutdown().await;
    }
}

/// What a deposed leader had taken in may be lost or not: its outcome is unknown. The node asks again under the same request
/// id, which settles it.
#[tokio::test(flavor = "multi_thread")]
async fn a_deposed_leaders_pending_write_is_settled_by_its_request_id() {
    let network = Direct::default();
    let nodes = three(&network).await;
    let leader = led(&nodes).await;
    let number = u64::try_from(leader).unwrap() + 1;
    nodes[leader].propose(SHARD, install()).await.unwrap().unwrap();
    network.take_out(number);

    let last = || nodes[leader].stats()[1].last;
    let before = last();
    let deposed = Arc::clone(&nodes[leader]);
    let pending = tokio::spawn(async move { deposed.propose(SHARD, begin()).await });
    for _ in 0..500 {
        if last() > before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(last() > before && !pending.is_finished(), "the old leader took it in");

    let others: Vec<_> = nodes.iter().enumerate().filter(|(at, _)| *at != leader).map(|(_, node)| node).collect();
    let fresh = others[first_to_lead(&others).await];
    write(fresh, 0).await.unwrap();
    network.put(number, &nodes[leader]);
    let settled = tokio::time::timeout(Duration::from_secs(5), pending).await.expect("settled soon").unwrap();
    let settled = settled.unwrap().unwrap();
    assert!(matches!(settled, Reply::Run(_)), "{settled:?}");
    for node in &nodes {
        assert_eq!(node.propose(SHARD, begin()).await.unwrap().unwrap(), settled, "one run, however often it is asked");
        assert_eq!(digest_of(node, SHARD).await, digest_of(fresh, SHARD).await);
    }
    for node in &nodes {
        node.shutdown().await;
    }
}

/// Installs a process that rests and ends.
fn install() -> Command {
    let source = "---\nname: rest\ndescription: d\nsteps:\n  - { id: a, wait: 1d }\n  - { id: z, finish: ok }\n---\n";
    let document = Document::read(source.as_bytes()).unwrap();
    Command::Shard(ShardCommand::InstallVersion(Box::new(InstallVersion {
        org: "o".to_owned(),
        version: 1,
        hash: document.hash,
        roles: BTreeMap::new(),
        mapping: 0,
        escalations: "g_ops".to_owned(),
        operators: "g_ops".to_owned(),
        process: document.process,
        body: document.body,
    })))
}

/// Starts a run of it, under one request id.
fn begin() -> Command {
    let caller = Caller {
        org: "o".to_owned(),
        kind: CallerKind::Agent,
        id: "a1".to_owned(),
        person: None,
        groups: BTreeSet::new(),
        operator: false,
        processes: None,
    };
    let (run, inputs) = (RunId(Unique { shard: 0, random: [3; 10] }), Object::new());
    let write = Write {
        caller,
        request: "r1".to_owned(),
        fingerprint: [7; 32],
        limits: Limits { lease: Span(60_000), run_data_bytes_max: 1 << 20 },
        action: Action::StartRun { run, process: "rest".to_owned(), version: 1, inputs, test: false },
    };
    let right = Right::Home(Attempt { home: 0, number: 1 });
    Command::Shard(ShardCommand::Write { right, write: Box::new(write) })
}
