//! A set of words that is quick to build and quick to search from one place of a text.
//!
//! A tree of bytes whose edges lie in one hash table with open addressing. An automaton of Aho and
//! Corasick would find a word at any place in one pass, but words begin only where a word may
//! begin, and a command line starts far more often than it reads megabytes: thousands of words
//! become a tree in a millisecond or two, an automaton takes ten times that.

use alloc::{vec, vec::Vec};
use core::mem;

/// No node, and no entry.
const NONE: u32 = u32::MAX;

/// The most nodes; their numbers fit into three bytes, so that an edge's key fits into four.
const MAX_NODES: usize = 1 << 24;

/// How many bits tell beginnings apart.
const BEGINNINGS: usize = 1 << 16;

/// A set of byte strings, each with a number.
#[derive(Debug, Clone)]
pub(super) struct Trie {
    /// Edges as key and child; a power of two of slots, at least a third of them empty.
    edges: Vec<(u32, u32)>,
    /// How many slots are taken.
    len: usize,
    /// The first entry of each node.
    heads: Vec<u32>,
    /// The next entry of the same node, by entry.
    tails: Vec<u32>,
    /// A bit for the hash of every three bytes that a string begins with, and for every three
    /// bytes that begin with a shorter one: most places of a text need no other look.
    beginnings: Vec<u64>,
}

impl Trie {
    /// An empty set with room for about `nodes` different beginnings of strings; it grows when needed.
    pub(super) fn with_capacity(nodes: usize) -> Self {
        let slots = nodes.saturating_mul(2).max(16).next_power_of_two();
        let mut heads = Vec::with_capacity(nodes);
        heads.push(NONE);
        Self {
            edges: vec![(NONE, NONE); slots],
            len: 0,
            heads,
            tails: Vec::new(),
            beginnings: vec![0; BEGINNINGS / 64],
        }
    }

    /// Adds a string; its number is how many there were before. `None` if there is no more room.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Option<u32> {
        self.note(bytes);
        let mut node = 0u32;
        for byte in bytes {
            node = self.child_or_new(node, *byte)?;
        }
        let entry = u32::try_from(self.tails.len()).ok()?;
        let head = self.heads.get_mut(usize::try_from(node).ok()?)?;
        self.tails.push(*head);
        *head = entry;
        Some(entry)
    }

    fn note(&mut self, bytes: &[u8]) {
        match *bytes {
            [] => {}
            [first] => (0..=u8::MAX).for_each(|second| self.note(&[first, second])),
            [first, second] => (0..=u8::MAX).for_each(|third| self.note(&[first, second, third])),
            [first, second, third, ..] => {
                let bit = beginning([first, second, third]);
                if let Some(word) = self.beginnings.get_mut(bit / 64) {
                    *word |= mask(bit);
                }
            }
        }
    }

    /// Whether a string may begin like `bytes`.
    #[inline]
    fn may_begin(&self, bytes: &[u8]) -> bool {
        let [first, second, third, ..] = *bytes else { return true };
        let bit = beginning([first, second, third]);
        self.beginnings.get(bit / 64).is_some_and(|word| word & mask(bit) != 0)
    }

    fn child_or_new(&mut self, node: u32, byte: u8) -> Option<u32> {
        if let Some(child) = self.child(node, byte) {
            return Some(child);
        }
        if self.heads.len() >= MAX_NODES {
            return None;
        }
        let room = self.edges.len().checked_div(3)?.saturating_mul(2);
        if self.len >= room {
            let twice = vec![(NONE, NONE); self.edges.len().saturating_mul(2)];
            for (key, child) in mem::replace(&mut self.edges, twice).into_iter().filter(|(key, _)| *key != NONE) {
                self.insert(key, child);
            }
        }
        let child = u32::try_from(self.heads.len()).ok()?;
        self.insert(key(node, byte), child);
        self.len = self.len.saturating_add(1);
        self.heads.push(NONE);
        Some(child)
    }

    fn insert(&mut self, key: u32, child: u32) {
        let mut slot = self.slot(key);
        while self.edges.get(slot).is_some_and(|(taken, _)| *taken != NONE) {
            slot = self.after(slot);
        }
        if let Some(edge) = self.edges.get_mut(slot) {
            *edge = (key, child);
        }
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let key = key(node, byte);
        let mut slot = self.slot(key);
        // A third of the slots is empty, so the search ends.
        loop {
            let (found, child) = self.edges.get(slot).copied()?;
            if found == key {
                return Some(child);
            }
            if found == NONE {
                return None;
            }
            slot = self.after(slot);
        }
    }

    /// Calls `f` with the number and the length of every string that `bytes` begins with.
    #[inline]
    pub(super) fn prefixes(&self, bytes: &[u8], mut f: impl FnMut(u32, usize)) {
        if !self.may_begin(bytes) {
            return;
        }
        let mut node = 0u32;
        for (byte, len) in bytes.iter().zip(1usize..) {
            let Some(child) = self.child(node, *byte) else { return };
            node = child;
            let mut entry = at(&self.heads, node);
            while entry != NONE {
                f(entry, len);
                entry = at(&self.tails, entry);
            }
        }
    }

    /// The slot of a key: the high bits of its product with a large odd number (Knuth, TAOCP 3,
    /// section 6.4).
    fn slot(&self, key: u32) -> usize {
        let product = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        usize::try_from(product >> 32).unwrap_or_default() & self.edges.len().saturating_sub(1)
    }

    const fn after(&self, slot: usize) -> usize {
        slot.saturating_add(1) & self.edges.len().saturating_sub(1)
    }
}

/// The bit of three bytes.
fn beginning([first, second, third]: [u8; 3]) -> usize {
    let number = u32::from_be_bytes([0, first, second, third]).wrapping_mul(0x9e37_79b1) >> 16;
    usize::try_from(number).unwrap_or_default()
}

fn mask(bit: usize) -> u64 {
    1u64.rotate_left(u32::try_from(bit % 64).unwrap_or_default())
}

fn at(list: &[u32], index: u32) -> u32 {
    usize::try_from(index).ok().and_then(|index| list.get(index)).copied().unwrap_or(NONE)
}

fn key(node: u32, byte: u8) -> u32 {
    (node.rotate_left(8) & !0xff) | u32::from(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(words: &[&str], text: &str) -> Vec<(u32, usize)> {
        let mut trie = Trie::with_capacity(1);
        for word in words {
            trie.add(word.as_bytes()).unwrap();
        }
        let mut found = Vec::new();
        trie.prefixes(text.as_bytes(), |entry, len| found.push((entry, len)));
        found
    }

    #[test]
    fn finds_every_word_that_the_text_begins_with() {
        let words = ["do", "do not", "dog", "d", "do"];
        assert_eq!(found(&words, "do nothing"), [(3, 1), (4, 2), (0, 2), (1, 6)]);
        assert_eq!(found(&words, "a dog"), []);
        assert_eq!(found(&words, ""), []);
        assert_eq!(found(&[], "do"), []);
    }

    proptest! {
        #[test]
        fn is_a_set_of_strings(words in prop::collection::vec("[ab\u{1f600}]{1,6}", 0..40), text in "[ab\u{1f600}]{0,12}") {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut found = found(&words, &text);
            found.sort_unstable();
            let expected: Vec<(u32, usize)> = words
                .iter()
                .zip(0u32..)
                .filter(|(word, _)| text.starts_with(*word))
                .map(|(word, entry)| (entry, word.len()))
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
