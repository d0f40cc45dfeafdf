//! Splitting the file at its fences.

use crate::{BASE, front, ok, refused};

#[test]
fn fences() {
    // D/P-01
    assert_eq!(ok(BASE).body, "\nBody.\n");
    // D/P-02
    let crlf = BASE.replace('\n', "\r\n");
    assert_eq!(ok(&crlf).body, "\r\nBody.\r\n");
    assert_eq!(ok(&crlf).process, ok(BASE).process);
    let multiline = front("name: p\ndescription: |\n  two\n  lines\nsteps: [{ id: z, finish: ok }]");
    assert_eq!(ok(multiline.replace('\n', "\r\n")).process.description, "two\nlines\n");
    // D/P-03
    let bom = format!("\u{feff}{BASE}");
    assert_eq!(ok(&bom).hash, ok(BASE).hash);
    assert_eq!(ok(format!("{BASE}\u{feff}")).body, "\nBody.\n\u{feff}");
    // D/P-04
    refused("---\nname: p\ndescription: d\n", &[("frontmatter", "no closing ---")]);
    refused("---\n", &[("frontmatter", "no closing ---")]);
    // D/P-05
    for start in ["# Title\n", "\n---\n", " ---\nname: p\n---\n", ""] {
        refused(start, &[("frontmatter", "must start with ---")]);
    }
}

#[test]
fn the_body_is_every_byte_after_the_closing_line() {
    // D/P-06
    let body = "\n---\n...\nname: other\n```yaml\n---\na: b\n---\n```\n";
    assert_eq!(ok(BASE.replace("\nBody.\n", body)).body, body);
    // D/P-09
    let short = BASE.strip_suffix("\n\nBody.\n").unwrap_or_default();
    assert_eq!(ok(short).body, "");
    assert_eq!(ok(short).hash, ok(format!("{short}\n")).hash);
    // D/P-10
    let body = "\tx  \n \ry 😀 e\u{301}";
    assert_eq!(ok(BASE.replace("\nBody.\n", body)).body, body);
}

#[test]
fn what_is_no_frontmatter() {
    // D/P-07
    refused("---\n---\nbody", &[("frontmatter", "mapping")]);
    refused("---\n# only a comment\n---\nbody", &[("frontmatter", "mapping")]);
    refused("---\n{}\n---\n", &[("name", "missing"), ("description", "missing"), ("steps", "missing")]);
    // D/P-08
    for root in ["- a", "hello", "null", "~"] {
        refused(front(root), &[("frontmatter", "must be a mapping")]);
    }
    // D/P-11
    refused([BASE.as_bytes(), &[0xff]].concat(), &[("file", "UTF-8")]);
    refused([b"---\nname: p\ndescription: \xe9\n---\n".as_slice()].concat(), &[("file", "UTF-8")]);
    refused(format!("{BASE}\0"), &[("file", "NUL")]);
    // D/P-12
    refused(BASE.replace("ok }\n---", "ok }\n----"), &[("frontmatter", "no closing ---")]);
    refused(BASE.replace("ok }\n---", "ok }\n--- x"), &[("frontmatter", "no closing ---")]);
    refused(BASE.replace("---\nname", "---\n--- x\nname"), &[("frontmatter", "more than one document")]);
    assert_eq!(ok(BASE.replace("ok }\n---", "ok }\n--- \t")).hash, ok(BASE).hash);
    // JSON-LIMITS
    refused(format!("{BASE}{}", "x".repeat(1 << 20)), &[("file", "larger than")]);
}
