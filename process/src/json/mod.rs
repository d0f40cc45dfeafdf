//! Exact JSON: numbers keep their decimal text, objects keep their order, duplicate keys are refused.
//!
//! A general JSON library goes through doubles or lets the last of two equal keys win. A process server may do neither
//! (NUM-EXACT, JSON-DUP), so this one does what the protocol asks and no more.

mod canonical;
mod number;
mod object;
mod parse;
mod size;
mod stored;
mod value;
mod write;

pub use canonical::{canonical, write_canonical};
pub use number::Number;
pub use object::Object;
pub use parse::{DEPTH_MAX, ParseError, parse};
pub use size::{Size, size};
pub use value::Value;

#[cfg(test)]
mod tests;
