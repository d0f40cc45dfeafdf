//! What a cluster stands on, as far as this machine permits: a network, disks and clocks that can be disturbed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Error;
use crate::clocks::Clocks;
use crate::disks::Disks;
use crate::faults::Fault;
use crate::network::Network;

/// The ground.
#[derive(Default)]
pub struct Ground {
    /// A network of the nodes' own.
    pub network: Option<Network>,
    /// Disks of their own.
    pub disks: Option<Disks>,
    /// Clocks that can be wrong.
    pub clocks: Option<Clocks>,
    /// Faults that cannot be had here, and why.
    pub left_out: BTreeMap<&'static str, String>,
}

impl Ground {
    /// Whatever can be had.
    pub fn new(data: &Path, nodes: usize) -> Self {
        let mut ground = Self::default();
        ground.network = ground.unless_left(&Fault::OF_NETWORK, Network::new(nodes));
        ground.disks = ground.unless_left(&Fault::OF_DISKS, Disks::new(data, nodes));
        ground.clocks = ground.unless_left(&Fault::OF_CLOCKS, Clocks::find());
        if ground.network.as_ref().is_some_and(|network| !network.has_netem()) {
            let why = "this kernel has no netem; slow has a narrow link instead, where packets wait and are lost";
            ground.left_out.insert("delay_and_loss", why.to_owned());
        }
        ground
    }

    fn unless_left<T>(&mut self, faults: &[Fault], made: Result<T, Error>) -> Option<T> {
        made.map_err(|why| self.left_out.extend(faults.iter().map(|fault| (fault.name(), why.to_string())))).ok()
    }

    /// The faults that can be had.
    pub fn faults(&self) -> Vec<Fault> {
        Fault::ALL.into_iter().filter(|fault| !self.left_out.contains_key(fault.name())).collect()
    }
}
