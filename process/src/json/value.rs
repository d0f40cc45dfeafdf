//! JSON values.

use super::{Number, Object};

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
    /// The number inside, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(n) = self { Some(n) } else { None }
    }
    /// The number inside as an unsigned integer, if it is one exactly.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }
    /// The boolean inside, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(b) = self { Some(*b) } else { None }
    }
    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
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
        Self::Number(n.into())
    }
}
impl From<Number> for Value {
    fn from(n: Number) -> Self {
        Self::Number(n)
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
