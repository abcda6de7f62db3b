//! Sequences: a list grows at its front and is shared with the vector it is a view of.

use super::{
    Value,
    trie::{Chunk, Trie, TrieIter},
};
use crate::{error::Fault, limits::Meter};
use alloc::{sync::Arc, vec::Vec};

/// A sequence. Its first elements are in `front` in reverse, the others in `back` from `start` on.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    pub(super) front: Trie<Value>,
    pub(super) back: Arc<Trie<Value>>,
    start: usize,
}

impl List {
    pub(crate) fn from_vec(elements: Vec<Value>) -> Self {
        Self { front: Trie::default(), back: Arc::new(Trie::from_vec(elements)), start: 0 }
    }

    /// The elements of a vector from an index on.
    pub(crate) fn view(back: Arc<Trie<Value>>, start: usize) -> Self {
        Self { front: Trie::default(), start: start.min(back.len()), back }
    }

    /// The values put before the vector, the vector, and the place in it where the list goes on.
    pub(crate) const fn parts(&self) -> (&Trie<Value>, &Arc<Trie<Value>>, usize) {
        (&self.front, &self.back, self.start)
    }

    /// A list of such parts.
    pub(crate) fn from_parts(front: Trie<Value>, back: Arc<Trie<Value>>, start: usize) -> Option<Self> {
        (start <= back.len()).then_some(Self { front, back, start })
    }

    pub(crate) fn len(&self) -> usize {
        self.front.len().saturating_add(self.back.len().saturating_sub(self.start))
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&Value> {
        match index.checked_sub(self.front.len()) {
            Some(behind) => self.back.get(self.start.checked_add(behind)?),
            None => self.front.get(self.front.len().checked_sub(index)?.checked_sub(1)?),
        }
    }

    pub(crate) fn push_front(&mut self, element: Value, meter: &mut Meter) -> Result<(), Fault> {
        meter.collection(self.len().saturating_add(1))?;
        self.front.push(element, meter)
    }

    /// The list without its first `count` elements.
    pub(crate) fn skip(&self, count: usize, meter: &mut Meter) -> Result<Self, Fault> {
        if self.front.len() == 0 || count >= self.front.len() {
            let start = self.start.saturating_add(count.saturating_sub(self.front.len()));
            return Ok(Self::view(Arc::clone(&self.back), start));
        }
        meter.allocate(self.front.own_bytes())?;
        let mut rest = self.clone();
        meter.elements(count)?;
        for _ in 0..count {
            rest.front.pop(meter)?;
        }
        Ok(rest)
    }

    /// Bytes that copying the object itself takes.
    pub(crate) fn own_bytes(&self) -> usize {
        self.front.own_bytes()
    }

    pub(crate) fn iter(&self) -> ListIter<'_> {
        ListIter { front: &self.front, left: self.front.len(), back: self.back.iter_from(self.start) }
    }
}

/// The elements of a [`List`] in order.
#[derive(Debug, Clone)]
pub(crate) struct ListIter<'a> {
    front: &'a Trie<Value>,
    left: usize,
    back: TrieIter<'a, Value>,
}

impl<'a> Iterator for ListIter<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                self.front.get(left)
            }
            None => self.back.next(),
        }
    }
}

/// A sequence that is described instead of stored: an endless one, or a range.
///
/// Only sequences over stored elements are collections of the machine. A stream is read as far as somebody takes from
/// it, and has no end unless it is a range or a bounded repetition.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) kind: StreamKind,
    /// The values that it is made of: the one repeated, or those of a cycle.
    pub(crate) parts: Chunk<Value>,
}

/// How a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// Integers from `start` by `step`.
    Range { start: i64, step: i64, count: Option<usize> },
    /// One value again and again.
    Repeat { count: Option<usize> },
    /// The parts again and again, from this index of the first round on.
    Cycle { start: usize },
    /// A word, a function and what it works on: only the machine can take from it.
    Computed,
}

impl Stream {
    /// Integers from `start` by `step`, `count` of them.
    pub(crate) const fn range(start: i64, step: i64, count: Option<usize>) -> Self {
        Self { kind: StreamKind::Range { start, step, count }, parts: Chunk::new(Vec::new()) }
    }

    /// The number of elements. `None` if it has no end.
    pub(crate) const fn count(&self) -> Option<usize> {
        match self.kind {
            StreamKind::Range { count, .. } | StreamKind::Repeat { count } => count,
            StreamKind::Cycle { .. } | StreamKind::Computed => None,
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Value> {
        if self.count().is_some_and(|count| index >= count) {
            return None;
        }
        match self.kind {
            StreamKind::Range { start, step, .. } => {
                Some(Value::Int(start.checked_add(step.checked_mul(i64::try_from(index).ok()?)?)?))
            }
            StreamKind::Repeat { .. } => self.parts.as_slice().first().cloned(),
            StreamKind::Cycle { start } => {
                let parts = self.parts.as_slice();
                parts.get(start.checked_add(index)?.checked_rem(parts.len())?).cloned()
            }
            StreamKind::Computed => None,
        }
    }

    /// The stream without its first `count` elements.
    pub(crate) fn skip(&self, count: usize) -> Self {
        let left = |all: Option<usize>| all.map(|all| all.saturating_sub(count));
        let kind = match self.kind {
            StreamKind::Range { start, step, count: all } => {
                let by = step.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
                StreamKind::Range { start: start.saturating_add(by), step, count: left(all) }
            }
            StreamKind::Repeat { count: all } => StreamKind::Repeat { count: left(all) },
            StreamKind::Cycle { start } => {
                let length = self.parts.as_slice().len();
                StreamKind::Cycle { start: start.saturating_add(count).checked_rem(length).unwrap_or(0) }
            }
            StreamKind::Computed => StreamKind::Computed,
        };
        Self { kind, parts: self.parts.clone() }
    }

    /// The stream with at most `count` elements, or `None` if only storing them can bound it.
    pub(crate) fn take(&self, count: usize) -> Option<Self> {
        let least = |all: Option<usize>| Some(all.map_or(count, |all| all.min(count)));
        let kind = match self.kind {
            StreamKind::Range { start, step, count: all } => StreamKind::Range { start, step, count: least(all) },
            StreamKind::Repeat { count: all } => StreamKind::Repeat { count: least(all) },
            StreamKind::Cycle { .. } | StreamKind::Computed => return None,
        };
        Some(Self { kind, parts: self.parts.clone() })
    }
}
