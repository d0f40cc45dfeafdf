//! A network of the harness's own: each node in a network namespace, all on one bridge. Linux, as root, with `ip`.
//!
//! A way from one node to another is cut by giving the sender a wrong hardware address for the other: what it sends is
//! lost without a word, as on a broken wire, and what comes back still arrives.

use rand::RngExt;

use crate::Error;
use crate::tools::tool;

/// No card has it.
const NOWHERE: &str = "02:00:00:00:00:00";

/// The network. It is removed when this is dropped.
pub struct Network {
    name: String,
    /// First three numbers of every address.
    net: String,
    nodes: usize,
}

impl Network {
    /// Makes a network of so many nodes. Fails where namespaces are not to be had.
    pub fn new(nodes: usize) -> Result<Self, Error> {
        // 198.18.0.0/15 is for measuring, and nobody's.
        let net = format!("198.18.{}", rand::rng().random_range(1..255));
        let network = Self { name: format!("qf{}", std::process::id()), net, nodes };
        network.make().map_err(|e| format!("there are no network namespaces here: {e}"))?;
        Ok(network)
    }

    fn make(&self) -> Result<(), Error> {
        let bridge = self.name.clone();
        ip(&["link", "add", &bridge, "type", "bridge"])?;
        ip(&["addr", "add", &format!("{}.254/24", self.net), "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for node in 0..self.nodes {
            let (space, port) = (self.space(node), self.port(node));
            ip(&["netns", "add", &space])?;
            ip(&["link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &space])?;
            ip(&["link", "set", &port, "master", &bridge, "up"])?;
            ip(&["-n", &space, "link", "set", "eth0", "address", &hardware(node)])?;
            ip(&["-n", &space, "addr", "add", &format!("{}/24", self.address(node)), "dev", "eth0"])?;
            ip(&["-n", &space, "link", "set", "lo", "up"])?;
            ip(&["-n", &space, "link", "set", "eth0", "up"])?;
        }
        for (from, to) in self.pairs() {
            self.open(from, to)?;
        }
        Ok(())
    }

    /// The address of a node.
    pub fn address(&self, node: usize) -> String {
        format!("{}.{}", self.net, node + 1)
    }

    /// What goes before a command so that it runs at a node.
    pub fn prefix(&self, node: usize) -> [String; 4] {
        ["ip".to_owned(), "netns".to_owned(), "exec".to_owned(), self.space(node)]
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let nodes = self.nodes;
        (0..nodes).flat_map(move |from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to)
    }

    /// Loses whatever one node sends to another.
    pub fn cut(&self, from: usize, to: usize) -> Result<(), Error> {
        self.neighbour(from, to, NOWHERE)
    }

    /// Ends a cut.
    pub fn open(&self, from: usize, to: usize) -> Result<(), Error> {
        self.neighbour(from, to, &hardware(to))
    }

    fn neighbour(&self, from: usize, to: usize, hardware: &str) -> Result<(), Error> {
        let (space, to) = (self.space(from), self.address(to));
        ip(&["-n", &space, "neigh", "replace", &to, "lladdr", hardware, "nud", "permanent", "dev", "eth0"])
    }

    /// Takes a node's cable out: nobody reaches it, and it reaches nobody.
    pub fn unplug(&self, node: usize) -> Result<(), Error> {
        ip(&["link", "set", &self.port(node), "nomaster"])
    }

    /// Puts it in again.
    pub fn plug(&self, node: usize) -> Result<(), Error> {
        ip(&["link", "set", &self.port(node), "master", &self.name])
    }

    /// Whether this kernel delays and loses packets on request.
    pub fn has_netem(&self) -> bool {
        let found = self.netem(0).is_ok();
        found && self.fast(0).is_ok()
    }

    fn netem(&self, node: usize) -> Result<(), Error> {
        let how = ["dev", "eth0", "root", "netem", "delay", "50ms", "30ms", "loss", "3%"];
        tool("tc", &[&["-n", &self.space(node), "qdisc", "add"], &how[..]].concat())
    }

    /// Makes what a node sends late and lossy; says how. A kernel without `netem` has a narrow link at least, on which
    /// packets wait and then are lost.
    pub fn slow(&self, node: usize) -> Result<&'static str, Error> {
        if self.netem(node).is_ok() {
            return Ok("50 ms and 3 % loss by netem");
        }
        let narrow = ["dev", "eth0", "root", "tbf", "rate", "2mbit", "burst", "8kb", "latency", "200ms"];
        tool("tc", &[&["-n", &self.space(node), "qdisc", "add"], &narrow[..]].concat())?;
        Ok("2 Mbit/s, no netem here")
    }

    /// Ends that.
    pub fn fast(&self, node: usize) -> Result<(), Error> {
        tool("tc", &["-n", &self.space(node), "qdisc", "del", "dev", "eth0", "root"])
    }

    fn space(&self, node: usize) -> String {
        format!("{}n{node}", self.name)
    }

    fn port(&self, node: usize) -> String {
        format!("{}p{node}", self.name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for node in 0..self.nodes {
            // Not there when making it failed.
            let _ = ip(&["link", "del", &self.port(node)]);
            let _ = ip(&["netns", "del", &self.space(node)]);
        }
        let _ = ip(&["link", "del", &self.name]);
    }
}

fn hardware(node: usize) -> String {
    format!("02:00:00:00:01:{:02x}", node + 1)
}

fn ip(words: &[&str]) -> Result<(), Error> {
    tool("ip", words)
}
