//! Keys of the engine. A group comes first, so that a group's rows lie together.
//!
//! | Family | Key | Value |
//! |---|---|---|
//! | log | group, index | checksum, then a Raft entry ([`crate::raft`]) |
//! | state | group, generation, key of the state machine | row of the state machine |
//! | meta | `ff ff`, `s` | [`Store`](crate::raft::Store): format, node, shards |
//! | meta | `ff ff`, `f` | what the node accepted when its cluster was founded, and its place there ([`crate::cluster`]) |
//! | meta | group, `v` | the vote |
//! | meta | group, `p` | log id of the last purged entry |
//! | meta | group, `a` | last applied log id, membership, generation |
//! | meta | group, `c` | why its state here is condemned ([`crate::raft`]) |
//! | meta | group, `d` | the end of the log it had when its rows here were deleted: its replica had left |
//!
//! A group is two bytes, 0 for the catalog and k + 1 for shard k; an index eight, a generation four; all big-endian. A
//! generation is one whole state: a snapshot is written beside the state and takes its place in one batch.

use std::ops::Range;

use quorate_proto::GroupId;

/// Before keys that belong to no group. No group has this number: [`SHARDS_MAX`].
const NO_GROUP: [u8; 2] = [0xff; 2];

/// How many shards a cluster can have, in shards.
pub const SHARDS_MAX: u16 = 4096;

/// A key of [`Family::Meta`](super::Family::Meta).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaKey {
    /// What the store is.
    Store,
    /// The node's part in founding its cluster.
    Founding,
    /// A group's vote.
    Vote(GroupId),
    /// How far a group's log is purged.
    Purged(GroupId),
    /// How far a group's state is, and which generation it is.
    Applied(GroupId),
    /// A group's state here is not what the others have: it is not served again.
    Condemned(GroupId),
    /// The end of the log that a group had when its rows here were deleted.
    Departed(GroupId),
}

impl MetaKey {
    /// The bytes of the key.
    pub fn encode(self) -> Vec<u8> {
        let (group, tag) = match self {
            Self::Store => (NO_GROUP, b's'),
            Self::Founding => (NO_GROUP, b'f'),
            Self::Vote(group) => (group_bytes(group), b'v'),
            Self::Purged(group) => (group_bytes(group), b'p'),
            Self::Applied(group) => (group_bytes(group), b'a'),
            Self::Condemned(group) => (group_bytes(group), b'c'),
            Self::Departed(group) => (group_bytes(group), b'd'),
        };
        vec![group[0], group[1], tag]
    }

    /// The key of bytes, `None` when they are no key of this build.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [a, b, tag] = *bytes else { return None };
        match (u16::from_be_bytes([a, b]), tag) {
            (u16::MAX, b's') => Some(Self::Store),
            (u16::MAX, b'f') => Some(Self::Founding),
            (number, b'v') => group(number).map(Self::Vote),
            (number, b'p') => group(number).map(Self::Purged),
            (number, b'a') => group(number).map(Self::Applied),
            (number, b'c') => group(number).map(Self::Condemned),
            (number, b'd') => group(number).map(Self::Departed),
            (_, _) => None,
        }
    }
}

/// The key of a log entry.
pub fn log(group: GroupId, index: u64) -> Vec<u8> {
    let mut key = group_bytes(group).to_vec();
    key.extend(index.to_be_bytes());
    key
}

/// The index in the key of a log entry.
pub fn log_index(key: &[u8]) -> Option<u64> {
    key.get(2..)?.try_into().ok().map(u64::from_be_bytes)
}

/// The keys of a group's log entries from `start` to before `end`; `None` is to the last.
pub fn log_range(group: GroupId, start: u64, end: Option<u64>) -> Range<Vec<u8>> {
    let end = match end {
        Some(end) => log(group, end),
        None => after(group_bytes(group).to_vec()),
    };
    log(group, start)..end
}

/// What comes before every key of one generation of a group's state.
pub fn state_prefix(group: GroupId, generation: u32) -> Vec<u8> {
    let mut prefix = group_bytes(group).to_vec();
    prefix.extend(generation.to_be_bytes());
    prefix
}

/// The keys of a group's generations from `start` to before `end`; `None` is to the last.
pub fn generations(group: GroupId, start: u32, end: Option<u32>) -> Range<Vec<u8>> {
    let end = match end {
        Some(end) => state_prefix(group, end),
        None => after(group_bytes(group).to_vec()),
    };
    state_prefix(group, start)..end
}

fn group_bytes(group: GroupId) -> [u8; 2] {
    match group {
        GroupId::Catalog => [0; 2],
        GroupId::Shard(number) => number.saturating_add(1).to_be_bytes(),
    }
}

fn group(number: u16) -> Option<GroupId> {
    match number {
        0 => Some(GroupId::Catalog),
        1..=SHARDS_MAX => Some(GroupId::Shard(number - 1)),
        _ => None,
    }
}

/// The first key after all that begin with `prefix`.
pub(crate) fn after(mut prefix: Vec<u8>) -> Vec<u8> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return prefix;
        }
    }
    vec![u8::MAX; 32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_keys_round_trip() {
        let groups = [GroupId::Catalog, GroupId::Shard(0), GroupId::Shard(SHARDS_MAX - 1)];
        let mut all = vec![MetaKey::Store, MetaKey::Founding];
        let of = |g: GroupId| {
            [MetaKey::Vote(g), MetaKey::Purged(g), MetaKey::Applied(g), MetaKey::Condemned(g), MetaKey::Departed(g)]
        };
        all.extend(groups.into_iter().flat_map(of));
        let mut bytes: Vec<_> = all.iter().map(|key| key.encode()).collect();
        for (key, bytes) in all.iter().zip(&bytes) {
            assert_eq!(MetaKey::decode(bytes), Some(*key));
        }
        bytes.sort();
        bytes.dedup();
        assert_eq!(bytes.len(), all.len());
        assert_eq!(MetaKey::decode(b"\x00\x00x"), None);
        assert_eq!(MetaKey::decode(b"\xff\xffv"), None);
    }

    #[test]
    fn ranges_hold_their_group_and_no_other() {
        let (one, two) = (GroupId::Shard(0), GroupId::Shard(1));
        let range = log_range(one, 0, None);
        assert!(range.contains(&log(one, 0)) && range.contains(&log(one, u64::MAX)) && !range.contains(&log(two, 0)));
        assert_eq!(log_index(&log(one, 513)), Some(513));
        let range = log_range(one, 3, Some(5));
        assert!(range.contains(&log(one, 4)) && !range.contains(&log(one, 5)) && !range.contains(&log(one, 2)));
        let range = generations(one, 1, None);
        assert!(range.contains(&state_prefix(one, u32::MAX)) && !range.contains(&state_prefix(one, 0)));
        assert!(!range.contains(&state_prefix(two, 0)));
    }

    #[test]
    fn after_skips_what_cannot_grow() {
        assert_eq!(after(vec![1, 0xff]), vec![2]);
        assert_eq!(after(vec![1, 2]), vec![1, 3]);
    }
}
