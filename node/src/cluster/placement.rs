//! Where the replicas of each shard are wanted, and what the planner does next: pure functions of what is known.
//!
//! In this order: no replica on a node that was removed; as many replicas as there are to be; in different zones, as far as
//! there are zones; as many on each node as on the others. One replica moves at a time, and only while the groups are where
//! they are wanted.

use std::collections::{BTreeMap, BTreeSet};

use quorate_proto::GroupId;

/// How many nodes vote in the catalog group, at most; others follow. More would make writes slower and hardly safer.
const CATALOG_VOTERS_MAX: usize = 5;

/// The nodes of a shard's replicas.
pub type Replicas = BTreeSet<u64>;

/// What the planner goes by.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The nodes of the cluster. Removed ones are not among them.
    pub nodes: BTreeMap<u64, Place>,
    /// How many replicas each shard is to have.
    pub replicas: usize,
    /// Where the replicas of each shard are wanted, as the catalog has it.
    pub wanted: BTreeMap<u16, Replicas>,
    /// The members of each shard's group, as its leader tells; absent when none does.
    pub members: BTreeMap<u16, Members>,
}

/// Where a node is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its zone; none: it is a zone of its own.
    pub zone: Option<String>,
    /// Whether it answers now.
    pub reached: bool,
    /// Whether an operator drained it: it keeps its replicas, and gets others only where no other node could have them.
    pub drained: bool,
}

/// The members of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Those that vote.
    pub voters: Replicas,
    /// Those that follow.
    pub learners: Replicas,
}

/// What the planner does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Everything is where it should be.
    Nothing,
    /// It waits, and why.
    Wait(String),
    /// It wants a replica elsewhere.
    Move(Move),
}

/// A change of one replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The shard.
    pub shard: u16,
    /// Where its replicas are wanted until now.
    pub from: Replicas,
    /// Where they are to be wanted.
    pub to: Replicas,
    /// Why.
    pub why: String,
}

/// What the planner does next.
pub fn next(view: &View) -> Next {
    let busy: BTreeMap<u16, String> =
        view.wanted.iter().filter_map(|(shard, wanted)| Some((*shard, unsettled(view, *shard, wanted)?))).collect();
    if let Some(first) = busy.values().next() {
        // What a group waits for may be gone meanwhile: then it is to wait for another.
        let astray = busy.keys().find_map(|shard| replaced(view, *shard));
        return astray.unwrap_or_else(|| Next::Wait(first.clone()));
    }
    let shards = || view.wanted.keys().copied();
    let needed = shards().find_map(|shard| replaced(view, shard)).or_else(|| shards().find_map(|s| counted(view, s)));
    if let Some(needed) = needed {
        return needed;
    }
    let Some(better) = shards().find_map(|shard| apart(view, shard)).or_else(|| even(view)) else {
        return Next::Nothing;
    };
    match view.nodes.iter().find(|(_, place)| !place.reached) {
        Some((node, _)) => {
            Next::Wait(format!("node {node} does not answer, and what is to do can wait: {}", better.why))
        }
        None => Next::Move(better),
    }
}

/// Where founders put the replicas of the shards.
pub fn initial(nodes: BTreeMap<u64, Option<String>>, replicas: usize, shards: u16) -> BTreeMap<u16, Replicas> {
    let nodes = nodes.into_iter().map(|(node, zone)| (node, Place { zone, reached: true, drained: false })).collect();
    let wanted = (0..shards).map(|shard| (shard, Replicas::new())).collect();
    let mut view = View { nodes, replicas, wanted, members: BTreeMap::new() };
    for shard in 0..shards {
        while let Some(Next::Move(change)) = counted(&view, shard) {
            view.wanted.insert(shard, change.to);
        }
    }
    while let Some(change) = even(&view) {
        view.wanted.insert(change.shard, change.to);
    }
    view.wanted
}

/// Who votes in the catalog group: an odd number, where there are more than two nodes, and in different zones first.
pub fn catalog_voters(nodes: &BTreeMap<u64, Option<String>>) -> Replicas {
    let count = match nodes.len().min(CATALOG_VOTERS_MAX) {
        few @ 0..=2 => few,
        even if even % 2 == 0 => even - 1,
        odd => odd,
    };
    let mut voters = Replicas::new();
    while voters.len() < count {
        let free = nodes.keys().filter(|node| !voters.contains(node));
        let zone = |node: &u64| nodes.get(node).cloned().flatten();
        let shared =
            |node: &u64| voters.iter().filter(|other| zone(node).is_some() && zone(other) == zone(node)).count();
        let Some(best) = free.min_by_key(|node| (shared(node), **node)) else { break };
        voters.insert(*best);
    }
    voters
}

/// Who leads each group when all is well: each node as many as the others, as far as it votes.
pub fn leaders(voters: &BTreeMap<GroupId, Replicas>) -> BTreeMap<GroupId, u64> {
    let mut leads: BTreeMap<u64, usize> = BTreeMap::new();
    let mut leaders = BTreeMap::new();
    let count = |leads: &BTreeMap<u64, usize>, node: u64| leads.get(&node).copied().unwrap_or(0);
    for (group, voters) in voters {
        if let Some(first) = voters.iter().min_by_key(|node| (count(&leads, **node), **node)) {
            *leads.entry(*first).or_default() += 1;
            leaders.insert(*group, *first);
        }
    }
    // Who came first may have taken what later ones need. Each turn makes the counts more even, so this ends.
    while let Some((group, from, to)) = voters.iter().find_map(|(group, voters)| {
        let from = *leaders.get(group)?;
        let to = *voters.iter().min_by_key(|node| (count(&leads, **node), **node))?;
        (count(&leads, to) + 1 < count(&leads, from)).then_some((*group, from, to))
    }) {
        leads.entry(from).and_modify(|count| *count -= 1);
        *leads.entry(to).or_default() += 1;
        leaders.insert(group, to);
    }
    leaders
}

/// What a shard's group has to do until it is where it is wanted.
fn unsettled(view: &View, shard: u16, wanted: &Replicas) -> Option<String> {
    let Some(members) = view.members.get(&shard) else { return Some(format!("shard {shard} has no leader")) };
    if let Some(new) = wanted.iter().find(|node| !members.voters.contains(node)) {
        return Some(format!("shard {shard} brings in node {new}"));
    }
    let gone = members.voters.iter().find(|node| !wanted.contains(node));
    gone.map(|gone| format!("shard {shard} lets node {gone} go"))
}

/// A replica on a node that was removed is wanted elsewhere, or no more when there are others enough, or no other node.
fn replaced(view: &View, shard: u16) -> Option<Next> {
    let from = view.wanted.get(&shard)?;
    let gone = *from.iter().find(|node| !view.nodes.contains_key(node))?;
    let mut to = from.clone();
    to.remove(&gone);
    let enough = to.len() >= view.replicas || view.nodes.keys().all(|node| to.contains(node));
    if !enough {
        let Some(new) = best(view, &to) else {
            return Some(Next::Wait(format!("shard {shard} is to leave node {gone}, and no other node answers")));
        };
        to.insert(new);
    }
    if to.is_empty() {
        return Some(Next::Wait(format!("shard {shard} is on node {gone} alone")));
    }
    Some(change(shard, from, to, format!("node {gone} was removed")))
}

/// As many replicas as there are to be, or as there are nodes.
fn counted(view: &View, shard: u16) -> Option<Next> {
    let from = view.wanted.get(&shard)?;
    let count = view.replicas.min(view.nodes.len());
    let mut to = from.clone();
    if from.len() < count {
        let why = format!("shard {shard} has {} replicas of {count}", from.len());
        let Some(new) = best(view, from) else { return Some(Next::Wait(format!("{why}, and no other node answers"))) };
        to.insert(new);
        return Some(change(shard, from, to, why));
    }
    if from.len() == count {
        return None;
    }
    let least = |node: &u64| {
        let rest: Replicas = from.iter().copied().filter(|other| other != node).collect();
        (shared(view, &rest), usize::MAX - load(view, *node), u64::MAX - *node)
    };
    to.remove(&from.iter().copied().min_by_key(least)?);
    Some(change(shard, from, to, format!("shard {shard} has {} replicas, more than {count}", from.len())))
}

/// A replica that shares its zone with another goes where it does so less.
fn apart(view: &View, shard: u16) -> Option<Move> {
    let from = view.wanted.get(&shard)?;
    let now = shared(view, from);
    let swaps = swaps(view, from).filter(|(_, _, to)| shared(view, to) < now);
    let (out, new, to) = swaps
        .min_by_key(|(out, new, to)| (shared(view, to), load(view, *new), usize::MAX - load(view, *out), *new, *out))?;
    let zone = view.nodes.get(&out).and_then(|place| place.zone.clone()).unwrap_or_default();
    let why = format!("zone {zone} has more than one replica of shard {shard}: from node {out} to node {new}");
    Some(Move { shard, from: from.clone(), to, why })
}

/// A replica goes from the node that has most to one that has at least two less, where no zone speaks against it.
fn even(view: &View) -> Option<Move> {
    let mut best: Option<(usize, Move)> = None;
    let loads: BTreeMap<_, _> = view.nodes.keys().map(|node| (*node, load(view, *node))).collect();
    let load = |node: u64| loads.get(&node).copied().unwrap_or(0);
    for (shard, from) in &view.wanted {
        let now = shared(view, from);
        for (out, new, to) in swaps(view, from) {
            let (most, least) = (load(out), load(new));
            let gain = most.saturating_sub(least);
            if gain >= 2 && shared(view, &to) <= now && best.as_ref().is_none_or(|(before, _)| gain > *before) {
                let why = format!("node {out} has {most} replicas and node {new} has {least}");
                best = Some((gain, Move { shard: *shard, from: from.clone(), to, why }));
            }
        }
    }
    best.map(|(_, change)| change)
}

fn change(shard: u16, from: &Replicas, to: Replicas, why: String) -> Next {
    Next::Move(Move { shard, from: from.clone(), to, why })
}

/// Every replica to every node without one that answers and is not drained.
fn swaps<'a>(view: &'a View, from: &'a Replicas) -> impl Iterator<Item = (u64, u64, Replicas)> + 'a {
    let free =
        move || view.nodes.iter().filter(|(node, place)| place.reached && !place.drained && !from.contains(node));
    from.iter().flat_map(move |out| {
        free().map(move |(new, _)| {
            let mut to = from.clone();
            to.remove(out);
            to.insert(*new);
            (*out, *new, to)
        })
    })
}

/// The node that a replica beside these is best on.
fn best(view: &View, beside: &Replicas) -> Option<u64> {
    let free = view.nodes.iter().filter(|(node, place)| place.reached && !beside.contains(node));
    let best = free.min_by_key(|(node, place)| {
        let mut with = beside.clone();
        with.insert(**node);
        (place.drained, shared(view, &with), load(view, **node), **node)
    });
    best.map(|(node, _)| *node)
}

/// How many pairs of replicas share a zone.
fn shared(view: &View, replicas: &Replicas) -> usize {
    let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
    for zone in replicas.iter().filter_map(|node| view.nodes.get(node)?.zone.as_deref()) {
        *zones.entry(zone).or_default() += 1;
    }
    zones.values().map(|count| count * (count - 1) / 2).sum()
}

/// How many replicas are wanted on a node.
fn load(view: &View, node: u64) -> usize {
    view.wanted.values().filter(|replicas| replicas.contains(&node)).count()
}
