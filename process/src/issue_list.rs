//! The issues of one call as texts, within bounds: a bad call must not cost much more than a good one.

use std::borrow::Cow;

/// Most issues one judgment lists (ISSUE-ORDER asks for no cap below 1000), in issues.
pub const ISSUES_MAX: usize = 1000;
/// Most text of all issues of one judgment, in bytes: it is what a step's handoff keeps of a refusal, verbatim.
pub const ISSUES_BYTES_MAX: usize = 256 * 1024;
/// Most of one issue, in characters. A process may allow very many values, and an issue names them.
const ISSUE_CHARS_MAX: usize = 2000;
/// Most of a caller's own text that an issue repeats, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// Issues in the order found. Beyond the bounds the last one says that there are more.
#[derive(Debug, Default)]
pub struct IssueList {
    texts: Vec<String>,
    bytes: usize,
    more: bool,
}

impl IssueList {
    /// Adds an issue, or that there are more.
    pub fn add(&mut self, issue: impl Into<String>) {
        if self.more {
            return;
        }
        let issue = cut(&issue.into(), ISSUE_CHARS_MAX).into_owned();
        if self.texts.len() >= ISSUES_MAX || self.bytes + issue.len() > ISSUES_BYTES_MAX {
            self.more = true;
            self.texts.push(format!("more: only the first {} issues are listed", self.texts.len()));
        } else {
            self.bytes += issue.len();
            self.texts.push(issue);
        }
    }

    /// Whether further issues change nothing, so that nobody need look for them.
    pub fn full(&self) -> bool {
        self.more
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The texts in order.
    pub fn into_vec(self) -> Vec<String> {
        self.texts
    }
}

/// A name or value from outside as an issue shows it: at most 200 characters.
pub fn shown(text: &str) -> Cow<'_, str> {
    cut(text, SHOWN_CHARS_MAX)
}

fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(issues: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut list = IssueList::default();
        issues.into_iter().for_each(|issue| list.add(issue));
        list.into_vec()
    }

    #[test]
    fn a_thousand_are_listed_and_then_that_there_are_more() {
        let issues = |n: usize| listed((0..n).map(|n| format!("a[{n}]: missing")));
        assert_eq!(issues(ISSUES_MAX).last().map(String::as_str), Some("a[999]: missing"));
        let more = issues(5000);
        assert_eq!(more[..ISSUES_MAX], issues(ISSUES_MAX));
        assert_eq!(more[ISSUES_MAX..], ["more: only the first 1000 issues are listed"]);
    }

    #[test]
    fn the_text_is_bounded_of_each_and_of_all() {
        let long = listed(["é".repeat(5000)]);
        assert_eq!(long, [format!("{}…", "é".repeat(ISSUE_CHARS_MAX))]);
        let all = listed((0..900).map(|_| "x".repeat(5000)));
        assert!(all.iter().map(String::len).sum::<usize>() <= ISSUES_BYTES_MAX + 100);
        assert_eq!(all.last().map(String::as_str), Some("more: only the first 130 issues are listed"));
        assert_eq!(shown(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(shown(&"é".repeat(201)), format!("{}…", "é".repeat(200)));
    }
}
