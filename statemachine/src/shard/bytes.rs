//! Order-preserving bytes: encoded values sort as the values do.

use agentprocess::time::Timestamp;
use quorate_proto::{FileId, RunId, Unique};

/// Builds a key part by part.
#[derive(Clone, Debug)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// A key that starts with `tag`.
    pub(super) fn new(tag: u8) -> Self {
        Self(vec![tag])
    }

    /// A byte.
    pub(super) fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    /// Text of any length: 0 becomes `0 255`, and `0 1` ends it, so that no text is a prefix of another's encoding.
    pub(super) fn text(mut self, text: &str) -> Self {
        for byte in text.bytes() {
            self.0.push(byte);
            if byte == 0 {
                self.0.push(255);
            }
        }
        self.0.extend([0, 1]);
        self
    }

    /// Bytes of a fixed length.
    pub(super) fn fixed(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A number of 16 bits.
    pub(super) fn u16(self, n: u16) -> Self {
        self.fixed(&n.to_be_bytes())
    }

    /// A number of 32 bits.
    pub(super) fn u32(self, n: u32) -> Self {
        self.fixed(&n.to_be_bytes())
    }

    /// A number of 64 bits.
    pub(super) fn u64(self, n: u64) -> Self {
        self.fixed(&n.to_be_bytes())
    }

    /// An instant, earliest first.
    pub(super) fn instant(self, at: Timestamp) -> Self {
        self.u64(at.0.cast_unsigned() ^ (1 << 63))
    }

    /// An instant, latest first.
    pub(super) fn instant_reversed(self, at: Timestamp) -> Self {
        self.u64(!(at.0.cast_unsigned() ^ (1 << 63)))
    }

    /// A run's id.
    pub(super) fn run(self, run: RunId) -> Self {
        self.unique(run.0)
    }

    /// A file's id.
    pub(super) fn file(self, file: FileId) -> Self {
        self.unique(file.0)
    }

    fn unique(self, unique: Unique) -> Self {
        self.u16(unique.shard).fixed(&unique.random)
    }

    /// The bytes.
    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a key part by part; `None` when it does not fit.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    /// Bytes of a fixed length.
    pub(super) fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    /// A byte.
    pub(super) fn byte(&mut self) -> Option<u8> {
        self.fixed::<1>().map(|[b]| b)
    }

    /// Text of any length.
    pub(super) fn text(&mut self) -> Option<String> {
        let mut text = Vec::new();
        loop {
            match self.byte()? {
                0 => match self.byte()? {
                    1 => return String::from_utf8(text).ok(),
                    255 => text.push(0),
                    _ => return None,
                },
                byte => text.push(byte),
            }
        }
    }

    /// A number of 16 bits.
    pub(super) fn u16(&mut self) -> Option<u16> {
        self.fixed().map(u16::from_be_bytes)
    }

    /// A number of 32 bits.
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.fixed().map(u32::from_be_bytes)
    }

    /// A number of 64 bits.
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.fixed().map(u64::from_be_bytes)
    }

    /// An instant, earliest first.
    pub(super) fn instant(&mut self) -> Option<Timestamp> {
        self.u64().map(|n| Timestamp((n ^ (1 << 63)).cast_signed()))
    }

    /// An instant, latest first.
    pub(super) fn instant_reversed(&mut self) -> Option<Timestamp> {
        self.u64().map(|n| Timestamp((!n ^ (1 << 63)).cast_signed()))
    }

    /// A run's id.
    pub(super) fn run(&mut self) -> Option<RunId> {
        self.unique().map(RunId)
    }

    /// A file's id.
    pub(super) fn file(&mut self) -> Option<FileId> {
        self.unique().map(FileId)
    }

    fn unique(&mut self) -> Option<Unique> {
        Some(Unique { shard: self.u16()?, random: self.fixed()? })
    }

    /// `value`, if nothing is left.
    pub(super) fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

/// The first key after every key that starts with `prefix`.
pub(super) fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 255 {
            end.push(last + 1);
            break;
        }
    }
    end
}
