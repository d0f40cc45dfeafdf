//! Instants and durations of the protocol, in milliseconds. No clock is read here.

use std::fmt;

use serde::{Deserialize, Serialize};

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
    pub fn parse(_text: &str) -> Option<Self> {
        todo!()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

/// Whether `text` is a real calendar date, `YYYY-MM-DD` (DATE-VALID).
pub fn is_date(_text: &str) -> bool {
    todo!()
}

impl Span {
    /// A duration of §2.4: digits followed by `m`, `h` or `d`; saturates (DURATION).
    pub fn parse(_text: &str) -> Option<Self> {
        todo!()
    }
}
