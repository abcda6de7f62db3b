//! A set of words that is made in one pass over them and quick to search from one place of a text.
//!
//! A tree of bytes whose nodes are in the order of the words: the first child of a node is behind it. An automaton of
//! Aho and Corasick would find a word at any place in one pass, but words begin only where a word may begin, and a
//! command line starts far more often than it reads megabytes: thousands of sorted words become a tree in less than a
//! millisecond, an automaton takes 10 to 20.

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
    /// The nodes of one, two and three bytes by those, with open addressing: a power of two of slots, half of them empty.
    starts: Vec<(u32, u32)>,
    /// A bit for the hash of every three bytes that a string begins with, and for every three
    /// bytes that begin with one of two: most places of a text need no other look.
    beginnings: Vec<u64>,
    /// A bit for every string of one byte.
    singles: [u64; 4],
}

/// The beginnings of strings.
#[derive(Debug, Clone, Copy)]
struct TrieNode {
    /// The next beginning of the same length that differs in its last byte alone.
    sibling: u32,
    /// How many strings are before those that are this beginning and no more. Those end where the next node's begin.
    before: u32,
    byte: u8,
    /// Whether the next node is a longer beginning.
    has_child: bool,
}

impl Trie {
    /// The tree of `words`, which are sorted by their bytes, none is empty, and equal ones may follow each other.
    /// `None` if that isn't so, or they are too many.
    pub(super) fn new<'w>(words: impl Iterator<Item = &'w [u8]>) -> Option<Self> {
        let mut trie = Self {
            nodes: Vec::new(),
            len: 0,
            starts: Vec::new(),
            beginnings: vec![0; BEGINNINGS / 64],
            singles: [0; 4],
        };
        let mut starts: Vec<(u32, u32)> = Vec::new();
        // The node of each beginning of the last word. The root is none.
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
                if let Some(start) = word.get(..=depth).and_then(prefix_number) {
                    starts.push((start, node));
                }
            }
            trie.note(word, shared);
            trie.len = trie.len.checked_add(1)?;
            last = word;
        }
        trie.starts = vec![(NONE, NONE); starts.len().saturating_mul(2).next_power_of_two()];
        for (start, node) in starts {
            let slot = trie.slot(start);
            *trie.starts.get_mut(slot)? = (start, node);
        }
        Some(trie)
    }

    /// Notes how a word begins whose first `shared` bytes were noted.
    fn note(&mut self, word: &[u8], shared: usize) {
        match (word, shared) {
            ([byte], 0) => {
                if let Some(bits) = self.singles.get_mut(usize::from(byte / 64)) {
                    *bits |= bit_mask(usize::from(*byte));
                }
            }
            ([first, second], 0 | 1) => (0..=u8::MAX).for_each(|third| self.note_beginning([*first, *second, third])),
            ([first, second, third, ..], 0..=2) => self.note_beginning([*first, *second, *third]),
            _ => {}
        }
    }

    fn note_beginning(&mut self, bytes: [u8; 3]) {
        let bit = prefix_bit(bytes);
        if let Some(word) = self.beginnings.get_mut(bit / 64) {
            *word |= bit_mask(bit);
        }
    }

    /// Calls `f` with the number and the length of every string that `bytes` begins with: the shorter ones first, and of
    /// equal ones the last first.
    #[inline]
    pub(super) fn prefixes(&self, bytes: &[u8], mut f: impl FnMut(u32, usize)) {
        if bytes.first().is_some_and(|first| self.is_single(*first)) {
            self.tell_start(bytes, 1, &mut f);
        }
        if let [first, second, third, ..] = *bytes
            && !self.may_begin([first, second, third])
        {
            return;
        }
        self.tell_start(bytes, 2, &mut f);
        if let Some(node) = self.tell_start(bytes, 3, &mut f)
            && self.node(node).is_some_and(|node| node.has_child)
        {
            self.walk(node.saturating_add(1), bytes.get(3..).unwrap_or_default(), 3, &mut f);
        }
    }

    /// Calls `f` with the strings that are the first `length` bytes, 1 to 3. The node of those.
    fn tell_start(&self, bytes: &[u8], length: usize, f: &mut impl FnMut(u32, usize)) -> Option<u32> {
        let start = prefix_number(bytes.get(..length)?)?;
        let (_, node) = self.starts.get(self.slot(start)).copied().filter(|(found, _)| *found == start)?;
        self.tell(node, length, f);
        Some(node)
    }

    /// The slot of a beginning, or the empty one where it would be: its product with a large odd number leads to it (Knuth,
    /// TAOCP 3, section 6.4). Half of the slots are empty, so the search ends.
    fn slot(&self, start: u32) -> usize {
        let last = self.starts.len().saturating_sub(1);
        let product = u64::from(start).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = usize::try_from(product >> 32).unwrap_or_default() & last;
        while self.starts.get(slot).is_some_and(|(taken, _)| *taken != start && *taken != NONE) {
            slot = slot.saturating_add(1) & last;
        }
        slot
    }

    /// The same from one of the nodes behind the first `length` bytes, the one that is before its siblings.
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
        let bit = prefix_bit(bytes);
        self.beginnings.get(bit / 64).is_some_and(|word| word & bit_mask(bit) != 0)
    }

    fn is_single(&self, byte: u8) -> bool {
        self.singles.get(usize::from(byte / 64)).is_some_and(|bits| bits & bit_mask(usize::from(byte)) != 0)
    }

    fn node(&self, node: u32) -> Option<TrieNode> {
        self.nodes.get(usize::try_from(node).ok()?).copied()
    }

    fn node_mut(&mut self, node: u32) -> Option<&mut TrieNode> {
        self.nodes.get_mut(usize::try_from(node).ok()?)
    }
}

/// The number of one, two or three bytes.
fn prefix_number(bytes: &[u8]) -> Option<u32> {
    match *bytes {
        [first] => Some(u32::from_be_bytes([1, 0, 0, first])),
        [first, second] => Some(u32::from_be_bytes([2, 0, first, second])),
        [first, second, third] => Some(u32::from_be_bytes([3, first, second, third])),
        _ => None,
    }
}

/// The bit of three bytes: the high half of their product with a large odd number (Knuth, TAOCP 3, section 6.4).
fn prefix_bit([first, second, third]: [u8; 3]) -> usize {
    let number = u32::from_be_bytes([0, first, second, third]).wrapping_mul(0x9e37_79b1) >> 16;
    usize::try_from(number).unwrap_or_default()
}

/// A bit within its word of 64.
fn bit_mask(bit: usize) -> u64 {
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
