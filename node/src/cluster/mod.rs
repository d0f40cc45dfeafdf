//! The nodes of a cluster: how they find each other and become one, and where the replicas of its shards are wanted.

pub mod found;
pub mod founding;
#[cfg(test)]
mod founding_tests;
pub mod placement;
#[cfg(test)]
mod placement_tests;
