//! A persistent vector: a trie of 32 ways with a tail, as Clojure's.
//!
//! Appending, replacing and finding take time that grows with the logarithm of the length. A
//! version that nobody else holds changes in place; what is shared is copied along one path, and
//! the copy is charged before it is made. Dropping is done with a list of its own, see [`Chunk`].

use super::{Value, drop::Element};
use crate::{
    error::Fault,
    limits::{Meter, cost},
};
use alloc::{sync::Arc, vec, vec::Vec};
use core::mem;

const BITS: u32 = 5;
const WIDTH: usize = 1 << BITS;
const MASK: usize = WIDTH - 1;

/// Elements of a collection, at most [`WIDTH`] in a trie.
///
/// The one place that holds values on the heap, so that the one `Drop` here empties structures of
/// any depth without recursion: the first chunk to be dropped takes out all that nobody else holds.
#[derive(Debug, Clone)]
pub(crate) struct Chunk<T: Element>(Vec<T>);

impl<T: Element> Chunk<T> {
    pub(crate) const fn new(elements: Vec<T>) -> Self {
        Self(elements)
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn take(&mut self) -> Vec<T> {
        mem::take(&mut self.0)
    }
}

impl<T: Element> Drop for Chunk<T> {
    fn drop(&mut self) {
        if self.0.iter().all(Element::is_leaf) {
            return;
        }
        let mut open: Vec<Value> = Vec::new();
        for element in self.take() {
            element.move_values(&mut open);
        }
        while let Some(value) = open.pop() {
            value.move_children(&mut open);
        }
    }
}

/// A part of a trie: whole chunks, at the same depth everywhere.
#[derive(Debug, Clone)]
pub(crate) enum Node<T: Element> {
    Branch(Vec<Arc<Self>>),
    Leaf(Chunk<T>),
}

/// How large a part of a trie is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeSize {
    /// Levels of branches above the chunks.
    pub(crate) levels: u32,
    /// Chunks, which are all whole.
    pub(crate) chunks: usize,
}

impl NodeSize {
    /// The size of a whole chunk. Nothing for any other number of elements.
    pub(crate) fn of_leaf(elements: usize) -> Option<Self> {
        (elements == WIDTH).then_some(Self { levels: 0, chunks: 1 })
    }

    /// The size of a branch with such children: all of one depth, and all but the last whole.
    pub(crate) fn of_branch(children: &[Self]) -> Option<Self> {
        let (last, before) = children.split_last()?;
        let whole = WIDTH.checked_pow(last.levels)?;
        let is_whole = |size: &Self| size.levels == last.levels && size.chunks == whole;
        if before.len() >= WIDTH || !before.iter().all(is_whole) {
            return None;
        }
        let chunks = before.len().checked_mul(whole)?.checked_add(last.chunks)?;
        Some(Self { levels: last.levels.checked_add(1)?, chunks })
    }
}

impl<T: Element> Node<T> {
    /// A chunk of elements.
    pub(crate) const fn leaf(elements: Vec<T>) -> Self {
        Self::Leaf(Chunk(elements))
    }

    fn bytes(&self) -> usize {
        let slots = match self {
            Self::Branch(children) => children.len().saturating_mul(size_of::<usize>()),
            Self::Leaf(chunk) => chunk.0.len().saturating_mul(size_of::<T>()),
        };
        slots.saturating_add(cost::OBJECT)
    }

    /// The node to be changed, copied first if somebody else holds it.
    fn make_mut<'a>(node: &'a mut Arc<Self>, meter: &mut Meter) -> Result<&'a mut Self, Fault> {
        if Arc::get_mut(node).is_none() {
            meter.allocate(node.bytes())?;
        }
        Ok(Arc::make_mut(node))
    }
}

/// A persistent vector.
#[derive(Debug, Clone)]
pub(crate) struct Trie<T: Element> {
    len: usize,
    /// Bits of the index that are below the root's.
    shift: u32,
    root: Option<Arc<Node<T>>>,
    tail: Chunk<T>,
}

impl<T: Element> Default for Trie<T> {
    fn default() -> Self {
        Self { len: 0, shift: 0, root: None, tail: Chunk(Vec::new()) }
    }
}

impl<T: Element> Trie<T> {
    /// A vector of what is allocated and paid for already.
    pub(crate) fn from_vec(elements: Vec<T>) -> Self {
        if elements.len() <= WIDTH {
            return Self { len: elements.len(), shift: 0, root: None, tail: Chunk(elements) };
        }
        let len = elements.len();
        let mut elements = elements.into_iter();
        let mut chunks: Vec<Chunk<T>> = Vec::new();
        loop {
            let chunk: Vec<T> = elements.by_ref().take(WIDTH).collect();
            if chunk.is_empty() {
                break;
            }
            chunks.push(Chunk(chunk));
        }
        let tail = chunks.pop().unwrap_or_else(|| Chunk(Vec::new()));
        let mut nodes: Vec<Arc<Node<T>>> = chunks.into_iter().map(|chunk| Arc::new(Node::Leaf(chunk))).collect();
        let mut shift: u32 = 0;
        while nodes.len() > 1 {
            nodes = nodes.chunks(WIDTH).map(|children| Arc::new(Node::Branch(children.to_vec()))).collect();
            shift = shift.saturating_add(BITS);
        }
        Self { len, shift, root: nodes.pop(), tail }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The nodes above whole chunks, and the elements behind them.
    pub(crate) fn parts(&self) -> (Option<&Arc<Node<T>>>, &[T]) {
        (self.root.as_ref(), &self.tail.0)
    }

    /// A trie of such parts. `root` comes with the levels of branches and the chunks in it, which must be as many as a
    /// trie of its length has.
    pub(crate) fn from_parts(root: Option<(Arc<Node<T>>, NodeSize)>, tail: Vec<T>) -> Option<Self> {
        let chunks = root.as_ref().map_or(0, |(_, size)| size.chunks);
        let len = chunks.checked_mul(WIDTH)?.checked_add(tail.len())?;
        let has_tail = (1..=WIDTH).contains(&tail.len()) || len == 0;
        // Below one branch there is another chunk, or it would not be there.
        let levels = root.as_ref().map_or(0, |(_, size)| size.levels);
        let least = WIDTH.checked_pow(levels.saturating_sub(1))?;
        let is_minimal = if levels == 0 { chunks <= 1 } else { chunks > least };
        if !has_tail || !is_minimal {
            return None;
        }
        let root = root.map(|(node, _)| node);
        Some(Self { len, shift: levels.checked_mul(BITS)?, root, tail: Chunk(tail) })
    }

    /// The elements, if they are few enough to be in one piece.
    pub(crate) fn as_chunk(&self) -> Option<&[T]> {
        self.root.is_none().then(|| self.tail.as_slice())
    }

    /// Bytes that copying the object itself takes, without what it shares.
    pub(crate) fn own_bytes(&self) -> usize {
        self.tail.0.len().saturating_mul(size_of::<T>()).saturating_add(cost::OBJECT)
    }

    const fn tail_start(&self) -> usize {
        self.len.saturating_sub(1) & !MASK
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.chunk_at(index)?.get(index & MASK)
    }

    /// The elements of the chunk that an index is in.
    #[inline]
    pub(crate) fn chunk_at(&self, index: usize) -> Option<&[T]> {
        if index >= self.len {
            return None;
        }
        if index >= self.tail_start() {
            return Some(&self.tail.0);
        }
        let mut node = self.root.as_deref()?;
        let mut shift = self.shift;
        loop {
            match node {
                Node::Leaf(chunk) => return Some(&chunk.0),
                Node::Branch(children) => {
                    node = children.get((index >> shift) & MASK)?;
                    shift = shift.saturating_sub(BITS);
                }
            }
        }
    }

    /// The elements from an index on.
    pub(crate) const fn iter_from(&self, index: usize) -> TrieIter<'_, T> {
        TrieIter { trie: self, index, chunk: &[] }
    }

    pub(crate) const fn iter(&self) -> TrieIter<'_, T> {
        self.iter_from(0)
    }

    /// Appends an element.
    pub(crate) fn push(&mut self, element: T, meter: &mut Meter) -> Result<(), Fault> {
        meter.collection(self.len.saturating_add(1))?;
        // Twice the element: a growing buffer is copied.
        meter.allocate(size_of::<T>().saturating_mul(2))?;
        if self.tail.0.len() >= WIDTH {
            let full = mem::replace(&mut self.tail, Chunk(Vec::with_capacity(4)));
            let at = self.len;
            self.push_leaf(full, at, meter)?;
        }
        self.tail.0.push(element);
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    /// Puts a full chunk into the trie. `end` is the number of elements up to its end.
    fn push_leaf(&mut self, leaf: Chunk<T>, end: usize, meter: &mut Meter) -> Result<(), Fault> {
        let leaf = Arc::new(Node::Leaf(leaf));
        let at = end.saturating_sub(WIDTH);
        let Some(mut root) = self.root.take() else {
            self.root = Some(leaf);
            return Ok(());
        };
        meter.allocate(cost::OBJECT)?;
        let capacity = WIDTH.checked_shl(self.shift).unwrap_or(usize::MAX);
        if at >= capacity {
            root = Arc::new(Node::Branch(vec![root]));
            self.shift = self.shift.saturating_add(BITS);
        }
        let mut shift = self.shift;
        let mut node = &mut root;
        while shift > 0 {
            let Node::Branch(children) = Node::make_mut(node, meter)? else { break };
            let index = (at >> shift) & MASK;
            if index >= children.len() {
                let below = shift.saturating_sub(BITS);
                children.push(path_to(leaf, below));
                break;
            }
            let Some(child) = children.get_mut(index) else { break };
            node = child;
            shift = shift.saturating_sub(BITS);
        }
        self.root = Some(root);
        Ok(())
    }

    /// Replaces the element at an index, which must exist.
    pub(crate) fn set(&mut self, index: usize, element: T, meter: &mut Meter) -> Result<(), Fault> {
        let Some(slot) = self.slot_mut(index, meter)? else { return Ok(()) };
        *slot = element;
        Ok(())
    }

    /// The place of the element at an index.
    pub(crate) fn slot_mut(&mut self, index: usize, meter: &mut Meter) -> Result<Option<&mut T>, Fault> {
        if index >= self.len {
            return Ok(None);
        }
        if index >= self.tail_start() {
            return Ok(self.tail.0.get_mut(index & MASK));
        }
        let Some(mut node) = self.root.as_mut() else { return Ok(None) };
        let mut shift = self.shift;
        loop {
            match Node::make_mut(node, meter)? {
                Node::Leaf(chunk) => return Ok(chunk.0.get_mut(index & MASK)),
                Node::Branch(children) => {
                    let Some(child) = children.get_mut((index >> shift) & MASK) else { return Ok(None) };
                    node = child;
                    shift = shift.saturating_sub(BITS);
                }
            }
        }
    }

    /// Takes the last element away.
    pub(crate) fn pop(&mut self, meter: &mut Meter) -> Result<Option<T>, Fault> {
        let last = self.tail.0.pop();
        if last.is_some() {
            self.len = self.len.saturating_sub(1);
        }
        if self.tail.0.is_empty() && self.len > 0 {
            self.pop_leaf(meter)?;
        }
        Ok(last)
    }

    /// Makes the trie's last chunk the tail.
    fn pop_leaf(&mut self, meter: &mut Meter) -> Result<(), Fault> {
        meter.allocate(WIDTH.saturating_mul(size_of::<T>()))?;
        let Some(mut root) = self.root.take() else { return Ok(()) };
        let at = self.len.saturating_sub(1);
        let mut shift = self.shift;
        let mut node = &mut root;
        // The last chunk is alone below the highest branch at which all lower bits of its index are 0.
        loop {
            if shift == 0 {
                self.tail = Self::to_chunk(root);
                self.shift = 0;
                return Ok(());
            }
            let index = (at >> shift) & MASK;
            let below = (at >> BITS) & (1_usize.checked_shl(shift.saturating_sub(BITS)).unwrap_or(0).wrapping_sub(1));
            let Node::Branch(children) = Node::make_mut(node, meter)? else { return Ok(()) };
            if below == 0 {
                let last = children.pop();
                self.tail = last.map_or_else(|| Chunk(Vec::new()), Self::to_chunk);
                break;
            }
            let Some(child) = children.get_mut(index) else { return Ok(()) };
            node = child;
            shift = shift.saturating_sub(BITS);
        }
        self.root = Some(root);
        self.lower_root();
        Ok(())
    }

    /// Takes away roots that hold one branch only.
    fn lower_root(&mut self) {
        while let Some(Node::Branch(children)) = self.root.as_deref() {
            let [only] = children.as_slice() else { break };
            let only = Arc::clone(only);
            self.root = Some(only);
            self.shift = self.shift.saturating_sub(BITS);
        }
    }

    /// The chunk at the end of a path without branches.
    fn to_chunk(mut node: Arc<Node<T>>) -> Chunk<T> {
        loop {
            match Arc::unwrap_or_clone(node) {
                Node::Leaf(chunk) => return chunk,
                Node::Branch(mut children) => match children.pop() {
                    Some(last) => node = last,
                    None => return Chunk(Vec::new()),
                },
            }
        }
    }

    /// The element at the index is moved out of every chunk that nobody else holds.
    pub(crate) fn move_values(mut self, open: &mut Vec<Value>) {
        for element in self.tail.take() {
            element.move_values(open);
        }
        let mut nodes: Vec<Arc<Node<T>>> = self.root.take().into_iter().collect();
        while let Some(node) = nodes.pop() {
            match Arc::into_inner(node) {
                None => {}
                Some(Node::Branch(children)) => nodes.extend(children),
                Some(Node::Leaf(mut chunk)) => {
                    for element in chunk.take() {
                        element.move_values(open);
                    }
                }
            }
        }
    }

    /// Calls `visit` for each chunk that isn't counted yet; for counting what is alive.
    pub(crate) fn visit_chunks<'a>(
        &'a self,
        is_counted: &mut dyn FnMut(usize) -> bool,
        visit: &mut dyn FnMut(&'a [T]),
    ) {
        visit(&self.tail.0);
        let mut nodes: Vec<&'a Arc<Node<T>>> = self.root.iter().collect();
        while let Some(node) = nodes.pop() {
            if Arc::strong_count(node) > 1 && is_counted(Arc::as_ptr(node).addr()) {
                continue;
            }
            match &**node {
                Node::Branch(children) => nodes.extend(children),
                Node::Leaf(chunk) => visit(&chunk.0),
            }
        }
    }
}

/// A leaf below as many branches as `shift` asks for.
fn path_to<T: Element>(leaf: Arc<Node<T>>, mut shift: u32) -> Arc<Node<T>> {
    let mut node = leaf;
    while shift > 0 {
        node = Arc::new(Node::Branch(vec![node]));
        shift = shift.saturating_sub(BITS);
    }
    node
}

/// The elements of a [`Trie`] in order.
#[derive(Debug, Clone)]
pub(crate) struct TrieIter<'a, T: Element> {
    trie: &'a Trie<T>,
    index: usize,
    chunk: &'a [T],
}

impl<'a, T: Element> Iterator for TrieIter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        if self.chunk.is_empty() {
            self.chunk = self.trie.chunk_at(self.index)?.get(self.index & MASK..)?;
        }
        let (first, rest) = self.chunk.split_first()?;
        self.chunk = rest;
        self.index = self.index.saturating_add(1);
        Some(first)
    }
}
