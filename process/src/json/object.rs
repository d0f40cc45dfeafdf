//! Objects: unique keys in the order written.

use std::sync::Arc;

use super::Value;
use crate::issue_list::shown;

/// A JSON object: unique keys in the order written. Equality ignores the order.
///
/// A clone is the same members until one of the two changes: what a caller sends goes through many hands, and is large.
#[derive(Clone, Debug, Default)]
pub struct Object(Arc<Vec<(String, Value)>>);

/// From this many keys on, equality compares sorted keys instead of looking each one up.
const SORT_FROM: usize = 16;

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }
    /// From members in order; the key that occurs twice, if one does. Not quadratic: members come from the network.
    pub(crate) fn from_members(members: Vec<(String, Value)>) -> Result<Self, String> {
        let mut keys: Vec<&str> = members.iter().map(|(k, _)| k.as_str()).collect();
        keys.sort_unstable();
        let twice = keys.windows(2).find_map(|pair| (pair[0] == pair[1]).then(|| shown(pair[0]).into_owned()));
        twice.map_or_else(|| Ok(Self(Arc::new(members))), Err)
    }
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    /// The value under `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        Arc::make_mut(&mut self.0).iter_mut().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    /// Keys and values in order, values to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        Arc::make_mut(&mut self.0).iter_mut().map(|(k, v)| (k.as_str(), v))
    }
    /// Sets `key`, keeping its place if it is already there.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) -> &mut Self {
        let (key, value) = (key.into(), value.into());
        let members = Arc::make_mut(&mut self.0);
        match members.iter_mut().find(|(k, _)| *k == key) {
            Some(slot) => slot.1 = value,
            None => members.push((key, value)),
        }
        self
    }
    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(Arc::make_mut(&mut self.0).remove(at).1)
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
    /// Members sorted by key, code point by code point.
    fn sorted(&self) -> Vec<&(String, Value)> {
        let mut members: Vec<_> = self.0.iter().collect();
        members.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        members
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;
    /// Keys and values in order.
    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        if self.len() < SORT_FROM {
            return self.iter().all(|(k, v)| other.get(k) == Some(v));
        }
        self.sorted() == other.sorted()
    }
}
impl Eq for Object {}
