//! The elements of any collection, one after the other.

use super::{
    Value,
    drop::Entry,
    list::{ListIter, Stream},
    trie::TrieIter,
};
use alloc::borrow::Cow;

/// Whether a value is a collection.
pub(crate) const fn has_children(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Vector(_) | Value::Map(_) | Value::Set(_) | Value::Stream(_))
}

/// The elements of a collection in order. Of a map each key and then its value.
#[derive(Debug, Clone)]
pub(crate) enum Children<'a> {
    None,
    List(ListIter<'a>),
    Vector(TrieIter<'a, Value>),
    /// The entries, and a value whose key was given out.
    Entries(TrieIter<'a, Option<Entry>>, Option<&'a Value>),
    Keys(TrieIter<'a, Option<Entry>>),
    Stream(&'a Stream, usize),
}

impl<'a> Children<'a> {
    /// The elements of a value. None if it isn't a collection.
    pub(crate) fn of(value: &'a Value) -> Self {
        match value {
            Value::List(list) => Self::List(list.iter()),
            Value::Vector(vector) => Self::Vector(vector.iter()),
            Value::Map(map) => Self::Entries(map.entries.iter(), None),
            Value::Set(set) => Self::Keys(set.0.entries.iter()),
            Value::Stream(stream) => Self::Stream(stream, 0),
            _ => Self::None,
        }
    }

    /// The keys of a map or the elements of a set.
    pub(crate) fn keys_of(value: &'a Value) -> Self {
        match value {
            Value::Map(map) => Self::Keys(map.entries.iter()),
            other => Self::of(other),
        }
    }

    /// The next entry of a map, or the next element of a set without a value.
    pub(crate) fn next_entry(&mut self) -> Option<(&'a Value, &'a Value)> {
        match self {
            Self::Entries(entries, _) | Self::Keys(entries) => {
                let entry = entries.by_ref().flatten().next()?;
                Some((&entry.key, &entry.value))
            }
            _ => None,
        }
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = Cow<'a, Value>;

    fn next(&mut self) -> Option<Cow<'a, Value>> {
        match self {
            Self::None => None,
            Self::List(elements) => elements.next().map(Cow::Borrowed),
            Self::Vector(elements) => elements.next().map(Cow::Borrowed),
            Self::Entries(entries, waiting) => {
                if let Some(value) = waiting.take() {
                    return Some(Cow::Borrowed(value));
                }
                let entry = entries.by_ref().flatten().next()?;
                *waiting = Some(&entry.value);
                Some(Cow::Borrowed(&entry.key))
            }
            Self::Keys(entries) => entries.by_ref().flatten().next().map(|entry| Cow::Borrowed(&entry.key)),
            Self::Stream(stream, index) => {
                let element = stream.get(*index)?;
                *index = index.saturating_add(1);
                // A repeated collection is given out as stored, so that its children outlive the step.
                match (stream.parts.as_slice(), has_children(&element)) {
                    ([only], true) => Some(Cow::Borrowed(only)),
                    _ => Some(Cow::Owned(element)),
                }
            }
        }
    }
}
