//! Ids. A run or file id names its shard, so that any node can route it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Crockford's base 32, lower case: no letters that look like digits.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Shard number and unique part, shared by run and file ids: 12 bytes, shown as 20 characters of base 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Unique {
    /// The shard it lives in.
    pub shard: u16,
    /// Chosen at random by the proposer.
    pub random: [u8; 10],
}

/// A run's id, `r_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunId(pub Unique);

/// An uploaded file's id, `f_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId(pub Unique);

/// A work item's id, `w_…`: its run and its number in the run, so that no other run has it (ITEM-ID).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkItemId {
    /// The run.
    pub run: RunId,
    /// 1, 2, 3… in order of opening.
    pub number: u32,
}

impl Unique {
    fn bytes(self) -> [u8; 12] {
        let mut all = [0; 12];
        all[..2].copy_from_slice(&self.shard.to_be_bytes());
        all[2..].copy_from_slice(&self.random);
        all
    }
}

impl fmt::Display for Unique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bits: u32 = 0;
        let mut held = 0;
        for byte in self.bytes() {
            bits = (bits << 8) | u32::from(byte);
            held += 8;
            while held >= 5 {
                held -= 5;
                write!(f, "{}", char::from(ALPHABET[((bits >> held) & 31) as usize]))?;
            }
            bits &= (1 << held) - 1;
        }
        write!(f, "{}", char::from(ALPHABET[((bits << (5 - held)) & 31) as usize]))
    }
}

impl FromStr for Unique {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let (mut bits, mut held, mut all, mut at) = (0u32, 0, [0u8; 12], 0);
        if text.len() != 20 {
            return Err(BadId);
        }
        for c in text.bytes() {
            let digit = ALPHABET.iter().position(|a| *a == c).ok_or(BadId)?;
            bits = (bits << 5) | u32::try_from(digit).map_err(|_| BadId)?;
            held += 5;
            if held >= 8 {
                held -= 8;
                *all.get_mut(at).ok_or(BadId)? = u8::try_from(bits >> held & 0xff).map_err(|_| BadId)?;
                at += 1;
                bits &= (1 << held) - 1;
            }
        }
        if bits != 0 || at != 12 {
            return Err(BadId);
        }
        let mut random = [0; 10];
        random.copy_from_slice(&all[2..]);
        Ok(Self { shard: u16::from_be_bytes([all[0], all[1]]), random })
    }
}

/// A text that is not an id of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadId;

macro_rules! prefixed {
    ($name:ident, $prefix:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix($prefix).ok_or(BadId)?.parse().map(Self)
            }
        }
    };
}
prefixed!(RunId, "r_");
prefixed!(FileId, "f_");

impl fmt::Display for WorkItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w_{}_{}", self.run.0, self.number)
    }
}

impl FromStr for WorkItemId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let (run, number) = text.strip_prefix("w_").and_then(|t| t.split_once('_')).ok_or(BadId)?;
        let id = Self { run: RunId(run.parse()?), number: number.parse().map_err(|_| BadId)? };
        if id.to_string() == text { Ok(id) } else { Err(BadId) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_and_refuse_other_spellings() {
        let run = RunId(Unique { shard: 513, random: [255, 0, 1, 2, 3, 4, 5, 6, 7, 254] });
        assert_eq!(run.to_string().parse(), Ok(run));
        let item = WorkItemId { run, number: 31 };
        assert_eq!(item.to_string().parse(), Ok(item));
        for bad in [
            "",
            "r_",
            "r_8f2",
            &run.to_string().to_uppercase(),
            &format!("{run}0"),
            &item.to_string().replace("_31", "_031"),
        ] {
            assert_eq!(
                bad.parse::<RunId>().map(|_| ()).and(bad.parse::<WorkItemId>().map(|_| ())),
                Err(BadId),
                "{bad}"
            );
        }
    }
}
