//! Clocks that go wrong.

use std::sync::atomic::{AtomicI64, Ordering};

use tokio_util::task::AbortOnDropHandle;

use super::cluster::{Node, SHARD, introduce, led, write};
use super::*;
use crate::engine::memory::Memory;
use crate::peers::ClockWatch;

const SKEW_MS_MAX: u64 = 500;
const HOUR: i64 = 3_600_000;

/// Three nodes that watch their clocks, each of which can be set.
struct Three {
    nodes: Vec<Node>,
    clocks: Vec<Arc<Clock>>,
    set: Vec<Arc<AtomicI64>>,
    _watches: Vec<AbortOnDropHandle<()>>,
}

impl Three {
    /// These are set wrong from the start.
    async fn start(wrong: [i64; 3]) -> Self {
        let (mut nodes, mut clocks, mut set, mut watches) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, wrong) in (1..).zip(wrong) {
            let by = Arc::new(AtomicI64::new(wrong));
            let ahead = Arc::clone(&by);
            let system = move || Timestamp(Clock::system().now().0 + ahead.load(Ordering::Relaxed));
            let clock = Arc::new(Clock::steady_over(Box::new(system), SKEW_MS_MAX));
            let node = Node::with_clock(number, Arc::new(Memory::new()), Arc::clone(&clock)).await;
            let (peers, groups) = (Arc::clone(&node.end.peers), Arc::clone(&node.groups));
            let watch = ClockWatch { peers, groups, clock: Arc::clone(&clock), skew_ms_max: SKEW_MS_MAX };
            watches.push(AbortOnDropHandle::new(tokio::spawn(watch.run())));
            nodes.push(node);
            clocks.push(clock);
            set.push(by);
        }
        introduce(&nodes);
        Self { nodes, clocks, set, _watches: watches }
    }

    fn why(&self, node: usize) -> String {
        self.nodes[node].groups.ready().err().unwrap_or_default()
    }

    /// Whether nobody leads but others than `node`.
    fn led_by_others(&self, node: usize) -> bool {
        let groups = [CATALOG, SHARD, GroupId::Shard(1)];
        groups.into_iter().all(|group| {
            let leads = |at: usize| self.nodes[at].groups.leads(group);
            !leads(node) && (0..3).any(leads)
        })
    }

    async fn end(self) {
        for node in self.nodes {
            node.groups.shutdown().await;
        }
    }
}

/// The clock of a leader is set an hour ahead: no entry is stamped with that, others lead, and it says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_clock_goes_wrong_hands_over() {
    let three = Three::start([0; 3]).await;
    let leader = led(&three.nodes).await;
    write(&three.nodes[leader], 0).await;
    for step in [HOUR, -HOUR] {
        let others = (leader + 1) % 3;
        three.set[leader].fetch_add(step, Ordering::Relaxed);
        let why = eventually("it says so", || Some(three.why(leader)).filter(|why| why.contains("its clock is"))).await;
        let way = if step > 0 { "ahead of" } else { "behind" };
        assert!(why.contains(way) && why.contains("the majority's, more than the 500 that are allowed"), "{why}");
        eventually("others lead", || three.led_by_others(leader).then_some(())).await;
        let ahead = three.clocks[leader].now().0 - three.clocks[others].now().0;
        assert!(ahead.unsigned_abs() < SKEW_MS_MAX, "it stamped with {ahead} ms");
        write(&three.nodes[others], 1).await;
        // It does not come back while it is wrong, and does once it is right.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let wished = [CATALOG, SHARD, GroupId::Shard(1)].map(|group| (group, leader as u64 + 1)).into();
        three.nodes[others].groups.spread_leaders(&wished).await;
        assert!(three.led_by_others(leader));
        three.set[leader].fetch_sub(step, Ordering::Relaxed);
        eventually("it is ready", || three.why(leader).is_empty().then_some(())).await;
    }
    three.end().await;
}

/// A node that starts with a wrong clock leads nothing, although it prefers to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_a_wrong_clock_is_not_elected() {
    let three = Three::start([0, 0, 900]).await;
    for _ in 0..200 {
        assert!(!three.nodes[2].groups.leads(SHARD) && !three.nodes[2].groups.leads(GroupId::Shard(1)));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    eventually("others lead", || three.led_by_others(2).then_some(())).await;
    let why = eventually("it says so", || Some(three.why(2)).filter(|why| why.contains("its clock is"))).await;
    assert!(why.contains("ms ahead of the majority's"), "{why}");
    three.end().await;
}

/// All clocks were wrong and are set right, as far as the nodes can tell: a majority agrees, and they follow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_right_is_followed() {
    let three = Three::start([0, -HOUR, 0]).await;
    eventually("it says so", || three.why(1).contains("its clock is").then_some(())).await;
    three.set[1].store(0, Ordering::Relaxed);
    eventually("it is right", || (three.clocks[1].set_by_ms() == 0 && three.why(1).is_empty()).then_some(())).await;
    let ahead = three.clocks[1].now().0 - three.clocks[0].now().0;
    assert!(ahead.unsigned_abs() < SKEW_MS_MAX, "{ahead}");
    three.end().await;
}
