//! How many bytes are alive: what can be reached from some values, with shared parts counted once.

use super::{Text, Value, drop::Entry};
use crate::limits::cost;
use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

/// Counts the bytes of values, with shared parts counted once.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// Addresses of shared parts that are counted. Only membership is asked, so their order is nobody's.
    counted: BTreeSet<usize>,
    bytes: usize,
    visited: usize,
}

impl Census {
    /// Adds a value and all below it.
    pub(crate) fn add(&mut self, value: &Value) {
        let mut open = Vec::new();
        open.push(value);
        while let Some(value) = open.pop() {
            self.visited = self.visited.saturating_add(1);
            self.add_one(value, &mut open);
        }
    }

    /// The bytes counted so far.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of values gone through.
    pub(crate) const fn visited(&self) -> usize {
        self.visited
    }

    fn grow(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether an object that is shared was counted before.
    fn is_counted<T>(&mut self, object: &Arc<T>) -> bool {
        Arc::strong_count(object) > 1 && !self.counted.insert(Arc::as_ptr(object).cast::<()>().addr())
    }

    fn add_one<'a>(&mut self, value: &'a Value, open: &mut Vec<&'a Value>) {
        self.grow(cost::SLOT);
        match value {
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Builtin(_) => {}
            Value::Big(big) => {
                let bytes = usize::try_from(big.bits() / 8).unwrap_or(usize::MAX);
                if !self.is_counted(big) {
                    self.grow(bytes.saturating_add(cost::OBJECT));
                }
            }
            Value::Text(text) | Value::Keyword(text) | Value::Symbol(text) => self.add_text(text),
            Value::Regex(pattern) => {
                if !self.is_counted(pattern) {
                    self.grow(pattern.bytes());
                }
            }
            Value::Reduced(inner) => open.extend(inner.as_slice()),
            Value::Labelled(labelled) => {
                if !self.is_counted(labelled) {
                    self.grow(cost::OBJECT);
                    open.push(labelled.value());
                }
            }
            Value::Closure(closure) => {
                if !self.is_counted(closure) {
                    self.grow(cost::OBJECT);
                    open.extend(closure.captures.as_slice());
                    // A function keeps the program that it comes from.
                    if closure.program.prelude.is_none() && !self.is_counted(&closure.program) {
                        self.grow(closure.program.source().len());
                        open.extend(&closure.program.constants);
                    }
                }
            }
            Value::Stream(stream) => {
                if !self.is_counted(stream) {
                    self.grow(cost::OBJECT);
                    open.extend(stream.parts.as_slice());
                }
            }
            Value::List(list) => {
                if !self.is_counted(list) {
                    self.grow(cost::OBJECT);
                    self.add_trie(&list.front, open);
                    if !self.is_counted(&list.back) {
                        self.add_trie(&list.back, open);
                    }
                }
            }
            Value::Vector(vector) => {
                if !self.is_counted(vector) {
                    self.grow(cost::OBJECT);
                    self.add_trie(vector, open);
                }
            }
            Value::Map(map) => {
                if !self.is_counted(map) {
                    self.add_entries(map, open);
                }
            }
            Value::Set(set) => {
                if !self.is_counted(set) {
                    self.add_entries(&set.0, open);
                }
            }
        }
    }

    fn add_text(&mut self, text: &Text) {
        if text.shared_address().is_none_or(|address| self.counted.insert(address)) {
            self.grow(text.len().saturating_add(cost::OBJECT));
        }
    }

    fn add_trie<'a>(&mut self, trie: &'a super::Trie<Value>, open: &mut Vec<&'a Value>) {
        let counted = &mut self.counted;
        trie.visit_chunks(&mut |address| !counted.insert(address), &mut |chunk| open.extend(chunk));
    }

    fn add_entries<'a>(&mut self, map: &'a super::Map, open: &mut Vec<&'a Value>) {
        let mut entries: usize = 0;
        let counted = &mut self.counted;
        let mut visit = |chunk: &'a [Option<Entry>]| {
            entries = entries.saturating_add(chunk.len());
            for entry in chunk.iter().flatten() {
                open.push(&entry.key);
                open.push(&entry.value);
            }
        };
        map.entries.visit_chunks(&mut |address| !counted.insert(address), &mut visit);
        self.grow(entries.saturating_mul(cost::ENTRY).saturating_add(cost::OBJECT));
    }
}
