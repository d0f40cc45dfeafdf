//! What both sides say first, and what is not accepted.

use quorate_proto::peers::Hello;

/// Version of everything after the hello.
pub(super) const PROTOCOL: u32 = 2;
/// The longest address, in bytes: a DNS name and a port.
const ADDRESS_BYTES_MAX: usize = 260;

/// Who this node is, as it tells peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) cluster: String,
    pub(super) node: u64,
    pub(super) address: String,
}

impl Identity {
    /// What this node says to node `to`.
    pub(super) fn hello(&self, to: u64) -> Hello {
        let Self { cluster, node, address } = self.clone();
        Hello { protocol: PROTOCOL, cluster, node, to, address }
    }

    /// Whether a peer's hello is acceptable; else why not. `expected` is the number it must have, where one is known.
    pub(super) fn accept(&self, hello: Option<Hello>, expected: Option<u64>) -> Result<Hello, String> {
        let Some(hello) = hello else { return Err("it said no hello".to_owned()) };
        if hello.protocol != PROTOCOL {
            return Err(format!(
                "it speaks version {} between nodes, and this node version {PROTOCOL}",
                hello.protocol
            ));
        }
        if hello.cluster != self.cluster {
            // What it sent may be of any size.
            let theirs: String = hello.cluster.chars().take(64).collect();
            return Err(format!("it is of cluster {theirs:?}, and this node of {:?}", self.cluster));
        }
        if let Some(expected) = expected.filter(|expected| *expected != hello.node) {
            return Err(format!("it is node {}, and node {expected} was expected there", hello.node));
        }
        if hello.to != self.node {
            return Err(format!("it looks for node {}, and this is node {}", hello.to, self.node));
        }
        if hello.node == self.node {
            return Err(format!("it has this node's own number, {}", self.node));
        }
        if hello.address.len() > ADDRESS_BYTES_MAX {
            return Err(format!("its address has more than {ADDRESS_BYTES_MAX} bytes"));
        }
        Ok(hello)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(node: u64) -> Identity {
        Identity { cluster: "c1".to_owned(), node, address: format!("10.0.0.{node}:7000") }
    }

    #[test]
    fn only_the_expected_peer_is_accepted() {
        let (one, two) = (identity(1), identity(2));
        let hello = two.hello(1);
        assert_eq!(one.accept(Some(hello.clone()), Some(2)), Ok(hello.clone()));
        assert_eq!(one.accept(Some(hello.clone()), None), Ok(hello.clone()));
        let refused = |hello: Hello, expected| one.accept(Some(hello), expected).err().unwrap_or_default();
        assert_eq!(refused(hello.clone(), Some(3)), "it is node 2, and node 3 was expected there");
        assert_eq!(refused(two.hello(3), None), "it looks for node 3, and this is node 1");
        assert_eq!(refused(one.hello(1), None), "it has this node's own number, 1");
        let other = Hello { cluster: "c2".repeat(99), ..hello.clone() };
        assert!(refused(other, None).starts_with("it is of cluster \"c2c2"));
        let newer = Hello { protocol: 3, ..hello.clone() };
        assert_eq!(refused(newer, None), "it speaks version 3 between nodes, and this node version 2");
        let long = Hello { address: "a".repeat(261), ..hello };
        assert_eq!(refused(long, None), "its address has more than 260 bytes");
        assert_eq!(one.accept(None, None), Err("it said no hello".to_owned()));
    }
}
