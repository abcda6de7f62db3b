//! A set of words that is made in one pass over them and quick to search from one place of a text.
//!
//! A tree of bytes whose nodes lie in the order of the words: the first child of a node lies behind it. An automaton of Aho
//! and Corasick would find a word at any place in one pass, but words begin only where a word may begin, and a command line
//! starts far more often than it reads megabytes: thousands of sorted words become a tree in a fraction of a millisecond,
//! an automaton takes a hundred times that.

use alloc::{vec, vec::Vec};

/// No node.
const NONE: u32 = u32::MAX;

/// How many bits tell beginnings apart.
const BEGINNINGS: usize = 1 << 16;

/// A sorted list of byte strings as a tree.
#[derive(Debug, Clone)]
pub(super) struct Trie {
    nodes: Vec<TrieNode>,
    /// How many strings there are.
    len: u32,
    /// The node of every two bytes that a string begins with; 0 is none.
    pairs: Vec<u32>,
    /// A bit for the hash of every three bytes that a string begins with, and for every three
    /// bytes that begin with one of two: most places of a text need no other look.
    beginnings: Vec<u64>,
    /// A bit for every string of one byte.
    singles: [u64; 4],
}

/// What strings begin with.
#[derive(Debug, Clone, Copy)]
struct TrieNode {
    /// The next beginning of the same length that differs in its last byte alone.
    sibling: u32,
    /// How many strings stand before those that are this beginning and no more; those end where the next node's begin.
    before: u32,
    byte: u8,
    /// Whether the next node is a longer beginning.
    has_child: bool,
}

impl Trie {
    /// The tree of `words`, which are sorted by their bytes, none is empty, and equal ones may follow each other; `None` if
    /// that isn't so, or they are too many.
    pub(super) fn new<'w>(words: impl Iterator<Item = &'w [u8]>) -> Option<Self> {
        let mut trie = Self {
            nodes: Vec::new(),
            len: 0,
            pairs: vec![0; BEGINNINGS],
            beginnings: vec![0; BEGINNINGS / 64],
            singles: [0; 4],
        };
        // The node of each beginning of the last word; the root is none.
        let mut path: Vec<u32> = Vec::new();
        let mut last: &[u8] = &[];
        for word in words {
            let shared = word.iter().zip(last).take_while(|(left, right)| left == right).count();
            if word.is_empty() || word < last {
                return None;
            }
            for (byte, depth) in word.iter().zip(0usize..).skip(shared) {
                let node = u32::try_from(trie.nodes.len()).ok().filter(|node| *node != NONE)?;
                match path.get(depth) {
                    Some(sibling) => trie.node_mut(*sibling)?.sibling = node,
                    None => {
                        if let Some(parent) = path.last() {
                            trie.node_mut(*parent)?.has_child = true;
                        }
                    }
                }
                path.truncate(depth);
                path.push(node);
                trie.nodes.push(TrieNode { sibling: NONE, before: trie.len, byte: *byte, has_child: false });
            }
            trie.note(word, shared, &path);
            trie.len = trie.len.checked_add(1)?;
            last = word;
        }
        Some(trie)
    }

    /// Notes how a word begins whose first `shared` bytes were noted.
    fn note(&mut self, word: &[u8], shared: usize, path: &[u32]) {
        if let ([byte], 0) = (word, shared)
            && let Some(bits) = self.singles.get_mut(usize::from(byte / 64))
        {
            *bits |= mask(usize::from(*byte));
        }
        if shared < 2
            && let ([first, second, ..], Some(node)) = (word, path.get(1))
            && let Some(pair) = self.pairs.get_mut(pair(*first, *second))
        {
            *pair = *node;
        }
        match (word, shared) {
            ([first, second], 0 | 1) => (0..=u8::MAX).for_each(|third| self.note_beginning([*first, *second, third])),
            ([first, second, third, ..], 0..=2) => self.note_beginning([*first, *second, *third]),
            _ => {}
        }
    }

    fn note_beginning(&mut self, bytes: [u8; 3]) {
        let bit = beginning(bytes);
        if let Some(word) = self.beginnings.get_mut(bit / 64) {
            *word |= mask(bit);
        }
    }

    /// Calls `f` with the number and the length of every string that `bytes` begins with: the shorter ones first, and of
    /// equal ones the last first.
    #[inline]
    pub(super) fn prefixes(&self, bytes: &[u8], mut f: impl FnMut(u32, usize)) {
        let [first, second, rest @ ..] = bytes else {
            if let [first] = bytes {
                self.walk(0, &[*first], 0, &mut f);
            }
            return;
        };
        if self.is_single(*first) {
            self.walk(0, &[*first], 0, &mut f);
        }
        if let Some(third) = rest.first()
            && !self.may_begin([*first, *second, *third])
        {
            return;
        }
        let node = self.pairs.get(pair(*first, *second)).copied().filter(|node| *node != 0);
        let Some(node) = node else { return };
        self.tell(node, 2, &mut f);
        if self.node(node).is_some_and(|node| node.has_child) {
            self.walk(node.saturating_add(1), rest, 2, &mut f);
        }
    }

    /// The same from one of the nodes behind the first `length` bytes, the one that lies before its siblings.
    fn walk(&self, mut node: u32, bytes: &[u8], length: usize, f: &mut impl FnMut(u32, usize)) {
        for (byte, length) in bytes.iter().zip(length.saturating_add(1)..) {
            let found = loop {
                let Some(known) = self.node(node) else { return };
                if known.byte == *byte {
                    break known;
                }
                node = known.sibling;
            };
            self.tell(node, length, f);
            if !found.has_child {
                return;
            }
            node = node.saturating_add(1);
        }
    }

    /// Calls `f` with the strings that end at a node.
    fn tell(&self, node: u32, length: usize, f: &mut impl FnMut(u32, usize)) {
        let Some(start) = self.node(node).map(|node| node.before) else { return };
        let end = self.node(node.saturating_add(1)).map_or(self.len, |next| next.before);
        (start..end).rev().for_each(|entry| f(entry, length));
    }

    /// Whether a string may begin with these.
    fn may_begin(&self, bytes: [u8; 3]) -> bool {
        let bit = beginning(bytes);
        self.beginnings.get(bit / 64).is_some_and(|word| word & mask(bit) != 0)
    }

    fn is_single(&self, byte: u8) -> bool {
        self.singles.get(usize::from(byte / 64)).is_some_and(|bits| bits & mask(usize::from(byte)) != 0)
    }

    fn node(&self, node: u32) -> Option<TrieNode> {
        self.nodes.get(usize::try_from(node).ok()?).copied()
    }

    fn node_mut(&mut self, node: u32) -> Option<&mut TrieNode> {
        self.nodes.get_mut(usize::try_from(node).ok()?)
    }
}

/// The place of two bytes.
fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}

/// The bit of three bytes: the high half of their product with a large odd number (Knuth, TAOCP 3, section 6.4).
fn beginning([first, second, third]: [u8; 3]) -> usize {
    let number = u32::from_be_bytes([0, first, second, third]).wrapping_mul(0x9e37_79b1) >> 16;
    usize::try_from(number).unwrap_or_default()
}

/// A bit within its word of 64.
fn mask(bit: usize) -> u64 {
    1u64.rotate_left(u32::try_from(bit % 64).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use proptest::prelude::*;

    fn found(words: &[&str], text: &str) -> Vec<(u32, usize)> {
        let trie = Trie::new(words.iter().map(|word| word.as_bytes())).unwrap();
        let mut found = Vec::new();
        trie.prefixes(text.as_bytes(), |entry, len| found.push((entry, len)));
        found
    }

    #[test]
    fn finds_every_word_that_the_text_begins_with() {
        let words = ["d", "do", "do", "do not", "dog", "x"];
        assert_eq!(found(&words, "do nothing"), [(0, 1), (2, 2), (1, 2), (3, 6)]);
        assert_eq!(found(&words, "do"), [(0, 1), (2, 2), (1, 2)]);
        assert_eq!(found(&words, "x"), [(5, 1)]);
        assert_eq!(found(&words, "a dog"), []);
        assert_eq!(found(&words, ""), []);
        assert_eq!(found(&[], "do"), []);
    }

    #[test]
    fn what_is_not_sorted_or_empty_is_refused() {
        for words in [["b", "a"], ["", "a"], ["ab", "a"]] {
            assert!(Trie::new(words.iter().map(|word| word.as_bytes())).is_none(), "{words:?}");
        }
    }

    proptest! {
        #[test]
        fn is_a_list_of_strings(
            mut words in prop::collection::vec("[ab\u{1f600}]{1,6}", 0..40),
            text in "[ab\u{1f600}]{0,12}",
        ) {
            words.sort_unstable();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut expected: Vec<(u32, usize)> = (0u32..)
                .zip(&words)
                .filter(|(_, word)| text.starts_with(**word))
                .map(|(entry, word)| (entry, word.len()))
                .collect();
            expected.sort_by_key(|(entry, length)| (*length, core::cmp::Reverse(*entry)));
            prop_assert_eq!(found(&words, &text), expected);
        }
    }
}
