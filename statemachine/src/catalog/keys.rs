//! Every key of the catalog.
//!
//! | Tag | Key | Value |
//! |---|---|---|
//! | `c` | | [`Timestamp`](agentprocess::time::Timestamp): the group's clock |
//! | `k` | number | 32 bytes of a signing key |
//! | `n` | number | [`NodeRow`](super::rows::NodeRow): a node of the cluster, or one that was |
//! | `q` | number | [`DrainRow`](super::rows::DrainRow): a node that is to lead nothing |
//! | `f` | | how many replicas each shard is to have |
//! | `p` | shard | the nodes on which its replicas are wanted |
//! | `d` | org, process | [`DraftRow`](super::rows::DraftRow) |
//! | `h` | org, process | [`HeadRow`](super::rows::HeadRow) |
//! | `a` | org, process | nothing: index of processes with a version and not retired |
//! | `v` | org, process, number | [`StoredVersion`](super::rows::StoredVersion) |
//! | `s` | org, process, number | the file as imported |
//! | `j` | org, sequence | [`RecordRow`](super::rows::RecordRow): who did what, when |
//!
//! Texts in keys are escaped so that they sort as they read and none is a prefix of another.

use std::ops::Range;

/// A key of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// The group's clock.
    Clock,
    /// A signing key.
    Secret(u32),
    /// A node.
    Node(u64),
    /// That a node is drained.
    Drain(u64),
    /// How many replicas each shard is to have.
    Replicas,
    /// Where the replicas of a shard are wanted.
    Placement(u16),
    /// A draft.
    Draft(&'a str, &'a str),
    /// What stands of a process.
    Head(&'a str, &'a str),
    /// A process that can be started.
    Active(&'a str, &'a str),
    /// A version.
    Version(&'a str, &'a str, u32),
    /// The file of a version.
    Source(&'a str, &'a str, u32),
    /// A record of what was done.
    Record(&'a str, u64),
}

impl Key<'_> {
    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        match self {
            Self::Clock => all.push(b'c'),
            Self::Secret(number) => {
                all.push(b'k');
                all.extend(number.to_be_bytes());
            }
            Self::Node(number) => {
                all.push(b'n');
                all.extend(number.to_be_bytes());
            }
            Self::Drain(number) => {
                all.push(b'q');
                all.extend(number.to_be_bytes());
            }
            Self::Replicas => all.push(b'f'),
            Self::Placement(shard) => {
                all.push(b'p');
                all.extend(shard.to_be_bytes());
            }
            Self::Draft(org, process) => named(&mut all, b'd', org, process),
            Self::Head(org, process) => named(&mut all, b'h', org, process),
            Self::Active(org, process) => named(&mut all, b'a', org, process),
            Self::Version(org, process, number) => {
                named(&mut all, b'v', org, process);
                all.extend(number.to_be_bytes());
            }
            Self::Source(org, process, number) => {
                named(&mut all, b's', org, process);
                all.extend(number.to_be_bytes());
            }
            Self::Record(org, sequence) => {
                all.push(b'j');
                text(&mut all, org);
                all.extend(sequence.to_be_bytes());
            }
        }
        all
    }
}

fn named(all: &mut Vec<u8>, tag: u8, org: &str, process: &str) {
    all.push(tag);
    text(all, org);
    text(all, process);
}

/// Zero bytes become `0 255` and the text ends with `0 1`: order is kept, and no text runs into what follows.
fn text(all: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        all.push(byte);
        if byte == 0 {
            all.push(255);
        }
    }
    all.extend([0, 1]);
}

/// The named rows of one organization under `tag`, after the process `after` if one is given.
pub(super) fn processes(tag: u8, org: &str, after: Option<&str>) -> Range<Vec<u8>> {
    let mut start = vec![tag];
    text(&mut start, org);
    let end = past(&start);
    if let Some(after) = after {
        text(&mut start, after);
        start.push(0);
    }
    start..end
}

/// The signing keys.
pub(super) fn secrets() -> Range<Vec<u8>> {
    vec![b'k']..vec![b'k' + 1]
}

/// The nodes.
pub(super) fn nodes() -> Range<Vec<u8>> {
    vec![b'n']..vec![b'n' + 1]
}

/// The nodes that are drained.
pub(super) fn drains() -> Range<Vec<u8>> {
    vec![b'q']..vec![b'q' + 1]
}

/// Where the replicas of the shards are wanted.
pub(super) fn placements() -> Range<Vec<u8>> {
    vec![b'p']..vec![b'p' + 1]
}

/// The records of one organization, before `before` if one is given.
pub(super) fn records(org: &str, before: Option<u64>) -> Range<Vec<u8>> {
    let mut start = vec![b'j'];
    text(&mut start, org);
    let end = before.map_or_else(|| past(&start), |sequence| Key::Record(org, sequence).bytes());
    start..end
}

/// The versions of one process with a number below `before`.
pub(super) fn versions(org: &str, process: &str, before: u32) -> Range<Vec<u8>> {
    Key::Version(org, process, 0).bytes()..Key::Version(org, process, before).bytes()
}

/// The first key after all keys that start with `prefix`, which ends in the terminator `0 1`.
fn past(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// The process name in a key of [`processes`]; `None` for bytes this build did not write.
pub(super) fn process_of(key: &[u8]) -> Option<String> {
    let mut texts = key.get(1..)?.iter().copied();
    let (mut found, mut bytes) = (0, Vec::new());
    while let Some(byte) = texts.next() {
        match (byte, if byte == 0 { texts.next()? } else { 0 }) {
            (0, 1) if found == 1 => return String::from_utf8(bytes).ok(),
            (0, 1) => {
                found += 1;
                bytes.clear();
            }
            (byte, _) => bytes.push(byte),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_do_not_run_into_each_other() {
        for name in ["a", "supplier-onboarding", "", "\0", "\0\u{1}"] {
            assert_eq!(process_of(&Key::Active("o\0rg", name).bytes()).as_deref(), Some(name));
            assert!(processes(b'a', "o\0rg", None).contains(&Key::Active("o\0rg", name).bytes()));
            assert!(!processes(b'a', "o", None).contains(&Key::Active("o\0rg", name).bytes()));
            assert!(!processes(b'a', "o\0rg", Some(name)).contains(&Key::Active("o\0rg", name).bytes()));
        }
        assert!(processes(b'a', "o", Some("a")).contains(&Key::Active("o", "a-b").bytes()));
        assert_ne!(Key::Head("ab", "c").bytes(), Key::Head("a", "bc").bytes());
    }
}
