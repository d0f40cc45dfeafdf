//! Members of the groups: brought, step by step, to the nodes that the catalog tells.
//!
//! The leader of a group does it, one step at a time: a new node becomes a learner, and a voter once it has what the leader has;
//! a node that was removed goes. No step is taken that would leave less than a majority of those who vote then within reach.

use std::collections::BTreeSet;
use std::time::Duration;

use openraft::ChangeMembers;
use openraft::async_runtime::watch::WatchReceiver as _;
use openraft::impls::EmptyNode;

use super::group::Group;
use super::groups::RaftGroups;
use super::lead::follows;
use super::types::name;

/// How many nodes of a cluster vote, at most; others follow. More would make writes slower and hardly safer.
const VOTERS_MAX: usize = 5;
/// How long a step may take.
const STEP_LIMIT: Duration = Duration::from_secs(5);

/// A change of a group's members.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Send it the log.
    Learn(u64),
    /// Let it vote.
    Vote(u64),
    /// Let it vote no more, and send it nothing.
    Part(u64),
    /// Hand the leadership over: this leader is to go.
    HandOver,
}

/// What a group's leader knows.
struct View<'a> {
    node: u64,
    voters: &'a BTreeSet<u64>,
    learners: &'a BTreeSet<u64>,
    /// The others that hear the leader and have almost all of its log.
    follow: &'a BTreeSet<u64>,
}

impl RaftGroups {
    /// Takes one step in each group that this node leads, towards `nodes` as its members.
    pub async fn keep_members(&self, nodes: &BTreeSet<u64>) {
        for group in self.groups.iter().filter(|group| group.leads()) {
            let Some((voters, learners)) = group.members() else { continue };
            let others = voters.iter().chain(&learners).copied().filter(|other| *other != self.node);
            let follow: BTreeSet<_> = others.filter(|other| follows(group, *other)).collect();
            let view = View { node: self.node, voters: &voters, learners: &learners, follow: &follow };
            if let Some(step) = next(&view, nodes) {
                self.take(group, step).await;
            }
        }
    }

    async fn take(&self, group: &Group, step: Step) {
        let change = match &step {
            Step::HandOver => return self.leave(group).await,
            Step::Learn(node) => ChangeMembers::AddNodes(std::iter::once((*node, EmptyNode {})).collect()),
            Step::Vote(node) => ChangeMembers::AddVoterIds(BTreeSet::from([*node])),
            Step::Part(node) if group.voters().contains(node) => ChangeMembers::RemoveVoters(BTreeSet::from([*node])),
            Step::Part(node) => ChangeMembers::RemoveNodes(BTreeSet::from([*node])),
        };
        match tokio::time::timeout(STEP_LIMIT, group.raft.change_membership(change, false)).await {
            Ok(Ok(_)) => tracing::info!(group = %name(group.id), ?step, "members have changed"),
            Ok(Err(e)) => tracing::warn!(group = %name(group.id), ?step, reason = %e, "members do not change yet"),
            Err(_) => tracing::warn!(group = %name(group.id), ?step, "members do not change in time"),
        }
    }
}

impl Group {
    /// Voters and learners, unless a change of them is under way.
    fn members(&self) -> Option<(BTreeSet<u64>, BTreeSet<u64>)> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        let membership = metrics.membership_config.membership();
        let uniform = membership.get_joint_config().len() == 1;
        uniform.then(|| (membership.voter_ids().collect(), membership.learner_ids().collect()))
    }
}

/// The next step towards `nodes`.
fn next(view: &View<'_>, nodes: &BTreeSet<u64>) -> Option<Step> {
    let members = || view.voters.union(view.learners);
    if let Some(new) = nodes.iter().find(|node| !view.voters.contains(node) && !view.learners.contains(node)) {
        return Some(Step::Learn(*new));
    }
    // A voter that is gone leaves its vote to another first, where there is one: a group of three stays one of three.
    let wanted: BTreeSet<_> = nodes.iter().copied().take(VOTERS_MAX).collect();
    let ready = wanted.iter().find(|node| view.learners.contains(node) && view.follow.contains(node));
    if let Some(ready) = ready {
        return held(view, |voters| voters.insert(*ready)).then_some(Step::Vote(*ready));
    }
    let gone = *members().find(|node| !nodes.contains(node))?;
    if gone == view.node {
        return Some(Step::HandOver);
    }
    let learner = view.learners.contains(&gone);
    (learner || held(view, |voters| voters.remove(&gone))).then_some(Step::Part(gone))
}

/// Whether the voters after a change hold a majority within reach.
fn held(view: &View<'_>, change: impl FnOnce(&mut BTreeSet<u64>) -> bool) -> bool {
    let mut voters = view.voters.clone();
    change(&mut voters);
    let reached = voters.iter().filter(|node| **node == view.node || view.follow.contains(node)).count();
    reached * 2 > voters.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(nodes: &[u64]) -> BTreeSet<u64> {
        nodes.iter().copied().collect()
    }

    fn step(voters: &[u64], learners: &[u64], follow: &[u64], nodes: &[u64]) -> Option<Step> {
        let (voters, learners, follow) = (set(voters), set(learners), set(follow));
        next(&View { node: 1, voters: &voters, learners: &learners, follow: &follow }, &set(nodes))
    }

    #[test]
    fn a_new_node_learns_then_votes() {
        assert_eq!(step(&[1, 2, 3], &[], &[2, 3], &[1, 2, 3]), None);
        assert_eq!(step(&[1, 2, 3], &[], &[2, 3], &[1, 2, 3, 4]), Some(Step::Learn(4)));
        assert_eq!(step(&[1, 2, 3], &[4], &[2, 3], &[1, 2, 3, 4]), None, "it is behind yet");
        assert_eq!(step(&[1, 2, 3], &[4], &[2, 3, 4], &[1, 2, 3, 4]), Some(Step::Vote(4)));
    }

    #[test]
    fn a_lost_node_is_replaced_before_it_goes() {
        // 3 is lost and was removed; 4 is to take its place.
        assert_eq!(step(&[1, 2, 3], &[], &[2], &[1, 2, 4]), Some(Step::Learn(4)));
        assert_eq!(step(&[1, 2, 3], &[4], &[2, 4], &[1, 2, 4]), Some(Step::Vote(4)));
        assert_eq!(step(&[1, 2, 3, 4], &[], &[2, 4], &[1, 2, 4]), Some(Step::Part(3)));
    }

    #[test]
    fn no_step_leaves_less_than_a_majority_within_reach() {
        // Two of four remain: with 3 or 4 taken out, two of three would be there.
        assert_eq!(step(&[1, 2, 3, 4], &[], &[2], &[1, 2, 3]), Some(Step::Part(4)));
        // One of three: to take out 3 would leave one of two.
        assert_eq!(step(&[1, 2, 3], &[], &[], &[1, 2]), None);
        // A learner may go at any time.
        assert_eq!(step(&[1, 2, 3], &[9], &[], &[1, 2, 3]), Some(Step::Part(9)));
    }

    #[test]
    fn a_leader_that_is_to_go_hands_over() {
        assert_eq!(step(&[1, 2, 3], &[], &[2, 3], &[2, 3]), Some(Step::HandOver));
    }

    #[test]
    fn five_vote_and_the_next_takes_the_place_of_one_that_goes() {
        assert_eq!(step(&[1, 2, 3, 4, 5], &[6], &[2, 3, 4, 5, 6], &[1, 2, 3, 4, 5, 6]), None);
        assert_eq!(step(&[1, 2, 3, 4, 5], &[6], &[2, 3, 4, 6], &[1, 2, 3, 4, 6]), Some(Step::Vote(6)));
    }
}
