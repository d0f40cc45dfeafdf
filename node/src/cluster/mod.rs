//! The nodes of a cluster: how they find each other and become one.

pub mod found;
pub mod founding;
#[cfg(test)]
mod founding_tests;
