//! Short-lived file urls (FILE-URL): a signed capability under the configured public address. They are added to a view
//! after the state machine made it, so nothing clock-made is in hashes or caps.

use agentprocess::json::{Object, Value};
use agentprocess::time::{Span, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::keys::{Key, Use};

/// Makes the urls of one view.
pub(crate) struct Signer<'a> {
    /// The key.
    pub(crate) key: &'a Key,
    /// The configured address.
    pub(crate) public_url: &'a str,
    /// The organization.
    pub(crate) org: &'a str,
    /// When the urls stop to open.
    pub(crate) expires: Timestamp,
}

/// What the query of a file url says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    /// The organization.
    pub(crate) org: String,
    /// When it stops to open.
    pub(crate) expires: Timestamp,
    /// Number of the key.
    pub(crate) key: u32,
    mac: Vec<u8>,
}

fn sign(key: &Key, file: &str, org: &str, expires: Timestamp) -> [u8; 32] {
    key.sign(Use::Url, &[file.as_bytes(), org.as_bytes(), &expires.0.to_be_bytes()])
}

impl<'a> Signer<'a> {
    /// Signs urls that open for `ttl` after `at`.
    pub(crate) fn new(key: &'a Key, public_url: &'a str, org: &'a str, at: Timestamp, ttl: Span) -> Self {
        Self { key, public_url, org, expires: at.plus(ttl) }
    }

    fn url(&self, file: &str) -> String {
        let sig = URL_SAFE_NO_PAD.encode(sign(self.key, file, self.org, self.expires));
        let (base, org) = (self.public_url, utf8_percent_encode(self.org, NON_ALPHANUMERIC));
        format!("{base}/files/{file}?org={org}&exp={}&key={}&sig={sig}", self.expires.0, self.key.id)
    }

    /// Adds urls to the file items of a run view or a claim: current data, history and candidates.
    pub(crate) fn view(&self, view: &mut Value) {
        let Value::Object(view) = view else { return };
        if let Some(Value::Object(data)) = view.get_mut("data")
            && let Some(Value::Object(steps)) = data.get_mut("steps")
        {
            for (_, step) in steps.iter_mut() {
                self.record(step);
            }
        }
        if let Some(Value::Array(items)) = view.get_mut("workItems") {
            for item in items {
                self.work_item(item);
            }
        }
    }

    /// Adds urls to a work item's candidate.
    pub(crate) fn work_item(&self, item: &mut Value) {
        if let Value::Object(item) = item
            && let Some(Value::Object(escalation)) = item.get_mut("escalation")
            && let Some(candidate) = escalation.get_mut("candidate")
        {
            self.record(candidate);
        }
    }

    /// Adds urls to a step's record: its current completion and each of its history.
    fn record(&self, record: &mut Value) {
        let Value::Object(record) = record else { return };
        if let Some(Value::Array(evidence)) = record.get_mut("evidence") {
            for item in evidence {
                self.evidence(item);
            }
        }
        if let Some(Value::Array(history)) = record.get_mut("history") {
            for completion in history {
                self.record(completion);
            }
        }
    }

    fn evidence(&self, item: &mut Value) {
        let Value::Object(item) = item else { return };
        let file = |item: &Object| {
            let is_file = item.get("kind").and_then(Value::as_str) == Some("file");
            item.get("ref").and_then(Value::as_str).filter(|_| is_file).map(|file| self.url(file))
        };
        if let Some(url) = file(item) {
            item.set("url", url);
        }
    }
}

impl Query {
    /// Reads a query, `org=…&exp=…&key=…&sig=…`; `None` when it is none of ours.
    pub(crate) fn parse(query: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut values = query.split('&').filter_map(|p| p.strip_prefix(name)?.strip_prefix('='));
            values.next().filter(|_| values.next().is_none())
        };
        Some(Self {
            org: percent_decode_str(value("org")?).decode_utf8().ok()?.into_owned(),
            expires: Timestamp(value("exp")?.parse().ok()?),
            key: value("key")?.parse().ok()?,
            mac: URL_SAFE_NO_PAD.decode(value("sig")?).ok()?,
        })
    }

    /// Whether `key` signed this query for `file`.
    pub(crate) fn is_signed(&self, key: &Key, file: &str) -> bool {
        let expires = self.expires.0.to_be_bytes();
        key.verify(Use::Url, &[file.as_bytes(), self.org.as_bytes(), &expires], &self.mac)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use agentprocess::json;

    use super::*;

    #[test]
    fn urls_are_added_to_files_everywhere_and_to_nothing_else() {
        let key = Key::new(4, [1; 32]);
        let signer = Signer::new(&key, "https://q.example", "a/b", Timestamp(1000), Span(900_000));
        let text = r#"{"data":{"inputs":{"evidence":[{"kind":"file","ref":"f_0"}]},"steps":{
            "a":{"evidence":[{"kind":"file","ref":"f_1"},{"kind":"link","ref":"f_2"}],
                 "history":[{"evidence":[{"kind":"file","ref":"f_3"}]}]},
            "b":{"output":{"evidence":[{"kind":"file","ref":"f_4"}]},"history":[]}}},
            "workItems":[{"escalation":null},{"escalation":{"candidate":{"evidence":[{"kind":"file","ref":"f_5"}]}}}]}"#;
        let mut view = json::parse(text.as_bytes(), 100).unwrap();
        signer.view(&mut view);
        let shown = view.to_string();
        let found: Vec<bool> = (0..6).map(|n| shown.contains(&format!("/files/f_{n}?org=a%2Fb&"))).collect();
        assert_eq!(found, [false, true, false, true, false, true], "{shown}");
    }

    #[test]
    fn a_query_opens_its_file_only_and_unchanged() {
        let key = Key::new(4, [1; 32]);
        let signer = Signer::new(&key, "https://q.example", "demo", Timestamp(1000), Span(900_000));
        let url = signer.url("f_1");
        let query = url.split_once('?').unwrap().1;
        let read = Query::parse(query).unwrap();
        assert_eq!((read.org.as_str(), read.expires, read.key), ("demo", Timestamp(901_000), 4));
        assert!(read.is_signed(&key, "f_1") && !read.is_signed(&key, "f_2"));
        assert!(!read.is_signed(&Key::new(4, [2; 32]), "f_1"));
        for (from, to) in [("org=demo", "org=other"), ("exp=901000", "exp=901001"), ("sig=", "sig=A")] {
            let changed = query.replace(from, to);
            assert!(Query::parse(&changed).is_none_or(|q| !q.is_signed(&key, "f_1")), "{changed}");
        }
        assert_eq!(Query::parse(&format!("{query}&org=other")), None);
        assert_eq!(Query::parse(""), None);
    }
}
