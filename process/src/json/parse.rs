//! The strict parser.

use super::{Number, Object, Value};

/// Deepest nesting that any value may have: it bounds the stack that parsing, writing and dropping a value take.
pub const DEPTH_MAX: usize = 128;

/// Why a text is not acceptable JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Byte offset of the trouble.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)
    }
}
impl std::error::Error for ParseError {}

/// Parses one JSON text strictly: no duplicate keys, no lone surrogates, at most `depth_max` levels and never more than
/// [`DEPTH_MAX`] (JSON-DUP, JSON-LIMITS). A list or object that holds no other is one level.
pub fn parse(text: &[u8], depth_max: usize) -> Result<Value, ParseError> {
    let text = std::str::from_utf8(text)
        .map_err(|e| ParseError { offset: e.valid_up_to(), message: "not UTF-8".to_owned() })?;
    let depth_max = depth_max.min(DEPTH_MAX);
    let mut parser = Parser { text, at: 0, depth_max, depth_left: depth_max };
    let value = parser.value()?;
    parser.space();
    if parser.at < text.len() { Err(parser.error("unexpected text after the value")) } else { Ok(value) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth_max: usize,
    depth_left: usize,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Value, ParseError> {
        self.space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.error("expected a value")),
            None => Err(self.error("unexpected end of text")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, ParseError>) -> Result<Value, ParseError> {
        let Some(left) = self.depth_left.checked_sub(1) else {
            return Err(self.error(&format!("nested deeper than {} levels", self.depth_max)));
        };
        self.depth_left = left;
        self.at += 1;
        let value = read(self)?;
        self.depth_left += 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, ParseError> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            self.expect(b',', "expected `,` or `]`")?;
        }
    }

    fn object(&mut self) -> Result<Value, ParseError> {
        let start = self.at;
        let mut members = Vec::new();
        if !self.take(b'}') {
            loop {
                self.space();
                if self.peek() != Some(b'"') {
                    return Err(self.error("expected a key in double quotes"));
                }
                let key = self.string()?;
                self.expect(b':', "expected `:`")?;
                members.push((key, self.value()?));
                if self.take(b'}') {
                    break;
                }
                self.expect(b',', "expected `,` or `}`")?;
            }
        }
        Object::from_members(members)
            .map(Value::Object)
            .map_err(|key| ParseError { offset: start, message: format!("duplicate key `{key}`") })
    }

    fn number(&mut self) -> Result<Value, ParseError> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let number = Number::parse(&rest[..end]).ok_or_else(|| self.error("not a number, or one out of bounds"))?;
        self.at += end;
        Ok(Value::Number(number))
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, ParseError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.error("expected a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String, ParseError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.error("control character in a string")),
                None => return Err(self.error("unexpected end of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        self.at += 1;
        let letter = self.peek().ok_or_else(|| self.error("unexpected end of a string"))?;
        let plain = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.error("unknown escape")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char, ParseError> {
        let first = self.hex4()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.error("lone surrogate"));
        }
        if first >= 0xdc00 || !self.text[self.at..].starts_with("\\u") {
            return Err(self.error("lone surrogate"));
        }
        self.at += 2;
        let second = self.hex4()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.error("lone surrogate"));
        }
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).ok_or_else(|| self.error("lone surrogate"))
    }

    fn hex4(&mut self) -> Result<u32, ParseError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let code = code.ok_or_else(|| self.error("expected four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, message: &str) -> Result<(), ParseError> {
        if self.take(byte) { Ok(()) } else { Err(self.error(message)) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, message: &str) -> ParseError {
        ParseError { offset: self.at, message: message.to_owned() }
    }
}
