//! Which shard a call goes to. Nothing else chooses shards.

use agentprocess::json::{Value, canonical};
use quorate_proto::{FileId, GroupId, RunId, Unique};
use sha2::{Digest, Sha256};

/// The home shard of a request id (design §4): `start_run` and `upload` take ids there, so one commit suffices.
pub(crate) fn home(org: &str, request: &str, shards: u16) -> u16 {
    // Canonical JSON keeps ("a", "bc") and ("ab", "c") apart.
    let pair = canonical(&Value::Array(vec![org.into(), request.into()]));
    let hash = Sha256::digest(pair.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    u16::try_from(u64::from_be_bytes(first) % u64::from(shards.max(1))).unwrap_or(0)
}

/// The group of an id, or `None` when this cluster has no such shard: the id was made up.
fn group(id: Unique, shards: u16) -> Option<GroupId> {
    (id.shard < shards).then_some(GroupId::Shard(id.shard))
}

/// The group of a run.
pub(crate) fn run(id: RunId, shards: u16) -> Option<GroupId> {
    group(id.0, shards)
}

/// The group of a file.
pub(crate) fn file(id: FileId, shards: u16) -> Option<GroupId> {
    group(id.0, shards)
}

/// All shard groups.
pub(crate) fn all(shards: u16) -> impl Iterator<Item = GroupId> {
    (0..shards).map(GroupId::Shard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_stable_and_spread() {
        assert_eq!(home("demo", "r1", 8), home("demo", "r1", 8));
        let mut hit = [0u32; 8];
        for n in 0..800 {
            hit[usize::from(home("demo", &format!("r{n}"), 8))] += 1;
        }
        assert!(hit.iter().all(|n| (50..200).contains(n)), "{hit:?}");
        // Changing the hash would move recorded request ids away from their records.
        assert_eq!(home("demo", "r1", u16::MAX), 14_952);
    }
}
