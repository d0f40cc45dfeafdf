//! The arguments of a command.

use goldenscript::{Argument, Command};

/// A command's arguments.
pub struct Args {
    words: Vec<String>,
    keys: Vec<(String, String)>,
}

impl Args {
    /// Of a parsed command.
    pub fn of(command: &Command) -> Self {
        let (mut words, mut keys) = (Vec::new(), Vec::new());
        for arg in &command.args {
            match arg {
                Argument::Positional(word) => words.push(word.clone()),
                Argument::KeyValue(key, value) => keys.push((key.clone(), value.clone())),
                _ => {}
            }
        }
        Self { words, keys }
    }

    /// Arguments without a key.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// One of them, or a message.
    pub fn word(&self, index: usize) -> Result<&str, String> {
        self.words.get(index).map(String::as_str).ok_or_else(|| format!("word {index} is missing"))
    }

    /// The argument of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Whether a bare word such as `brief` is among the arguments.
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    out
}
