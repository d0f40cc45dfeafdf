//! Tests of the tools on groups in memory.
#![allow(clippy::unwrap_used, reason = "tests")]

mod arguments;
mod files;
mod limits;
mod lists;
mod pages;
mod requests;
#[path = "../../../tests/support/results.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod results;
mod retries;
mod schemas;
mod seen;
mod supplier;
mod world;
