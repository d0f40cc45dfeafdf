//! The Quorate node.

pub mod groups;
