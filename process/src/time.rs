//! Instants and durations of the protocol, in milliseconds. No clock is read here.

use std::fmt;

use serde::{Deserialize, Serialize};

const DAY_S: i64 = 86_400;

/// An instant: milliseconds since 1970-01-01T00:00:00Z. Displays as RFC 3339 UTC with milliseconds (VIEW-TIME).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Timestamp(pub i64);

/// A duration in milliseconds, never negative (§2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Span(pub u64);

impl Timestamp {
    /// 9999-12-31T23:59:59Z: where arithmetic saturates (DURATION).
    pub const MAX: Self = Self(253_402_300_799_000);

    /// This instant plus `span`, saturating at [`Timestamp::MAX`] (DURATION).
    #[must_use]
    pub fn plus(self, span: Span) -> Self {
        let sum = i64::try_from(span.0).ok().and_then(|s| self.0.checked_add(s));
        Self(sum.unwrap_or(Self::MAX.0).min(Self::MAX.0))
    }

    /// The instant an RFC 3339 text names, rounded up to a millisecond; `None` if it is not one (DATETIME-VALID).
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let (separator, rest) = rest.split_at_checked(1)?;
        let (clock, rest) = rest.split_at_checked(8)?;
        let [hour, minute, second] = clock_fields(clock)?;
        if !matches!(separator, "T" | "t") || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let (millis, zone) = fraction(rest)?;
        let offset_s = offset(zone)?;
        // A leap second is read as its predecessor first, to see whether it stands where UTC has one.
        let leap = second == 60;
        let utc_s = days(date)? * DAY_S + hour * 3600 + minute * 60 + second - i64::from(leap) - offset_s;
        if leap && utc_s.rem_euclid(DAY_S) != DAY_S - 1 {
            return None;
        }
        Some(Self((utc_s + i64::from(leap)) * 1000 + millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.div_euclid(1000), self.0.rem_euclid(1000));
        let (year, month, day) = civil(seconds.div_euclid(DAY_S));
        let of_day = seconds.rem_euclid(DAY_S);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Whether `text` is a real calendar date, `YYYY-MM-DD` (DATE-VALID).
pub fn is_date(text: &str) -> bool {
    days(text).is_some()
}

impl Span {
    /// A duration of §2.4: digits followed by `m`, `h` or `d`; saturates (DURATION).
    pub fn parse(text: &str) -> Option<Self> {
        let unit_ms: u64 = match text.as_bytes().last()? {
            b'm' => 60_000,
            b'h' => 3_600_000,
            b'd' => 86_400_000,
            _ => return None,
        };
        let digits = &text[..text.len() - 1];
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        // Digits that do not fit are a very long time, not a fault.
        Some(Self(digits.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(unit_ms)))
    }
}

/// ASCII digits only: `parse` alone would take a sign.
fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Days since 1970-01-01 of a real date, proleptic Gregorian (DATE-VALID).
fn days(date: &str) -> Option<i64> {
    if date.len() != 10 || !date.is_ascii() || date.as_bytes()[4] != b'-' || date.as_bytes()[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(&date[..4])?, digits(&date[5..7])?, digits(&date[8..])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| {
        // Years start in March here, so that the leap day comes last.
        let shifted = if month <= 2 { year - 1 } else { year };
        let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    })
}

/// Year, month and day of a number of days since 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// `HH:MM:SS`
fn clock_fields(text: &str) -> Option<[i64; 3]> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes[2] != b':' || bytes[5] != b':' {
        return None;
    }
    Some([digits(&text[..2])?, digits(&text[3..5])?, digits(&text[6..])?])
}

/// Milliseconds of an optional fraction, rounded up, and what follows it.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (digits_of, zone) = rest.split_at(end);
    if digits_of.is_empty() {
        return None;
    }
    let (millis, finer) = digits_of.split_at(digits_of.len().min(3));
    let millis = digits(&format!("{millis:0<3}"))?;
    Some((millis + i64::from(finer.bytes().any(|b| b != b'0')), zone))
}

/// Seconds east of UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    if zone.len() != 6 || !zone.is_ascii() || zone.as_bytes()[3] != b':' {
        return None;
    }
    let (hours, minutes) = (digits(&zone[1..3])?, digits(&zone[4..])?);
    let size = (hours <= 23 && minutes <= 59).then_some(hours * 3600 + minutes * 60)?;
    match zone.as_bytes()[0] {
        b'+' => Some(size),
        b'-' => Some(-size),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn instants_parse_and_display() {
        let cases = [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
            ("2026-10-06T09:00:00+05:30", "2026-10-06T03:30:00.000Z"),
            ("2026-10-06t09:00:00.1-00:00", "2026-10-06T09:00:00.100Z"),
            ("2026-10-06T09:00:00.123456789z", "2026-10-06T09:00:00.124Z"),
            ("2026-10-06T09:00:00.123000z", "2026-10-06T09:00:00.123Z"),
            ("2026-12-31T23:59:59.9999Z", "2027-01-01T00:00:00.000Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
            ("2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00.000Z"),
            ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00.000Z"),
            ("2024-02-29T12:00:00-08:00", "2024-02-29T20:00:00.000Z"),
        ];
        for (text, shown) in cases {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), shown, "{text}");
        }
        assert_eq!(Timestamp::parse("9999-12-31T23:59:59Z"), Some(Timestamp::MAX));
    }

    #[test]
    fn what_is_no_instant() {
        // DATETIME-VALID
        for text in [
            "",
            "2026-10-06",
            "2026-10-06T09:00:00",
            "2026-10-06 09:00:00Z",
            "2026-10-06T09:00:00+0530",
            "2026-02-30T09:00:00Z",
            "2026-10-06T24:00:00Z",
            "2026-10-06T12:60:00Z",
            "2026-10-06T12:00:00+24:00",
            "2026-10-06T12:00:60Z",
            "2026-10-06T23:59:61Z",
            "2026-10-06T12:00:00.Z",
            "2026-10-06T12:00:00.5",
            "2026-10-06T12:00:00Z ",
            "2026-10-06T1é:00:00Z",
            "é026-10-06T12:00:00Z",
            "2026-10-06T12:00:00+0é:0",
            "+026-10-06T12:00:00Z",
            "2026-10-06T12:00:00+05:60",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn dates_are_real() {
        // DATE-VALID
        for good in ["2024-02-29", "2000-02-29", "0000-01-01", "9999-12-31"] {
            assert!(is_date(good), "{good}");
        }
        for bad in [
            "2026-02-30",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-1-5",
            "20261006",
            "06-10-2026",
            "2026-10-06T00:00:00Z",
            "2026-10-06 ",
            "٢026-10-06",
            "+026-10-06",
            "",
        ] {
            assert!(!is_date(bad), "{bad}");
        }
    }

    #[test]
    fn every_day_of_eight_centuries_comes_back() {
        for day in -150_000..150_000 {
            let shown = Timestamp(day * DAY_S * 1000).to_string();
            assert_eq!(days(&shown[..10]), Some(day));
        }
    }

    #[test]
    fn durations() {
        // DURATION
        assert_eq!(Span::parse("30m"), Some(Span(1_800_000)));
        assert_eq!(Span::parse("04h"), Some(Span(14_400_000)));
        assert_eq!(Span::parse("0d"), Some(Span(0)));
        let long = Span::parse("99999999999999999999d").unwrap();
        assert_eq!(Timestamp(5).plus(long), Timestamp::MAX);
        for bad in ["", "d", "3", "90s", "1.5h", "3 d", "3D", "1h30m", "P3D", "-1d", "+1d", "1w", "٣d", "3é"] {
            assert_eq!(Span::parse(bad), None, "{bad}");
        }
    }
}
