//! Runs the files of `scenarios/` against servers of several kinds.
//!
//! `UPDATE_GOLDENFILES=1 cargo test -p quorate --test scenarios in_memory` fills in what a file does not yet expect; every
//! line of it is to be read against the scenario before it is kept.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::format_push_string,
    clippy::wildcard_enum_match_arm,
    clippy::single_match_else,
    reason = "tests, read more than run"
)]

mod args;
mod envelope;
mod fixtures;
mod hostile;
mod json;
mod language;
#[cfg(all(feature = "http", feature = "rocks"))]
mod mcp;
mod memory;
mod names;
mod player;
mod races;
#[path = "../support/results.rs"]
mod results;
mod show;
mod sketch;
mod world;

use std::path::{Path, PathBuf};

use language::Script;
use world::{Settings, World};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

/// The header of a file: `# settings: shards=1` and `# memory-only: <reason>`.
fn header(name: &str) -> (Settings, Option<String>) {
    let text = std::fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap();
    let mut settings = Settings::default();
    let mut memory_only = None;
    for line in text.lines().take_while(|line| line.starts_with('#')) {
        if let Some(shards) = line.strip_prefix("# settings: shards=") {
            settings.shards = shards.parse().unwrap();
        }
        if let Some(reason) = line.strip_prefix("# memory-only: ") {
            memory_only = Some(reason.to_owned());
        }
    }
    (settings, memory_only)
}

fn play(world: &dyn World, name: &str) {
    let mut script = Script::new(world);
    let path = folder().join(format!("{name}.txt"));
    goldenscript::run(&mut script, &path).unwrap_or_else(|e| panic!("scenarios/{name}.txt: {e}"));
}

macro_rules! files {
    ($($test:ident: $name:literal,)*) => {
        const FILES: &[&str] = &[$($name),*];

        mod in_memory {
            use super::*;
            $(#[test]
            fn $test() {
                play(&memory::MemoryWorld::new(header($name).0), $name);
            })*

            #[test]
            fn claims_race() {
                races::claims(&memory::MemoryWorld::new(Settings::default()));
            }

            #[test]
            fn decisions_race() {
                races::decisions(&memory::MemoryWorld::new(Settings::default()));
            }

            #[test]
            fn twins_race() {
                races::twins(&memory::MemoryWorld::new(Settings::default()));
            }

            #[test]
            fn strangers_race() {
                races::strangers(&memory::MemoryWorld::new(Settings { shards: 4 }));
            }

            #[test]
            fn hostile_documents_cost_little() {
                hostile::documents(&memory::MemoryWorld::new(Settings::default()));
            }

            #[test]
            fn fixtures_run_to_an_end() {
                fixtures::play_all(&memory::MemoryWorld::new(Settings::default()));
            }
        }

        #[cfg(all(feature = "http", feature = "rocks"))]
        mod over_mcp {
            use super::*;
            $(#[test]
            fn $test() {
                let (settings, memory_only) = header($name);
                match memory_only {
                    Some(reason) => eprintln!("skipped: scenarios/{}.txt is for memory only: {reason}", $name),
                    None => play(&mcp::McpWorld::new($name, settings), $name),
                }
            })*

            /// D/S-12: a caller without credentials gets no answer of a tool, but 401 (AUTH-401).
            #[test]
            fn nobody_is_refused() {
                let refused = mcp::McpWorld::new("nobody", Settings::default()).post("nobody", "describe", "{}").unwrap();
                assert_eq!(refused.0, 401, "{refused:?}");
            }

            #[test]
            fn races() {
                let world = mcp::McpWorld::new("races", Settings::default());
                races::claims(&world);
                races::decisions(&world);
                races::twins(&world);
                races::strangers(&world);
            }

            #[test]
            fn hostile_documents_cost_little() {
                hostile::documents(&mcp::McpWorld::new("hostile", Settings::default()));
            }

            #[test]
            fn fixtures_run_to_an_end() {
                fixtures::play_all(&mcp::McpWorld::new("fixtures", Settings::default()));
            }
        }

        /// The same with three nodes, each call at another one than the call before, in both eras of MCP.
        #[cfg(all(feature = "http", feature = "rocks"))]
        mod over_three_nodes {
            use super::*;
            $(#[test]
            fn $test() {
                let (settings, memory_only) = header($name);
                match memory_only {
                    Some(reason) => eprintln!("skipped: scenarios/{}.txt is for memory only: {reason}", $name),
                    None => play(&mcp::McpWorld::of_nodes(3, $name, settings), $name),
                }
            })*

            #[test]
            fn races() {
                let world = mcp::McpWorld::of_nodes(3, "races", Settings::default());
                races::claims(&world);
                races::decisions(&world);
                races::twins(&world);
                races::strangers(&world);
            }

            #[test]
            fn fixtures_run_to_an_end() {
                fixtures::play_all(&mcp::McpWorld::of_nodes(3, "fixtures", Settings::default()));
            }
        }
    };
}

files! {
    claims: "claims",
    decisions: "decisions",
    documents: "documents",
    due: "due",
    ending: "ending",
    files_and_urls: "files",
    finding_work: "finding-work",
    handoff: "handoff",
    idempotency: "idempotency",
    leases: "leases",
    organizations: "organizations",
    parallel: "parallel",
    publishing: "publishing",
    rework: "rework",
    starting: "starting",
    submissions: "submissions",
    views: "views",
    waits_events: "waits-events",
}

/// Every file is run.
#[test]
fn no_file_is_left_out() {
    let mut there: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|f| f.unwrap().file_name().to_string_lossy().strip_suffix(".txt").map(str::to_owned))
        .filter(|name| name != "ids" && name != "later")
        .collect();
    there.sort();
    let mut listed: Vec<_> = FILES.iter().map(|f| (*f).to_owned()).collect();
    listed.sort();
    assert_eq!(there, listed);
}
