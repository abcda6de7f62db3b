//! Values from the host's types, and back.

use super::{Chunk, List, Map, Set, Text, Trie, Value, compare::is_equal};
use crate::limits::Meter;
use alloc::{string::String, sync::Arc, vec, vec::Vec};
use core::fmt;
use proem_text::Label;

impl Value {
    /// A vector of these elements.
    #[must_use]
    pub fn vector(elements: Vec<Self>) -> Self {
        Self::Vector(Arc::new(Trie::from_vec(elements)))
    }

    /// A sequence of these elements.
    #[must_use]
    pub fn list(elements: Vec<Self>) -> Self {
        Self::List(Arc::new(List::from_vec(elements)))
    }

    /// A keyword of this name, without a colon.
    #[must_use]
    pub fn keyword(name: &str) -> Self {
        Self::Keyword(Text::from(name))
    }

    /// A string.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(Text::from(text))
    }

    /// A map of these entries. Of equal keys the last value counts. A key's label becomes the map's.
    #[must_use]
    pub fn map(entries: impl IntoIterator<Item = (Self, Self)>) -> Self {
        let mut meter = Meter::unlimited();
        let mut map = Map::default();
        let mut label = Label::trusted();
        for (key, value) in entries {
            label = label.join(&key.label());
            // Keys that nest maps deeper than can be compared are left out. Hosts have none.
            if map.insert(key.without_labels(), value, &mut meter).is_err() {
                continue;
            }
        }
        Self::from(map).labelled(&label)
    }

    /// The value that ends a `reduce` with `inner` as its result.
    pub(crate) fn reduced(inner: Self) -> Self {
        Self::Reduced(Arc::new(Chunk::new(vec![inner])))
    }

    /// The value under this keyword or string of a map.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Map(map) = self else { return None };
        map.lookup(&Self::keyword(name), &mut Meter::unlimited()).ok().flatten()
    }

    /// The entries of a map in order. None for other values.
    pub fn entries(&self) -> impl Iterator<Item = (&Self, &Self)> {
        let map = if let Self::Map(map) = self { Some(map) } else { None };
        map.into_iter().flat_map(|map| map.iter())
    }

    /// The elements of a stored list, vector or set in order. None for other values.
    pub fn elements(&self) -> impl Iterator<Item = &Self> {
        let (list, vector, set) = match self {
            Self::List(list) => (Some(list), None, None),
            Self::Vector(vector) => (None, Some(vector), None),
            Self::Set(set) => (None, None, Some(set)),
            _ => (None, None, None),
        };
        let list = list.into_iter().flat_map(|list| list.iter());
        let vector = vector.into_iter().flat_map(|vector| vector.iter());
        list.chain(vector).chain(set.into_iter().flat_map(|set| set.0.iter().map(|(element, _)| element)))
    }

    /// The string's or keyword's characters.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Keyword(text) | Self::Symbol(text) => Some(text.as_str()),
            _ => None,
        }
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(Arc::new(map))
    }
}

impl From<Set> for Value {
    fn from(set: Set) -> Self {
        Self::Set(Arc::new(set))
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Self::List(Arc::new(list))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<usize> for Value {
    /// Sizes are below 2⁶³ on every machine.
    fn from(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::float(value)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Text::from(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// As the language's `=`, without limits. A value that can't be compared equals nothing.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        is_equal(self, other, &mut Meter::unlimited()).unwrap_or(false)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::print::print_excerpt(self, 1_000))
    }
}
