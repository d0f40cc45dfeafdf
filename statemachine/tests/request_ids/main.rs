//! Request ids over all shards (design §4): step by step, and over every interleaving of a few callers.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "tests")]

mod broken;
mod calls;
mod explore;
mod invariants;
mod shards;
mod steps;
#[path = "../support/mod.rs"]
mod support;
