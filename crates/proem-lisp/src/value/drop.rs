//! Structures of any depth are dropped with a list instead of recursion.

use super::{Value, trie::Trie};
use alloc::{sync::Arc, vec::Vec};
use core::fmt;

/// The elements that a [`Trie`] can hold.
pub(crate) trait Element: Clone + fmt::Debug {
    /// Whether dropping it drops no other value.
    fn is_leaf(&self) -> bool;

    /// Moves its values to `open`.
    fn move_values(self, open: &mut Vec<Value>);
}

impl Element for Value {
    fn is_leaf(&self) -> bool {
        matches!(
            self,
            Self::Nil
                | Self::Bool(_)
                | Self::Int(_)
                | Self::Float(_)
                | Self::Big(_)
                | Self::Text(_)
                | Self::Keyword(_)
                | Self::Symbol(_)
                | Self::Regex(_)
                | Self::Builtin(_)
        )
    }

    fn move_values(self, open: &mut Vec<Self>) {
        if !self.is_leaf() {
            open.push(self);
        }
    }
}

/// One entry of a map, with no value for a set's.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Value,
    pub(crate) value: Value,
}

/// The place of an entry that was taken away is empty.
impl Element for Option<Entry> {
    fn is_leaf(&self) -> bool {
        self.as_ref().is_none_or(|entry| entry.key.is_leaf() && entry.value.is_leaf())
    }

    fn move_values(self, open: &mut Vec<Value>) {
        if let Some(entry) = self {
            entry.key.move_values(open);
            entry.value.move_values(open);
        }
    }
}

impl Value {
    /// Moves the children to `open` if nobody else holds the value, and drops it.
    pub(super) fn move_children(self, open: &mut Vec<Self>) {
        match self {
            Self::Vector(vector) => move_trie(vector, open),
            Self::List(list) => {
                if let Some(list) = Arc::into_inner(list) {
                    list.front.move_values(open);
                    move_trie(list.back, open);
                }
            }
            Self::Map(map) => {
                if let Some(map) = Arc::into_inner(map) {
                    map.entries.move_values(open);
                }
            }
            Self::Set(set) => {
                if let Some(set) = Arc::into_inner(set) {
                    set.0.entries.move_values(open);
                }
            }
            Self::Stream(stream) => {
                if let Some(mut stream) = Arc::into_inner(stream) {
                    open.append(&mut stream.parts.take());
                }
            }
            Self::Closure(closure) => {
                if let Some(mut closure) = Arc::into_inner(closure) {
                    open.append(&mut closure.captures.take());
                }
            }
            Self::Reduced(inner) => {
                if let Some(mut inner) = Arc::into_inner(inner) {
                    open.append(&mut inner.take());
                }
            }
            Self::Labelled(labelled) => {
                if let Some(labelled) = Arc::into_inner(labelled) {
                    labelled.into_value().move_values(open);
                }
            }
            Self::Nil
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Big(_)
            | Self::Text(_)
            | Self::Keyword(_)
            | Self::Symbol(_)
            | Self::Regex(_)
            | Self::Builtin(_) => {}
        }
    }
}

fn move_trie(trie: Arc<Trie<Value>>, open: &mut Vec<Value>) {
    if let Some(trie) = Arc::into_inner(trie) {
        trie.move_values(open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Meter;

    #[test]
    fn a_million_levels_are_dropped_on_a_small_stack() {
        let drop_deep = || {
            let mut value = Value::Nil;
            for _ in 0..1_000_000 {
                value = Value::vector(alloc::vec![value]);
            }
            let shared = value.clone();
            drop(value);
            drop(shared);
            let mut meter = Meter::unlimited();
            let mut value = Value::Nil;
            for _ in 0..100_000 {
                let mut map = super::super::Map::default();
                map.insert(Value::Int(1), value, &mut meter).unwrap();
                value = Value::Reduced(Arc::new(super::super::trie::Chunk::new(alloc::vec![Value::from(map)])));
            }
            let label = proem_text::Label::from_many();
            for _ in 0..100_000 {
                value = Value::vector(alloc::vec![value]).labelled(&label);
            }
            assert_eq!(value.label(), label);
        };
        std::thread::Builder::new().stack_size(64 << 10).spawn(drop_deep).unwrap().join().unwrap();
    }
}
