//! The size of a text before anything is made of it.

/// How large a JSON text is: one pass and no memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes of the compact text with each character as itself where it can be, however it was spelled.
    pub compact: usize,
    /// Those of them that are not in strings. Each value that is no string takes one, and so does each string but one,
    /// so there are no more values.
    pub structure: usize,
}

/// The size of an acceptable JSON text. Of another text it is some number, at most twice its length.
pub fn size(text: &[u8]) -> Size {
    let (mut size, mut at, mut in_string) = (Size::default(), 0, false);
    while let Some(&byte) = text.get(at) {
        let (read, written) = match byte {
            b' ' | b'\t' | b'\n' | b'\r' if !in_string => (1, 0),
            b'\\' if in_string => match text.get(at + 1) {
                Some(b'u') => (6, unicode(text.get(at + 2..at + 6).unwrap_or_default())),
                Some(b'/') => (2, 1),
                Some(_) | None => (2, 2),
            },
            _ => (1, 1),
        };
        size.compact += written;
        size.structure += if in_string || byte == b'"' { 0 } else { written };
        in_string ^= byte == b'"';
        at += read;
    }
    size
}

/// Bytes of the character, or half of one, that four hexadecimal digits stand for.
fn unicode(digits: &[u8]) -> usize {
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    match u32::from_str_radix(digits, 16).unwrap_or(0) {
        // With a short escape; of two bytes; and half of a pair, which makes four.
        0x08 | 0x09 | 0x0a | 0x0c | 0x0d | 0x22 | 0x5c | 0x80..0x800 | 0xd800..0xe000 => 2,
        0..0x20 => 6,
        0x20..0x80 => 1,
        _ => 3,
    }
}
