//! What is kept of a body that is too large: the message without its arguments, so that the call can be answered.

/// Longest outline, in bytes. What is left of a message without arguments is far shorter.
const OUTLINE_BYTES_MAX: usize = 64 * 1024;
/// How deep the arguments of a tool call lie: in the message, in its params.
const ARGUMENTS_DEPTH: usize = 2;

/// Takes a body piece by piece and keeps all but what is inside of its `arguments`.
#[derive(Default)]
pub struct Outline {
    kept: Vec<u8>,
    depth: usize,
    text: Text,
    in_arguments: bool,
    too_long: bool,
}

/// Where in a string the body is.
#[derive(Default, PartialEq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// Behind a backslash.
    Escaped,
}

impl Outline {
    /// The next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.byte(byte);
        }
    }

    /// The message with empty arguments; `None` when something else in it is too large.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.too_long).then_some(self.kept)
    }

    fn byte(&mut self, byte: u8) {
        if self.text != Text::Outside {
            self.text = match (&self.text, byte) {
                (Text::Inside, b'"') => Text::Outside,
                (Text::Inside, b'\\') => Text::Escaped,
                (Text::Outside | Text::Inside | Text::Escaped, _) => Text::Inside,
            };
            return self.keep(byte);
        }
        match byte {
            b'"' => self.text = Text::Inside,
            b'{' | b'[' => {
                let begin = self.depth == ARGUMENTS_DEPTH && self.are_next();
                self.depth += 1;
                self.keep(byte);
                self.in_arguments |= begin;
                return;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.in_arguments &= self.depth > ARGUMENTS_DEPTH;
            }
            _ => {}
        }
        self.keep(byte);
    }

    /// Whether `"arguments":` came last.
    fn are_next(&self) -> bool {
        let key = self.kept.trim_ascii_end().strip_suffix(b":");
        key.is_some_and(|key| key.trim_ascii_end().ends_with(b"\"arguments\""))
    }

    fn keep(&mut self, byte: u8) {
        if self.in_arguments {
            return;
        }
        self.too_long |= self.kept.len() >= OUTLINE_BYTES_MAX;
        if !self.too_long {
            self.kept.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(body: &str) -> Option<String> {
        let mut outline = Outline::default();
        // In pieces of any length.
        for piece in body.as_bytes().chunks(7) {
            outline.feed(piece);
        }
        outline.finish().map(|kept| String::from_utf8_lossy(&kept).into_owned())
    }

    #[test]
    fn arguments_go_and_the_rest_stays() {
        for arguments in [
            "{}".to_owned(),
            r#"{"a":"}]\"\\","b":[{"arguments":{}},[]]}"#.to_owned(),
            format!("[{}1]", "1,".repeat(100_000)),
            format!(r#"{{"a":"{}"}}"#, "x".repeat(1_000_000)),
        ] {
            let empty = if arguments.starts_with('[') { "[]" } else { "{}" };
            for (before, after) in [
                (
                    r#"{"jsonrpc":"2.0","id":"arguments","params":{"name":"t","_meta":{"k":{}},"arguments" : "#,
                    r#"},"method":"tools/call"}"#,
                ),
                (r#"{"params":{"arguments":"#, r#","name":"t\\"},"method":"tools/call","id":7}"#),
            ] {
                let whole = format!("{before}{arguments}{after}");
                assert_eq!(outline(&whole), Some(format!("{before}{empty}{after}")));
            }
        }
    }

    #[test]
    fn what_is_large_elsewhere_is_given_up() {
        let large = "x".repeat(OUTLINE_BYTES_MAX);
        for body in [
            format!(r#"{{"id":"{large}"}}"#),
            format!(r#"{{"params":{{"arguments":"{large}"}}}}"#),
            "[".repeat(100_000),
        ] {
            assert_eq!(outline(&body), None);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_an_outline(body: Vec<u8>) {
            let mut outline = Outline::default();
            outline.feed(&body);
            proptest::prop_assert!(outline.finish().is_some_and(|kept| kept.len() <= body.len()));
        }
    }
}
