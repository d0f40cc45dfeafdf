//! The core schema's reading of scalars (YAML 1.2.2 §10.3).

use saphyr_parser::{ScalarStyle, Tag};

use crate::json::{Number, Value};

/// Why a scalar is no value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A tag outside of the core schema, or one that does not fit its value (YAML-SYNTAX).
    Tag,
    /// An infinity or not a number (YAML-NUM).
    NotFinite,
    /// A number that canonical JSON cannot write as it is (YAML-NUM).
    Inexact,
}

impl Fault {
    pub(super) fn message(&self) -> &'static str {
        match self {
            Self::Tag => "unknown tag, or one that does not fit; remove the tag",
            Self::NotFinite => "must be finite: write a number, or quote it as text",
            Self::Inexact => "this number has no exact double form; use fewer digits, or quote it as text",
        }
    }
}

/// The `str` of `!!str`, however the tag is spelled; `None` if it is no tag of YAML's own.
pub(super) fn core_tag(tag: &Tag) -> Option<String> {
    format!("{}{}", tag.handle, tag.suffix).strip_prefix("tag:yaml.org,2002:").map(str::to_owned)
}

pub(super) fn resolve(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, Fault> {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { plain(text) } else { Ok(text.into()) };
    };
    let word = core_tag(tag).ok_or(Fault::Tag)?;
    if word == "str" {
        return Ok(text.into());
    }
    let value = plain(text)?;
    let fits = match word.as_str() {
        "null" => value.is_null(),
        "bool" => value.as_bool().is_some(),
        "int" => value.as_number().is_some() && integer(text).is_some(),
        "float" => value.as_number().is_some(),
        _ => false,
    };
    if fits { Ok(value) } else { Err(Fault::Tag) }
}

/// A plain scalar.
fn plain(text: &str) -> Result<Value, Fault> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(true.into()),
        "false" | "False" | "FALSE" => return Ok(false.into()),
        ".nan" | ".NaN" | ".NAN" => return Err(Fault::NotFinite),
        _ => {}
    }
    if matches!(text.strip_prefix(['+', '-']).unwrap_or(text), ".inf" | ".Inf" | ".INF") {
        return Err(Fault::NotFinite);
    }
    let Some(spelled) = integer(text).or_else(|| decimal(text)) else { return Ok(text.into()) };
    let number = Number::parse(&spelled).filter(Number::is_double);
    number.map(Value::Number).ok_or(Fault::Inexact)
}

/// JSON's spelling of an integer. An octal or hexadecimal one beyond 128 bits stays as it is, which no number is.
fn integer(text: &str) -> Option<String> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let digital = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
            return digital.then(|| u128::from_str_radix(digits, radix).map_or(text.to_owned(), |n| n.to_string()));
        }
    }
    let (sign, digits) = signed(text);
    digital(digits).then(|| format!("{sign}{}", without_zeros(digits)))
}

/// JSON's spelling of `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`.
fn decimal(text: &str) -> Option<String> {
    let (sign, unsigned) = signed(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
        None => (unsigned, String::new()),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let formed =
        (digital(whole) && (fraction.is_empty() || digital(fraction))) || (whole.is_empty() && digital(fraction));
    let exponent_digits = exponent.strip_prefix('e').map(|e| e.strip_prefix(['+', '-']).unwrap_or(e));
    if !formed || !exponent_digits.is_none_or(digital) {
        return None;
    }
    let fraction = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    Some(format!("{sign}{}{fraction}{exponent}", without_zeros(whole)))
}

fn signed(text: &str) -> (&str, &str) {
    match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    }
}

fn digital(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn without_zeros(digits: &str) -> &str {
    let rest = digits.trim_start_matches('0');
    if rest.is_empty() { "0" } else { rest }
}
