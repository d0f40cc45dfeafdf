//! No text breaks the reader.

use agentprocess::Document;
use proptest::prelude::*;

const PIECES: [&str; 48] = [
    "name: p",
    "description: d",
    "steps:",
    "  - ",
    "- ",
    "id: a",
    "agent: x",
    "finish: ok",
    "next: z",
    "parallel: [a, z]",
    "next: [a, z]",
    "on_reject: a",
    "approve: x",
    "person: r",
    "person: inputs.x",
    "inputs:",
    "x: person",
    "check: x",
    "{",
    "}",
    "[",
    "]",
    ", ",
    ": ",
    "\n",
    "\n  ",
    "\n    ",
    "\t",
    "? ",
    "&a ",
    "*a ",
    "!!str ",
    "! ",
    "!x!y ",
    "!<",
    "%YAML 1.2\n",
    "...",
    "---\n",
    "|\n",
    ">+2\n ",
    "\"",
    "'",
    "\\u",
    "#",
    "\r",
    "é",
    "0x",
    "1e9",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn pieces_of_files(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
        let _ = Document::read(format!("---\n{}\n---\n", pieces.concat()).as_bytes());
    }

    #[test]
    fn valid_files_with_a_wound(at in 0usize..1000, byte in any::<u8>(), cut in 0usize..4) {
        let mut file = include_bytes!("../../../examples/release-rollout/PROCESS.md").to_vec();
        let at = at % file.len();
        file.splice(at..(at + cut).min(file.len()), [byte]);
        let _ = Document::read(&file);
    }

    #[test]
    fn any_text(text in any::<String>()) {
        let _ = Document::read(format!("---\n{text}\n---\n").as_bytes());
    }
}
