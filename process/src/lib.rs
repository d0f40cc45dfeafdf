//! The open reference library for Agent Process documents (`core-2`, with the keys of `parallel-1` and `check-1`).
//!
//! Text of a `PROCESS.md` in, a [`Document`] that cannot be invalid out, or every issue at once.

pub mod json;
pub mod model;
pub mod time;

pub use model::*;
