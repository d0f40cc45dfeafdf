//! Exact JSON: numbers keep their decimal text, objects keep their order, duplicate keys are refused.

use std::fmt;

/// A JSON value. Equality of objects ignores key order; equality of numbers is by exact decimal value (NUM-COMPARE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, kept as its text.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// A mapping with unique keys, in the order written.
    Object(Object),
}

/// A JSON number as its decimal text (NUM-EXACT).
#[derive(Clone, Debug)]
pub struct Number(String);

/// A JSON object: unique keys in the order written.
#[derive(Clone, Debug, Default)]
pub struct Object(Vec<(String, Value)>);

/// Why a text is not acceptable JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Byte offset of the trouble.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
}

/// Parses one JSON text strictly: no duplicate keys, no lone surrogates, at most `depth_max` levels (JSON-DUP, JSON-LIMITS).
pub fn parse(_text: &[u8], _depth_max: usize) -> Result<Value, ParseError> {
    todo!()
}

/// The RFC 8785 form with exact decimal numbers (NUM-COMPARE): the form that snapshots and fingerprints hash.
pub fn canonical(_value: &Value) -> String {
    todo!()
}

/// Compact JSON with numbers as written and keys in order.
impl fmt::Display for Value {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

impl Number {
    /// A number from JSON number text; `None` if it is not one or is beyond the bounds of NUM-EXACT.
    pub fn parse(_text: &str) -> Option<Self> {
        todo!()
    }
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// The value as an unsigned integer, if it is one exactly.
    pub fn as_u64(&self) -> Option<u64> {
        todo!()
    }
    /// The one spelling of this exact decimal value (NUM-COMPARE).
    pub fn canonical(&self) -> String {
        todo!()
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}
impl Eq for Number {}

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    /// The value under `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    /// Keys and values in order, values to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.0.iter_mut().map(|(k, v)| (k.as_str(), v))
    }
    /// Sets `key`, keeping its place if it is already there.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) -> &mut Self {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some(slot) => slot.1 = value,
            None => self.0.push((key, value)),
        }
        self
    }
    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }
    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(k, v)| other.get(k) == Some(v))
    }
}
impl Eq for Object {}

impl Value {
    /// The string inside, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(s) = self { Some(s) } else { None }
    }
    /// The object inside, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(o) = self { Some(o) } else { None }
    }
    /// The list inside, if it is one.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Self::Array(a) = self { Some(a) } else { None }
    }
    /// The number inside as an unsigned integer, if it is one exactly.
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Number(n) = self { n.as_u64() } else { None }
    }
    /// The boolean inside, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(b) = self { Some(*b) } else { None }
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::String(s.to_owned())
    }
}
impl From<String> for Value {
    fn from(s: String) -> Self {
        Self::String(s)
    }
}
impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}
impl From<u64> for Value {
    fn from(n: u64) -> Self {
        Self::Number(Number(n.to_string()))
    }
}
impl From<Object> for Value {
    fn from(o: Object) -> Self {
        Self::Object(o)
    }
}
impl From<Vec<Value>> for Value {
    fn from(a: Vec<Value>) -> Self {
        Self::Array(a)
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(o: Option<T>) -> Self {
        o.map_or(Self::Null, Into::into)
    }
}

/// Stored as its compact text, so that every digit survives any serde format.
impl serde::Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        parse(text.as_bytes(), usize::MAX).map_err(|e| serde::de::Error::custom(e.message))
    }
}
impl serde::Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&Value::Object(self.clone()))
    }
}
impl<'de> serde::Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::Object(o) => Ok(o),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(serde::de::Error::custom("expected an object"))
            }
        }
    }
}
impl serde::Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}
impl<'de> serde::Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a number"))
    }
}
