//! Publishes the protocol's own fixtures and plays each to its end, when the reference data is beside the project.

use std::path::{Path, PathBuf};
use std::process::Command;

use agentprocess::Document;

use crate::json::text;
use crate::player::{Player, Taste};
use crate::world::World;

/// Names and texts of the fixtures, or nothing, said aloud.
fn fixtures() -> Vec<(String, PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/upstream/conformance/fixtures");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: the protocol's fixtures are not played, {} is absent", folder.display());
        return Vec::new();
    };
    let mut all: Vec<_> = entries
        .map(|entry| {
            let entry = entry.unwrap();
            let path = entry.path().join("PROCESS.md");
            let source = std::fs::read_to_string(&path).unwrap();
            (entry.file_name().to_string_lossy().into_owned(), path, source)
        })
        .collect();
    all.sort();
    assert_eq!(all.len(), 12, "the twelve fixtures");
    all
}

/// D/V-34: eleven fixtures publish and run to an end; vendor-check is refused while no evaluator is configured (D/O-02).
pub fn play_all(world: &dyn World) {
    for (name, _, source) in fixtures() {
        let published = world.publish("A", &source, &|_| "g_rev".to_owned());
        if name == "vendor-check" {
            let issues = published.expect_err("needs check-1");
            assert!(issues.iter().any(|i| i.contains("check-1")), "{issues:?}");
            continue;
        }
        let published = published.unwrap_or_else(|issues| panic!("{name}: {issues:?}"));
        let document = Document::read(source.as_bytes()).unwrap_or_else(|issues| panic!("{name}: {issues:?}"));
        assert_eq!(published, crate::world::Published { version: 1, hash: document.hash.clone() }, "{name}");
        for taste in [Taste::First, Taste::Last] {
            let mut player = Player { world, taste, writes: 0, name: name.clone() };
            let view = player.play(&document.process).unwrap_or_else(|e| panic!("{name}, {taste:?}: {e}"));
            assert_eq!(text(&view, "run.state"), "ended", "{name}: {view}");
            assert_eq!(text(&view, "run.ended.by"), "server", "{name}: {view}");
        }
    }
}

/// Content hashes equal those that a program of other hands computes in Python.
#[test]
fn hashes_equal_an_independent_computation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let Some(python) = python() else { return };
    let own = [root.join("examples"), root.join("scenarios/processes")];
    let mut files: Vec<_> = own.iter().flat_map(|folder| markdown(folder)).collect();
    files.extend(fixtures().into_iter().map(|(_, path, _)| path));
    assert!(files.len() >= 7, "{files:?}");
    let out = Command::new(python).arg(root.join("scripts/content_hash.py")).args(&files).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let lines = String::from_utf8(out.stdout).unwrap();
    assert_eq!(lines.lines().count(), files.len());
    for (line, file) in lines.lines().zip(&files) {
        let document = Document::read(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(line.split_whitespace().next(), Some(document.hash.as_str()), "{}", file.display());
    }
}

/// Every `.md` below a folder that is a process.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(markdown(&path));
        } else if std::fs::read_to_string(&path).is_ok_and(|text| text.starts_with("---\nname:")) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The Python with the pinned YAML reader that `scripts/setup` installed, or nothing, said aloud; CI must have it.
fn python() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = set("QUORATE_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("quorate")));
    let python = cache.unwrap_or_default().join("content-hash/bin/python");
    let ready = Command::new(&python).args(["-c", "import ruamel.yaml"]).output().is_ok_and(|out| out.status.success());
    let told = format!("{} is not there or has no ruamel.yaml; scripts/setup installs it", python.display());
    assert!(ready || std::env::var_os("CI").is_none(), "{told}");
    if !ready {
        eprintln!("skipped: hashes are not compared, {told}");
    }
    ready.then_some(python)
}
