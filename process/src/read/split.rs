//! Splitting a file at its fences (FM-DELIM, BODY-EXACT).

use crate::model::Issue;

pub(super) struct Parts<'a> {
    /// The text between the fences, every line break a newline.
    pub frontmatter: String,
    /// The number of its first line in the file.
    pub first_line: usize,
    /// Every byte after the line break that ends the closing fence.
    pub body: &'a str,
}

pub(super) fn split(file: &[u8]) -> Result<Parts<'_>, Issue> {
    let issue = |path: &str, message: &str| Issue { path: path.to_owned(), message: message.to_owned() };
    let text = std::str::from_utf8(file).map_err(|_| issue("file", "not valid UTF-8; save it as UTF-8"))?;
    if text.contains('\0') {
        return Err(issue("file", "holds a NUL character; remove it"));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, mut rest) = line(text);
    if !is_fence(first) {
        return Err(issue("frontmatter", "the file must start with --- on a line of its own"));
    }
    let inner = rest;
    while !rest.is_empty() {
        let start = inner.len() - rest.len();
        let (next, after) = line(rest);
        if is_fence(next) {
            // YAML reads any of the three as the same line break; one form lets quoted text agree too (P-02).
            let frontmatter = inner[..start].replace("\r\n", "\n").replace('\r', "\n");
            return Ok(Parts { frontmatter, first_line: 2, body: after });
        }
        rest = after;
    }
    Err(issue("frontmatter", "no closing --- on a line of its own"))
}

/// The first line, and everything after the newline that ends it.
fn line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.strip_prefix("---").is_some_and(|rest| rest.chars().all(|c| matches!(c, ' ' | '\t')))
}
