//! YAML 1.2, core schema only, read into exact JSON values (§2.1).
//!
//! It stands on an event parser, which is iterative, and keeps limits of its own on depth, values and bytes after
//! aliases are expanded. Ready-made loaders recurse without a limit, count aliases by nodes only, turn large integers
//! into doubles and let quoted twins of a key pass.

mod load;
mod scalar;

pub(crate) use load::load;

/// Deepest nesting of lists and mappings. Well below what JSON may nest, as views put declarations inside of views.
const DEPTH_MAX: usize = 64;
/// Most values, expanded aliases included.
const NODES_MAX: usize = 100_000;
/// Most bytes of text in values, expanded aliases included.
const BYTES_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests;
