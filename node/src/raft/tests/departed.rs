//! The rows of a replica that left its node.

use std::collections::BTreeMap;

use openraft::async_runtime::watch::WatchReceiver as _;
use openraft::storage::RaftLogStorage as _;
use openraft::{ChangeMembers, RaftLogReader as _};

use super::super::Wanted;
use super::super::log::Log;
use super::cluster::{Direct, led, open};
use super::*;
use crate::engine::memory::Memory;
use crate::engine::{Family, Look as _, keys};

/// Nodes by number, with their engines.
struct World {
    network: Direct,
    engines: BTreeMap<u64, Arc<Memory>>,
    nodes: BTreeMap<u64, Arc<RaftGroups>>,
}

impl World {
    async fn new() -> Self {
        let mut world = Self { network: Direct::default(), engines: BTreeMap::new(), nodes: BTreeMap::new() };
        for node in 1..=3 {
            world.put(node, Arc::new(Memory::new())).await;
        }
        let nodes: Vec<_> = world.nodes.values().cloned().collect();
        led(&nodes).await;
        world
    }

    async fn put(&mut self, node: u64, engine: Arc<Memory>) {
        let opened = if node > 3 {
            let transport = Arc::new(self.network.of(node));
            let joins = Options { node, members: BTreeSet::new(), transport, ..options(Arc::clone(&engine) as _) };
            RaftGroups::start(joins).await.unwrap()
        } else {
            open(&self.network, node, Arc::clone(&engine)).await
        };
        self.network.put(node, &opened);
        self.engines.insert(node, engine);
        self.nodes.insert(node, opened);
    }

    /// Has the shard's replicas wanted on these nodes, as far as those know that are there.
    fn want(&self, hosts: &[u64]) {
        let hosts = hosts.iter().copied().collect();
        for node in self.nodes.keys().filter(|node| self.network.has(**node)) {
            self.nodes[node].set_hosts([(SHARD, &hosts)]);
        }
    }

    /// Brings the shard's members to these nodes.
    async fn bring(&self, hosts: &[u64]) {
        let voters: BTreeSet<_> = hosts.iter().copied().collect();
        let wanted = [(SHARD, Wanted { voters, learners: BTreeSet::new() })].into();
        for _ in 0..500 {
            let there = self.nodes.iter().filter(|(node, _)| self.network.has(**node));
            for (_, groups) in there {
                groups.keep_members(&wanted).await;
                let stats = groups.stats();
                let shard = stats.iter().find(|stats| stats.group == SHARD);
                if shard.is_some_and(|shard| shard.leads && shard.voters == hosts && shard.learners.is_empty()) {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the members do not become {hosts:?}");
    }

    fn rows(&self, node: u64) -> (usize, usize) {
        let engine = &self.engines[&node];
        let held = |family, range| engine.scan(family, range, false, usize::MAX).unwrap().len();
        (held(Family::State, keys::generations(SHARD, 0, None)), held(Family::Log, keys::log_range(SHARD, 0, None)))
    }

    async fn end(self) {
        for groups in self.nodes.values() {
            groups.shutdown().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_go_once_the_replica_is_no_member_and_come_back_with_it() {
    let mut world = World::new().await;
    for index in 0..10 {
        write(&world.nodes[&1], index).await.unwrap();
    }
    let before = written(&world.nodes[&3], 99).await;
    // It is not wanted any more, and a member yet.
    world.want(&[1, 2]);
    world.nodes[&3].clear_departed().await;
    assert!(world.rows(3).0 >= 10, "{:?}", world.rows(3));
    // It is no member, and wanted again.
    world.bring(&[1, 2]).await;
    world.want(&[1, 2, 3]);
    world.nodes[&3].clear_departed().await;
    assert!(world.rows(3).0 >= 10, "{:?}", world.rows(3));

    world.want(&[1, 2]);
    let vote = |world: &World| Log::new(Arc::clone(&world.engines[&3]) as _, SHARD);
    let voted = vote(&world).read_vote().await.unwrap();
    world.nodes[&3].clear_departed().await;
    assert_eq!(world.rows(3), (0, 0));
    assert!(vote(&world).read_vote().await.unwrap() >= voted, "the vote stays");
    assert!(vote(&world).get_log_state().await.unwrap().last_log_id.is_none());
    assert!(world.nodes[&3].ready().is_ok());
    // What else is there stays, and the node writes and reads as ever.
    assert!(digest_of(&world.nodes[&3], GroupId::Catalog).await == digest_of(&world.nodes[&1], GroupId::Catalog).await);
    write(&world.nodes[&3], 10).await.unwrap();
    assert_eq!(written(&world.nodes[&3], 99).await.len(), before.len() + 1);

    // A restart makes nothing of it: no empty shard is founded, and none is missed.
    world.network.take_out(3);
    world.nodes[&3].shutdown().await;
    let crashed = Arc::new(world.engines[&3].crashed());
    world.put(3, crashed).await;
    world.want(&[1, 2]);
    assert_eq!(world.rows(3), (0, 0));

    // It comes back, is sent what there is, and votes: with one of the others gone it counts.
    for index in 11..300 {
        write(&world.nodes[&1], index).await.unwrap();
    }
    world.want(&[1, 2, 3]);
    world.bring(&[1, 2, 3]).await;
    assert_eq!(digest_of(&world.nodes[&3], SHARD).await, digest_of(&world.nodes[&1], SHARD).await);
    world.network.take_out(2);
    write(&world.nodes[&3], 300).await.unwrap();
    assert_eq!(written(&world.nodes[&3], 301).await.len(), 301);
    world.end().await;
}

impl World {
    /// Lets a node lead the shard.
    async fn lead(&self, node: u64) {
        for _ in 0..500 {
            if self.nodes[&node].leads(SHARD) {
                return;
            }
            for groups in self.nodes.values() {
                groups.spread_leaders(&[(SHARD, node)].into()).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("node {node} does not lead");
    }

    /// Node 3 sleeps while the shard moves to 1 and 4, and the rows of 2 are deleted. Then 1 and 4 are gone, and 3 wakes up with what
    /// it knew: the voters are 1, 2 and 3.
    async fn woken(leads: bool, restarted: bool) -> Self {
        let mut world = Self::new().await;
        write(&world.nodes[&1], 0).await.unwrap();
        world.lead(if leads { 3 } else { 1 }).await;
        world.network.take_out(3);
        world.put(4, Arc::new(Memory::new())).await;
        world.want(&[1, 2, 4]);
        world.bring(&[1, 2, 4]).await;
        world.want(&[1, 4]);
        world.bring(&[1, 4]).await;
        write(&world.nodes[&1], 1).await.unwrap();
        world.nodes[&2].clear_departed().await;
        assert_eq!(world.rows(2), (0, 0));
        if restarted {
            world.network.take_out(2);
            world.nodes[&2].shutdown().await;
            let crashed = Arc::new(world.engines[&2].crashed());
            world.put(2, crashed).await;
        }
        world.network.take_out(1);
        world.network.take_out(4);
        world.network.put(3, &world.nodes[&3]);
        world
    }
}

/// A leader that slept finds nobody who follows it: what it takes would be known to no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_slept_is_not_followed_by_one_without_rows() {
    for restarted in [false, true] {
        let world = World::woken(true, restarted).await;
        let written = tokio::time::timeout(Duration::from_secs(4), write(&world.nodes[&3], 9)).await;
        assert!(!matches!(written, Ok(Ok(()))), "two leaders");
        assert_eq!(world.rows(2), (0, 0));
        world.end().await;
    }
}

/// What a replica promised as a voter holds although its rows are gone: with its vote, one that left before would lead.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_left_before_gets_no_vote_of_one_without_rows() {
    for restarted in [false, true] {
        let world = World::woken(false, restarted).await;
        for _ in 0..40 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(!world.nodes[&3].leads(SHARD), "two leaders");
        }
        world.end().await;
    }
}

/// Raft changes voters in two entries, and the second is left out where its leader goes between them. The next look ends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_voters_that_was_left_half_way_is_ended() {
    let world = World::new().await;
    world.bring(&[1, 2, 3]).await;
    let between = |groups: &RaftGroups| {
        let group = groups.group(SHARD).unwrap();
        let metrics = group.raft().metrics();
        let metrics = metrics.borrow_watched();
        metrics.membership_config.membership().get_joint_config().len() == 2
    };
    let leader = world.nodes.values().find(|groups| groups.leads(SHARD)).unwrap();
    let gone = if world.nodes[&1].leads(SHARD) { 2 } else { 1 };
    let raft = leader.group(SHARD).unwrap().raft();
    let change = raft.change_membership(ChangeMembers::RemoveVoters(BTreeSet::from([gone])), true);
    tokio::select! {
        biased;
        () = async { while !between(leader) { tokio::task::yield_now().await } } => (),
        _ = change => panic!("it was too quick to be left"),
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(between(leader), "nobody ends it by itself");
    world.bring(&[1, 2, 3]).await;
    world.end().await;
}
