//! The replicas of a group compare their states.
//!
//! The leader proposes [`Command::Check`] from time to time. Each replica keeps a view of its state as of that entry, makes a
//! digest of it in pieces while all else goes on, and tells it to the others. What a majority of the voters has is right. A
//! replica that has something else stops, and is condemned: it does not start again either. It is replaced with its node.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use openraft::AsyncRuntime as _;
use quorate_proto::{Command, GroupId, codec};
use quorate_statemachine::digest::Digesting;
use quorate_statemachine::store::Fatal;
use serde::{Deserialize, Serialize};

use super::group::Group;
use super::groups::RaftGroups;
use super::message::{Request, Response};
use super::peer::ask;
use super::rows::Rows;
use super::types::{Runtime, name};
use crate::engine::keys::MetaKey;
use crate::engine::{Batch, Engine, EngineError, Family, flush};

/// How much of a state is looked at without a pause, in bytes.
const PIECE_BYTES: usize = 1 << 20;
/// How much longer the pause after a piece is than the look at it: digests take a quarter of one core, and of the disk.
const PAUSE_FACTOR: u32 = 3;
/// How often to look whether a digest is to be made.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a replica may take to hear a digest, and how often it is told.
const TELL_LIMIT: Duration = Duration::from_secs(1);
const TELL_TIMES: usize = 3;

/// What a replica tells of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    /// Whose it is.
    node: u64,
    /// As of which entry.
    index: u64,
    digest: [u8; 32],
}

/// What the replicas of a group told last, this one among them.
#[derive(Debug, Default)]
pub(super) struct Checks {
    told: Mutex<BTreeMap<u64, Told>>,
    agreed: AtomicU64,
    differs: AtomicBool,
}

/// What a replica knows of its own state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Too few have told.
    Unknown,
    /// A majority has the same.
    Right,
    /// A majority has something else.
    Odd,
    /// Some differ, and nobody can say which is right.
    Split,
}

impl Checks {
    /// Index of the last check in which this replica was one of an equal majority.
    pub(super) fn agreed(&self) -> u64 {
        self.agreed.load(Ordering::Relaxed)
    }

    /// Whether the last check found that replicas differ, and did not find this one right.
    pub(super) fn differs(&self) -> bool {
        self.differs.load(Ordering::Relaxed)
    }

    /// Takes what a replica tells; what `node` then knows of its own state, and of which entry.
    fn hear(&self, told: Told, node: u64, voters: &[u64]) -> (Verdict, u64) {
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(&told.node).is_none_or(|before| before.index <= told.index) {
            all.insert(told.node, told);
        }
        let verdict = judge(&all, node, voters);
        let index = all.get(&node).map_or(0, |own| own.index);
        match verdict {
            Verdict::Unknown => {}
            Verdict::Right => {
                self.agreed.store(index, Ordering::Relaxed);
                self.differs.store(false, Ordering::Relaxed);
            }
            Verdict::Odd | Verdict::Split => self.differs.store(true, Ordering::Relaxed),
        }
        (verdict, index)
    }
}

fn judge(told: &BTreeMap<u64, Told>, node: u64, voters: &[u64]) -> Verdict {
    let Some(own) = told.get(&node) else { return Verdict::Unknown };
    let mut counts: BTreeMap<[u8; 32], usize> = BTreeMap::new();
    for voter in voters.iter().filter_map(|voter| told.get(voter)).filter(|voter| voter.index == own.index) {
        *counts.entry(voter.digest).or_default() += 1;
    }
    match counts.iter().find(|(_, count)| **count > voters.len() / 2) {
        Some((digest, _)) if *digest == own.digest => Verdict::Right,
        Some(_) => Verdict::Odd,
        None if counts.keys().any(|digest| *digest != own.digest) => Verdict::Split,
        None => Verdict::Unknown,
    }
}

impl RaftGroups {
    /// Has the groups that this node leads checked, each once in `every`, and checks what is to be checked here. Without end.
    pub async fn keep_checked(&self, every: Duration) {
        let turn = every / u32::try_from(self.groups.len()).unwrap_or(u32::MAX).max(1);
        let propose = async {
            for group in self.groups.iter().cycle() {
                tokio::time::sleep(turn).await;
                self.propose_check(group).await;
            }
        };
        let make = async {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                self.make_digests().await;
            }
        };
        futures_util::future::join(propose, make).await;
    }

    /// Has a group checked, if this node leads it and there is another to compare with.
    pub(super) async fn propose_check(&self, group: &Group) {
        if group.leads() && group.voters().len() > 1 {
            drop(self.propose_here(group, Command::Check).await);
        }
    }

    /// Makes the digests that are to be made here, one group after the other, and tells them.
    pub(super) async fn make_digests(&self) {
        for group in &self.groups {
            let Some((index, rows)) = group.watch.to_check() else { continue };
            match digest(rows).await {
                Ok(digest) => {
                    let told = Told { node: self.node, index, digest };
                    self.hear(group, told).await;
                    self.tell(group, told).await;
                }
                // Such as a file whose checksum is wrong: nothing may be served from it.
                Err(e) => self.condemn(group, &format!("its state is not readable: {e}")).await,
            }
        }
    }

    async fn tell(&self, group: &Group, told: Told) {
        let others = group.nodes().into_iter().filter(|node| *node != self.node);
        futures_util::future::join_all(others.map(async |other| {
            for _ in 0..TELL_TIMES {
                let asked = ask(self.transport.as_ref(), other, group.id, &Request::Digest(told));
                match tokio::time::timeout(TELL_LIMIT, asked).await {
                    Ok(Ok(Response::Taken)) => return,
                    // It is not there, or too busy: it hears the next one.
                    Ok(_) | Err(_) => tokio::time::sleep(TELL_LIMIT).await,
                }
            }
        }))
        .await;
    }

    /// Takes what a replica tells. Stops this one when it turns out to be the odd one.
    pub(super) async fn hear(&self, group: &Group, told: Told) {
        let (verdict, index) = group.checks.hear(told, self.node, &group.voters());
        match verdict {
            Verdict::Unknown => {}
            Verdict::Right => tracing::debug!(group = %name(group.id), index, "a majority of the replicas is equal"),
            Verdict::Split => tracing::error!(
                group = %name(group.id), index, other = told.node,
                "replicas differ, and too few are there to tell which is right"
            ),
            Verdict::Odd => {
                let why = format!("its state as of entry {index} differs from that of a majority of the replicas");
                self.condemn(group, &why).await;
            }
        }
    }

    /// Stops a replica for good: its state is wrong.
    async fn condemn(&self, group: &Group, why: &str) {
        let text =
            format!("{} stops on this node: {why}; replace this node (see \"Damage\" in the guide)", name(group.id));
        if group.watch.fatal.set(text.clone()).is_err() {
            return;
        }
        tracing::error!(group = %name(group.id), reason = why, "a replica is condemned, and stops");
        let mut batch = Batch::default();
        batch.put(Family::Meta, MetaKey::Condemned(group.id).encode(), codec::encode(&why.to_owned()));
        let kept = match self.engine.write(batch) {
            Ok(()) => flush(self.engine.as_ref()).await,
            Err(e) => Err(e),
        };
        if let Err(e) = kept {
            tracing::error!(group = %name(group.id), reason = %e, "a restart will not know that the replica is condemned");
        }
        if let Err(e) = group.raft().shutdown().await {
            tracing::error!(group = %name(group.id), error = %e, "a group did not end well");
        }
    }
}

/// A digest of a whole state, made so that nothing else waits for long.
async fn digest(rows: Rows) -> Result<[u8; 32], Fatal> {
    let mut digesting = Digesting::default();
    loop {
        let (began, rows) = (Instant::now(), rows.clone());
        let piece = move || {
            let done = digesting.go_on(&rows, PIECE_BYTES);
            (digesting, done)
        };
        let (going_on, done) = Runtime::spawn_blocking(piece).await.map_err(|e| Fatal(format!("it broke: {e}")))?;
        if let Some(digest) = done? {
            return Ok(digest);
        }
        digesting = going_on;
        tokio::time::sleep(began.elapsed() * PAUSE_FACTOR).await;
    }
}

/// Why the state of a group is not served any more, if it is not.
pub(super) fn condemned(engine: &dyn Engine, group: GroupId) -> Result<Option<String>, EngineError> {
    let why = engine.get(Family::Meta, &MetaKey::Condemned(group).encode())?;
    Ok(why.map(|why| codec::decode(&why).unwrap_or_else(|_| "it is condemned".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What node 1 knows of three voters, when these told.
    fn knows(told: &[(u64, u64, u8)], voters: &[u64]) -> Verdict {
        let told = told.iter().map(|(node, index, digest)| {
            let (node, index, digest) = (*node, *index, [*digest; 32]);
            (node, Told { node, index, digest })
        });
        judge(&told.collect(), 1, voters)
    }

    #[test]
    fn a_majority_is_right() {
        let three = [1, 2, 3];
        assert_eq!(knows(&[], &three), Verdict::Unknown);
        assert_eq!(knows(&[(2, 9, 7), (3, 9, 7)], &three), Verdict::Unknown, "it has nothing itself yet");
        assert_eq!(knows(&[(1, 9, 7)], &three), Verdict::Unknown);
        assert_eq!(knows(&[(1, 9, 7), (2, 8, 6)], &three), Verdict::Unknown, "of other entries");
        assert_eq!(knows(&[(1, 9, 7), (2, 9, 7)], &three), Verdict::Right);
        assert_eq!(knows(&[(1, 9, 7), (2, 9, 6)], &three), Verdict::Split);
        assert_eq!(knows(&[(1, 9, 7), (2, 9, 6), (3, 9, 6)], &three), Verdict::Odd);
        assert_eq!(knows(&[(1, 9, 7), (2, 9, 6), (3, 9, 5)], &three), Verdict::Split);
        // A learner goes by the voters, and is not counted.
        assert_eq!(knows(&[(1, 9, 7), (2, 9, 6), (3, 9, 6)], &[2, 3, 4]), Verdict::Odd);
        assert_eq!(knows(&[(1, 9, 7), (2, 9, 7), (3, 9, 7)], &[2, 3, 4]), Verdict::Right);
        assert_eq!(knows(&[(1, 9, 7), (2, 9, 7)], &[2, 3, 4]), Verdict::Unknown);
    }

    #[test]
    fn what_comes_late_does_not_take_the_place_of_what_is_newer() {
        let checks = Checks::default();
        let told = |node, index| Told { node, index, digest: [1; 32] };
        assert_eq!(checks.hear(told(2, 20), 1, &[1, 2, 3]).0, Verdict::Unknown);
        checks.hear(told(2, 10), 1, &[1, 2, 3]);
        assert_eq!(checks.hear(told(1, 20), 1, &[1, 2, 3]), (Verdict::Right, 20));
        assert_eq!((checks.agreed(), checks.differs()), (20, false));
    }
}
