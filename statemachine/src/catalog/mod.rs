//! The catalog group: drafts, published versions, role bindings, signing keys, and the record of what operators did.
//!
//! Who may do what is judged at the edge (PUB-WHO); what makes sense is judged here, in one serial order.

mod apply;
mod command;
pub mod keys;
pub mod read;
pub mod roles;
pub mod rows;
#[cfg(test)]
mod tests;

pub use apply::apply;
pub use command::publish::changed;
