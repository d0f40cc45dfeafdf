//! The protocol's own fixtures, when they are there, and the project's examples.
#![expect(clippy::disallowed_methods, reason = "tests read files")]

use std::path::Path;

use agentprocess::Document;

#[test]
fn the_protocols_fixtures_publish() {
    // D/V-34
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/upstream/conformance/fixtures");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: no fixtures at {}", folder.display());
        return;
    };
    let mut count = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let document = Document::read_in(Some(&name), &std::fs::read(path.join("PROCESS.md")).unwrap());
        let document = document.unwrap_or_else(|issues| panic!("{name}: {issues:?}"));
        assert!(document.body.starts_with('\n'), "{name}");
        let profiles: &[&str] = match name.as_str() {
            "major-incident" => &["parallel-1"],
            "vendor-check" => &["check-1"],
            _ => &[],
        };
        assert_eq!(document.process.profiles(), profiles, "{name}");
        count += 1;
    }
    assert_eq!(count, 12);
}

#[test]
fn the_examples_publish() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(file) = std::fs::read(path.join("PROCESS.md")) else { continue };
        let folder = path.file_name().unwrap().to_str();
        Document::read_in(folder, &file).unwrap_or_else(|issues| panic!("{}: {issues:?}", path.display()));
        count += 1;
    }
    assert!(count >= 6);
}
