//! The compact writer.

use std::fmt::{Display, Formatter, Result, Write};

use super::{Object, Value};

/// Compact JSON with numbers as written and keys in order.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(b) => f.write_str(if *b { "true" } else { "false" }),
            Self::Number(n) => f.write_str(n.as_str()),
            Self::String(s) => string(f, s),
            Self::Array(items) => {
                f.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    item.fmt(f)?;
                }
                f.write_char(']')
            }
            Self::Object(object) => object.fmt(f),
        }
    }
}

/// Compact JSON with keys in order.
impl Display for Object {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_char('{')?;
        for (i, (key, value)) in self.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "," })?;
            string(f, key)?;
            f.write_char(':')?;
            value.fmt(f)?;
        }
        f.write_char('}')
    }
}

/// One string in quotes, escaped as RFC 8785 §3.2.2.2 asks: no more than JSON needs, lower-case hexadecimal.
pub(super) fn string(out: &mut impl Write, text: &str) -> Result {
    out.write_char('"')?;
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            0x0c => "\\f",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x00..=0x1f => "",
            _ => continue,
        };
        out.write_str(&text[done..at])?;
        if short.is_empty() {
            write!(out, "\\u{byte:04x}")?;
        } else {
            out.write_str(short)?;
        }
        done = at + 1;
    }
    out.write_str(&text[done..])?;
    out.write_char('"')
}
