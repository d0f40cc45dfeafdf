//! Members of the groups: brought, step by step, to where they are wanted.
//!
//! The leader of a group does it, one step at a time: a new node becomes a learner, and a voter once it has what the leader has;
//! then one that is not wanted goes. No step is taken that would leave less than a majority of those who vote then within reach.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use openraft::ChangeMembers;
use openraft::async_runtime::watch::WatchReceiver as _;
use openraft::impls::EmptyNode;
use quorate_proto::GroupId;

use super::group::Group;
use super::groups::RaftGroups;
use super::lead::follows;
use super::types::name;

/// How long a step may take.
const STEP_LIMIT: Duration = Duration::from_secs(5);

/// Where the members of a group are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those that vote.
    pub voters: BTreeSet<u64>,
    /// Those that follow without a vote.
    pub learners: BTreeSet<u64>,
}

/// A change of a group's members.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Send it the log.
    Learn(u64),
    /// Let it vote.
    Vote(u64),
    /// Let it vote no more, and go on sending it the log.
    Follow(u64),
    /// Let it vote no more, and send it nothing.
    Part(u64),
    /// Hand the leadership over: this leader is to go.
    HandOver,
    /// End a change that was left half-way: its leader went between the two entries of it.
    End,
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
    /// Takes one step in each group that this node leads, towards where its members are wanted.
    pub async fn keep_members(&self, wanted: &BTreeMap<GroupId, Wanted>) {
        for group in self.groups.iter().filter(|group| group.leads()) {
            let Some(wanted) = wanted.get(&group.id) else { continue };
            let Some((voters, learners)) = group.members() else {
                self.take(group, Step::End).await;
                continue;
            };
            let others = voters.iter().chain(&learners).copied().filter(|other| *other != self.node);
            let follow: BTreeSet<_> = others.filter(|other| follows(group, *other)).collect();
            let view = View { node: self.node, voters: &voters, learners: &learners, follow: &follow };
            if let Some(step) = next(&view, wanted) {
                self.take(group, step).await;
            }
        }
    }

    async fn take(&self, group: &Group, step: Step) {
        let change = match &step {
            Step::HandOver => return self.leave(group).await,
            Step::Learn(node) => ChangeMembers::AddNodes(std::iter::once((*node, EmptyNode {})).collect()),
            Step::Vote(node) => ChangeMembers::AddVoterIds(BTreeSet::from([*node])),
            Step::Follow(node) => ChangeMembers::RemoveVoters(BTreeSet::from([*node])),
            Step::Part(node) if group.voters().contains(node) => ChangeMembers::RemoveVoters(BTreeSet::from([*node])),
            Step::Part(node) => ChangeMembers::RemoveNodes(BTreeSet::from([*node])),
            // Nobody beyond those whom the change has added already.
            Step::End => ChangeMembers::AddVoterIds(BTreeSet::new()),
        };
        // Who is to follow is known when the change has ended.
        let stays = matches!(step, Step::Follow(_) | Step::End);
        match tokio::time::timeout(STEP_LIMIT, group.raft().change_membership(change, stays)).await {
            Ok(Ok(_)) => tracing::info!(group = %name(group.id), ?step, "members have changed"),
            Ok(Err(e)) => tracing::warn!(group = %name(group.id), ?step, reason = %e, "members do not change yet"),
            Err(_) => tracing::warn!(group = %name(group.id), ?step, "members do not change in time"),
        }
    }
}

impl Group {
    /// Voters and learners, unless a change of them is half-way.
    fn members(&self) -> Option<(BTreeSet<u64>, BTreeSet<u64>)> {
        let metrics = self.raft().metrics();
        let metrics = metrics.borrow_watched();
        let membership = metrics.membership_config.membership();
        let uniform = membership.get_joint_config().len() == 1;
        uniform.then(|| (membership.voter_ids().collect(), membership.learner_ids().collect()))
    }
}

/// The next step towards where the members are wanted.
fn next(view: &View<'_>, wanted: &Wanted) -> Option<Step> {
    let is_member = |node: &u64| view.voters.contains(node) || view.learners.contains(node);
    if let Some(new) = wanted.voters.iter().chain(&wanted.learners).find(|node| !is_member(node)) {
        return Some(Step::Learn(*new));
    }
    let ready = wanted.voters.iter().find(|node| view.learners.contains(node) && view.follow.contains(node));
    if let Some(ready) = ready {
        return held(view, |voters| voters.insert(*ready)).then_some(Step::Vote(*ready));
    }
    let follows = |node: &u64| wanted.learners.contains(node);
    if let Some(gone) = view.learners.iter().find(|node| !wanted.voters.contains(node) && !follows(node)) {
        return Some(Step::Part(*gone));
    }
    // A voter leaves its vote to another first: a group of three stays one of three.
    if !wanted.voters.is_subset(view.voters) {
        return None;
    }
    let gone = *view.voters.difference(&wanted.voters).next()?;
    if gone == view.node {
        return Some(Step::HandOver);
    }
    let step = if follows(&gone) { Step::Follow(gone) } else { Step::Part(gone) };
    held(view, |voters| voters.remove(&gone)).then_some(step)
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

    /// The step of node 1 where these vote, learn and follow, towards these voters and all other nodes of `learn` as learners.
    fn step_to(voters: &[u64], learners: &[u64], follow: &[u64], (vote, learn): (&[u64], &[u64])) -> Option<Step> {
        let (voters, learners, follow) = (set(voters), set(learners), set(follow));
        let wanted = Wanted { voters: set(vote), learners: set(learn) };
        next(&View { node: 1, voters: &voters, learners: &learners, follow: &follow }, &wanted)
    }

    fn step(voters: &[u64], learners: &[u64], follow: &[u64], wanted: &[u64]) -> Option<Step> {
        step_to(voters, learners, follow, (wanted, &[]))
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
    fn a_vote_moves_to_a_learner_and_who_had_it_follows() {
        let wanted = (&[1, 2, 4][..], &[3][..]);
        assert_eq!(step_to(&[1, 2, 3], &[4], &[2, 3], wanted), None, "it is behind yet, and 3 keeps its vote");
        assert_eq!(step_to(&[1, 2, 3], &[4], &[2, 3, 4], wanted), Some(Step::Vote(4)));
        assert_eq!(step_to(&[1, 2, 3, 4], &[], &[2, 3, 4], wanted), Some(Step::Follow(3)));
        assert_eq!(step_to(&[1, 2, 4], &[3], &[2, 3, 4], wanted), None);
        assert_eq!(step_to(&[1, 2, 3, 4], &[], &[2, 3, 4], (&[2, 3, 4], &[1])), Some(Step::HandOver));
        assert_eq!(step_to(&[1, 2, 3, 4], &[], &[3], (&[1, 2, 4], &[3])), None, "2 and 4 are not within reach");
    }
}
