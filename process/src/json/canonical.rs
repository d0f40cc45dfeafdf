//! The form that hashes, snapshots and fingerprints are taken of.

use super::Value;
use super::write::string;

/// The RFC 8785 form with exact decimal numbers (NUM-COMPARE): the form that snapshots and fingerprints hash.
///
/// Two values are equal exactly when their canonical forms are. When every number is a double (YAML-NUM), the form is
/// RFC 8785's own.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&n.canonical()),
        Value::String(s) => text(out, s),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            // RFC 8785 sorts by UTF-16 code units, which differs from code point order above U+FFFF.
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (i, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                text(out, key);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
    }
}

fn text(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = string(out, text);
}
