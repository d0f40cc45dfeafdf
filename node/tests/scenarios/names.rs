//! Names that stay the same from run to run: `r1` for the first run's id, `t0+10m` for an instant, `<url>` for a url.

use std::collections::BTreeMap;

use agentprocess::json::{Object, Value};
use agentprocess::time::{Span, Timestamp};

/// The names given in one scenario.
#[derive(Default)]
pub struct Names {
    /// The instant that is `t0`.
    pub start: Timestamp,
    by_name: BTreeMap<String, String>,
    by_value: BTreeMap<String, String>,
    counts: BTreeMap<char, u32>,
    /// Identity id to actor.
    pub identities: BTreeMap<String, String>,
    /// What the scenario's process names end with on the server.
    pub suffix: String,
    /// `limits.runDataBytes`.
    pub cap: u64,
}

impl Names {
    /// Forgets what an earlier scenario of the file named.
    pub fn renew(&mut self, start: Timestamp, suffix: String) {
        self.start = start;
        self.suffix = suffix;
        self.by_name.clear();
        self.by_value.clear();
        self.counts.clear();
    }

    /// The name of `value`, given at first sight: a letter for its kind and a number.
    pub fn give(&mut self, letter: char, value: &str) -> String {
        if let Some(name) = self.by_value.get(value) {
            return name.clone();
        }
        let count = self.counts.entry(letter).or_default();
        *count += 1;
        let name = format!("{letter}{count}");
        self.by_name.insert(name.clone(), value.to_owned());
        self.by_value.insert(value.to_owned(), name.clone());
        name
    }

    /// Remembers `value` under a name of the test's choosing.
    pub fn set(&mut self, name: &str, value: &str) {
        self.by_name.insert(name.to_owned(), value.to_owned());
    }

    /// What `name` stands for, or itself. `T1.cut`, `T1.flip` and `T1.edit` are damaged forms of a token.
    pub fn value(&self, name: &str) -> String {
        if let Some(value) = self.by_name.get(name) {
            return value.clone();
        }
        let damaged = name.split_once('.').and_then(|(base, how)| damage(self.by_name.get(base)?, how));
        damaged.unwrap_or_else(|| name.to_owned())
    }

    /// Every value whose name starts with `letter`.
    pub fn all(&self, letter: char) -> impl Iterator<Item = &str> {
        self.by_name.iter().filter(move |(n, _)| n.starts_with(letter)).map(|(_, v)| v.as_str())
    }

    /// `text` with each `<name>`, `<t0+2h>`, `<now>`, `<x*20>` and `<x*cap-10>` replaced by what it stands for.
    pub fn fill(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('<') {
            out += &rest[..at];
            rest = &rest[at..];
            match rest.find('>').and_then(|end| Some((end, self.expression(&rest[1..end])?))) {
                Some((end, value)) => {
                    out += &value;
                    rest = &rest[end + 1..];
                }
                None => {
                    out.push('<');
                    rest = &rest[1..];
                }
            }
        }
        out + rest
    }

    fn expression(&self, text: &str) -> Option<String> {
        if let Some(value) = self.by_name.get(text) {
            return Some(value.clone());
        }
        if let Some(process) = text.strip_prefix("process ") {
            return Some(format!("{process}{}", self.suffix));
        }
        if let Some((what, count)) = text.split_once('*') {
            return Some(what.repeat(usize::try_from(self.count(count)?).ok()?));
        }
        let (time, offset) = text.split_once(' ').unwrap_or((text, ""));
        let shift = time.strip_prefix("t0")?;
        let instant = Timestamp(self.start.0 + signed(shift)?);
        if offset.is_empty() {
            return Some(instant.to_string());
        }
        let minutes = offset[1..3].parse::<i64>().ok()? * 60 + offset[4..6].parse::<i64>().ok()?;
        let sign = if offset.starts_with('-') { -1 } else { 1 };
        let local = Timestamp(instant.0 + sign * minutes * 60_000).to_string();
        Some(local.replace('Z', offset))
    }

    fn count(&self, text: &str) -> Option<u64> {
        let (base, less) = text.split_once('-').unwrap_or((text, "0"));
        let (base, by) = base.split_once('/').unwrap_or((base, "1"));
        let base = if base == "cap" { self.cap } else { base.parse().ok()? };
        Some(base / by.parse::<u64>().ok()? - less.parse::<u64>().ok()?)
    }

    /// An instant relative to the scenario's start.
    pub fn time(&self, at: Timestamp) -> String {
        // The last instant there is stands wherever a scenario starts.
        if at == Timestamp::MAX {
            return at.to_string();
        }
        let ms = at.0 - self.start.0;
        let mut left = ms.unsigned_abs();
        let mut text = String::from(if ms < 0 { "t0-" } else { "t0+" });
        for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
            if left >= size {
                text += &format!("{}{unit}", left / size);
                left %= size;
            }
        }
        if ms == 0 { "t0".to_owned() } else { text }
    }

    /// `value` with everything that differs between two runs of the test replaced by its name.
    pub fn plain(&mut self, value: &Value) -> Value {
        self.plain_at("", value)
    }

    fn plain_at(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let mut out = Object::new();
                for (key, value) in fields.iter() {
                    out.set(key, self.plain_at(key, value));
                }
                Value::Object(out)
            }
            Value::Array(items) => Value::Array(items.iter().map(|v| self.plain_at(key, v)).collect()),
            Value::String(text) => Value::from(self.plain_text(key, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn plain_text(&mut self, key: &str, text: &str) -> String {
        match key {
            "token" => return self.give('T', text),
            "snapshot" => return self.give('s', text),
            "nextCursor" => return self.give('c', text),
            "url" => return "<url>".to_owned(),
            "by" | "startedBy" => return self.identities.get(text).cloned().unwrap_or_else(|| text.to_owned()),
            "at" | "due" | "expiresAt" | "readySince" | "startedAt" | "updatedAt" => {
                if let Some(at) = Timestamp::parse(text).filter(|at| at.to_string() == text) {
                    return self.time(at);
                }
            }
            "sha256" => return format!("{}…", text.get(..8).unwrap_or(text)),
            "process" | "name" => return text.strip_suffix(&self.suffix).unwrap_or(text).to_owned(),
            _ => {}
        }
        self.plain_words(text)
    }

    /// Replaces ids inside a text such as an issue line.
    fn plain_words(&mut self, text: &str) -> String {
        let (mut out, mut word) = (String::new(), String::new());
        for c in text.chars().chain(['\0']) {
            if c.is_ascii_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            match (word.get(..2), word.len() >= 22) {
                (Some("r_"), true) => out += &self.give('r', &word),
                (Some("f_"), true) => out += &self.give('f', &word),
                (Some("w_"), true) => out += &self.give('w', &word),
                _ if self.cap > 0 && word == self.cap.to_string() => out += "<cap>",
                _ => out += &word,
            }
            word.clear();
            if c != '\0' {
                out.push(c);
            }
        }
        out
    }
}

/// A signed shift such as `+1h30m` or nothing, in milliseconds.
fn signed(text: &str) -> Option<i64> {
    let Some(sign) = text.chars().next() else { return Some(0) };
    let ms = i64::try_from(span(&text[1..])?.0).ok()?;
    match sign {
        '+' => Some(ms),
        '-' => Some(-ms),
        _ => None,
    }
}

/// A sum of durations such as `1h30m`; seconds too.
pub fn span(text: &str) -> Option<Span> {
    let (mut total, mut digits) = (0, String::new());
    for c in text.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let unit = match c {
            'd' => 86_400_000,
            'h' => 3_600_000,
            'm' => 60_000,
            's' => 1000,
            _ => return None,
        };
        total += digits.parse::<u64>().ok()? * unit;
        digits.clear();
    }
    digits.is_empty().then_some(Span(total))
}

/// A token that was tampered with.
fn damage(token: &str, how: &str) -> Option<String> {
    let middle = token.len() / 2;
    let other = |c: u8| if c == b'A' { 'B' } else { 'A' };
    let flip = |at: usize| format!("{}{}{}", &token[..at], other(token.as_bytes()[at]), &token[at + 1..]);
    match how {
        "cut" => Some(token[..token.len() - 1].to_owned()),
        "flip" => Some(flip(token.len() - 2)),
        "edit" => Some(flip(middle)),
        _ => None,
    }
}
