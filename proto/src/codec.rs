//! The one binary form of rows and log entries: a format byte, then postcard.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Format of everything this build writes.
const FORMAT: u8 = 1;

/// Room that is made at once, in bytes: most rows and messages fit.
const ROOM: usize = 256;

/// Bytes that this build cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBytes(pub String);

impl std::fmt::Display for BadBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for BadBytes {}

/// The bytes of a value.
///
/// # Panics
/// Never for this project's types: they hold no maps with unserializable keys and no unsized sequences.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ROOM);
    bytes.push(FORMAT);
    #[expect(clippy::expect_used, reason = "serializing an owned value of ours into memory cannot fail")]
    postcard::to_extend(value, bytes).expect("our types serialize")
}

/// How many bytes [`encode`] would make of a value.
///
/// # Panics
/// Never, as [`encode`].
pub fn size<T: Serialize>(value: &T) -> usize {
    #[expect(clippy::expect_used, reason = "counting the bytes of an owned value of ours cannot fail")]
    let bytes =
        postcard::serialize_with_flavor(value, postcard::ser_flavors::Size::default()).expect("our types serialize");
    bytes.saturating_add(1)
}

/// The value of bytes; unknown formats and trailing bytes are refused.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BadBytes> {
    match bytes.split_first() {
        Some((&FORMAT, rest)) => match postcard::take_from_bytes(rest) {
            Ok((value, [])) => Ok(value),
            Ok((_, left)) => Err(BadBytes(format!("{} bytes left over", left.len()))),
            Err(e) => Err(BadBytes(e.to_string())),
        },
        Some((other, _)) => Err(BadBytes(format!("format {other} is not known to this build"))),
        None => Err(BadBytes("no bytes".to_owned())),
    }
}
