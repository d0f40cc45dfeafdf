//! Documents that publish and documents that do not, scenario by scenario. `D/<id>` names a scenario.
#![expect(clippy::unwrap_used, reason = "tests")]

mod check;
mod fixtures;
mod hash;
mod offer;
mod parallel;
mod split;
mod steps;
mod top;
mod wild;
mod yaml;

use agentprocess::{Document, Issue};

/// The smallest valid file.
pub const BASE: &str = "---\nname: p\ndescription: d\nsteps:\n  - { id: a, agent: do it, next: z }\n  - { id: z, finish: ok }\n---\n\nBody.\n";

/// The document of a file that must be valid.
pub fn ok(file: impl AsRef<[u8]>) -> Document {
    let file = file.as_ref();
    Document::read(file).unwrap_or_else(|issues| panic!("{}\n{}", String::from_utf8_lossy(file), shown(&issues)))
}

/// Asserts that a file is refused with exactly these issues, in any order: a path, and a telling word of the message.
pub fn refused(file: impl AsRef<[u8]>, expected: &[(&str, &str)]) {
    let file = file.as_ref();
    let text = String::from_utf8_lossy(file);
    let found = Document::read(file).expect_err(&text);
    for (path, word) in expected {
        let there = found.iter().any(|issue| issue.path == *path && issue.message.contains(word));
        assert!(there, "{text}\nno {path}: {word} in\n{}", shown(&found));
    }
    assert_eq!(found.len(), expected.len(), "{text}\n{}", shown(&found));
}

/// Asserts that a valid file has exactly these warnings.
pub fn warned(file: impl AsRef<[u8]>, expected: &[(&str, &str)]) {
    let found = ok(file).warnings;
    for (path, word) in expected {
        let there = found.iter().any(|issue| issue.path == *path && issue.message.contains(word));
        assert!(there, "no {path}: {word} in\n{}", shown(&found));
    }
    assert_eq!(found.len(), expected.len(), "{}", shown(&found));
}

fn shown(issues: &[Issue]) -> String {
    issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A file with this frontmatter.
pub fn front(frontmatter: &str) -> String {
    format!("---\n{}\n---\n", frontmatter.trim_end())
}

/// A file with these steps, written as the inside of a flow list.
pub fn steps(steps: &str) -> String {
    front(&format!("name: p\ndescription: d\nsteps: [{steps}]"))
}

/// A file with these keys at the top beside name, description and steps.
pub fn top(keys: &str) -> String {
    front(&format!("name: p\ndescription: d\nsteps: [{{ id: a, agent: do it }}, {{ id: z, finish: ok }}]\n{keys}"))
}

/// A file whose step `a`, an agent, has these further keys; `z` is a finish, `y` another step on the way.
pub fn agent(keys: &str) -> String {
    steps(&format!("{{ id: a, agent: do it, {keys} }}, {{ id: y, agent: x }}, {{ id: z, finish: ok }}"))
}

/// A file with a single input `x` so declared.
pub fn input(declaration: &str) -> String {
    top(&format!("inputs: {{ x: {declaration} }}"))
}
