//! The form that hashes, snapshots and fingerprints are taken of.

use std::fmt::{Result, Write};

use super::Value;
use super::write::string;

/// The RFC 8785 form with exact decimal numbers (NUM-COMPARE): the form that snapshots and fingerprints hash.
///
/// Two values are equal exactly when their canonical forms are. When every number is a double (YAML-NUM), the form is
/// RFC 8785's own.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_canonical(&mut out, value);
    out
}

/// Writes the same form, for a hash of it that needs no copy.
pub fn write_canonical(out: &mut impl Write, value: &Value) -> Result {
    match value {
        Value::Null => out.write_str("null"),
        Value::Bool(b) => out.write_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.write_str(&n.canonical()),
        Value::String(s) => string(out, s),
        Value::Array(items) => {
            out.write_char('[')?;
            for (i, item) in items.iter().enumerate() {
                out.write_str(if i == 0 { "" } else { "," })?;
                write_canonical(out, item)?;
            }
            out.write_char(']')
        }
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            // RFC 8785 sorts by UTF-16 code units, which differs from code point order above U+FFFF.
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.write_char('{')?;
            for (i, (key, value)) in members.into_iter().enumerate() {
                out.write_str(if i == 0 { "" } else { "," })?;
                string(out, key)?;
                out.write_char(':')?;
                write_canonical(out, value)?;
            }
            out.write_char('}')
        }
    }
}
