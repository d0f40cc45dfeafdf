//! Numbers as decimal text.

use std::cmp::Ordering;

/// Most digits a number may have, of whole part, fraction and exponent together (NUM-EXACT).
const DIGITS_MAX: usize = 1000;
/// Largest exponent as written, in either direction (NUM-EXACT).
const EXPONENT_MAX: i64 = 9999;

/// A JSON number as its decimal text (NUM-EXACT). Equality and order are by exact decimal value (NUM-COMPARE).
#[derive(Clone, Debug)]
pub struct Number(String);

/// `0.digits × 10^point`; no zero at either end of `digits`, which is empty for zero.
struct Decimal {
    negative: bool,
    digits: String,
    point: i64,
}

impl Number {
    /// A number from JSON number text; `None` if it is not one or is beyond the bounds of NUM-EXACT.
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = split_exponent(unsigned);
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let plain_whole = all_digits(whole) && (whole == "0" || !whole.starts_with('0'));
        if !plain_whole || !fraction.is_none_or(all_digits) {
            return None;
        }
        if let Some(exponent) = exponent {
            let size = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let within = size.trim_start_matches('0').parse().is_ok_and(|e: i64| e <= EXPONENT_MAX);
            if !all_digits(size) || !(within || size.bytes().all(|b| b == b'0')) {
                return None;
            }
        }
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        (digits <= DIGITS_MAX).then(|| Self(text.to_owned()))
    }

    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value as an unsigned integer, if it is one exactly (`1e3` and `5.0` are).
    pub fn as_u64(&self) -> Option<u64> {
        let Decimal { negative, digits, point } = self.decimal();
        if digits.is_empty() {
            return Some(0);
        }
        let zeros = usize::try_from(point).ok()?.checked_sub(digits.len())?;
        if negative || zeros > 20 {
            return None;
        }
        format!("{digits}{}", "0".repeat(zeros)).parse().ok()
    }

    /// The one spelling of this exact decimal value (NUM-COMPARE).
    ///
    /// It is the layout that RFC 8785 takes from ECMAScript, applied to the exact digits: for a value that is exactly
    /// what its shortest double denotes it is what RFC 8785 writes, and no exponent is ever expanded beyond 21 digits.
    pub fn canonical(&self) -> String {
        // Most numbers are spelled so already, and there may be very many.
        let plain = self.0.len() <= 20 && self.0.bytes().all(|b| b.is_ascii_digit());
        if plain {
            return self.0.clone();
        }
        let Decimal { negative, digits, point } = self.decimal();
        if digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if negative { "-" } else { "" };
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or(0));
        if length <= point && point <= 21 {
            return format!("{sign}{digits}{}", zeros(point - length));
        }
        if 0 < point && point <= 21 {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
            return format!("{sign}{whole}.{fraction}");
        }
        if -6 < point && point <= 0 {
            return format!("{sign}0.{}{digits}", zeros(-point));
        }
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{dot}{rest}e{:+}", point - 1)
    }

    /// Whether the value is exactly what its shortest double denotes, so that RFC 8785 can express it (YAML-NUM).
    pub fn is_double(&self) -> bool {
        let double = self.0.parse::<f64>().ok().filter(|d| d.is_finite());
        double.and_then(|double| Self::parse(&shortest(double))).is_some_and(|number| number == *self)
    }

    fn decimal(&self) -> Decimal {
        let (negative, unsigned) = match self.0.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, self.0.as_str()),
        };
        let (mantissa, exponent) = split_exponent(unsigned);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let leading = all.len() - all.trim_start_matches('0').len();
        let digits = all.trim_matches('0').to_owned();
        // Both lengths and the exponent are bounded by `parse`, so nothing here can overflow.
        let exponent = exponent.and_then(|e| e.parse::<i64>().ok()).unwrap_or(0);
        let point = i64::try_from(whole.len()).unwrap_or(0) - i64::try_from(leading).unwrap_or(0) + exponent;
        Decimal { negative: negative && !digits.is_empty(), digits, point }
    }
}

/// The fewest digits that denote this double; of two texts equally near to it, the even one, as ECMAScript asks.
fn shortest(double: f64) -> String {
    // The standard library breaks such ties upward. Rounding the exact value to as many digits breaks them to even.
    let any = format!("{double:e}");
    let digits = any.split('e').next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
    format!("{double:.*e}", digits.saturating_sub(1))
}

fn split_exponent(text: &str) -> (&str, Option<&str>) {
    match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    }
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

impl Decimal {
    fn size(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.decimal(), other.decimal());
        match (a.negative, b.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => a.size(&b),
            (true, true) => b.size(&a),
        }
    }
}
impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Number {}

impl From<u64> for Number {
    fn from(n: u64) -> Self {
        Self(n.to_string())
    }
}
