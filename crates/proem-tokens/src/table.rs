//! A vocabulary as bytes that are looked up where they are.
//!
//! All numbers are little-endian. Sections follow each other without gaps.
//!
//! | at | size | what |
//! |---|---|---|
//! | 0 | 8 | `PROEMTOK` |
//! | 8 | 4 | version of this layout, 1 |
//! | 12 | 4 | tokens, at most 2¹⁸ − 1; a token's place among them is its rank |
//! | 16 | 4 | nodes, at most 2²⁰ − 1 |
//! | 20 | 4 | slots, a power of two |
//! | 24 | 4 | buckets, a power of two |
//! | 28 | 4 | 0 |
//! | 32 | 8 × nodes | the tree of all tokens' beginnings |
//! | | 4 × slots | which two tokens make a third |
//! | | 2 × buckets | what spreads the pairs of one bucket over the slots |
//! | | 5 × tokens | the two halves of each token |
//!
//! **The tree** is a double array (Aoe 1989, <https://doi.org/10.1109/32.31365>): the child of a node
//! by a byte is the node at the exclusive or of the node's base and the byte, if that one names the
//! node as its parent. A node is its base in bits 0 to 19, its parent in bits 20 to 39 and the rank
//! of the token that ends there in bits 40 to 57, all ones if none does. Node 0 is the root.
//!
//! **Halves** are the two tokens that byte pair encoding joins last when it makes this one: the left
//! one in bits 0 to 17, the right one in bits 18 to 35. The first 256 ranks are single bytes and have none.
//!
//! **Slots** lead from the halves to the token. A slot is the rank in bits 0 to 17 and a part of the
//! pair's hash in bits 18 to 31, all ones if it is free. Each pair has one slot, by a perfect hash
//! (Belazzougui, Botelho and Dietzfelbinger 2009, <https://doi.org/10.1007/978-3-642-04128-0_61>): the
//! numbers are in `PairHash`.

use alloc::{vec, vec::Vec};

/// A token's number: the order in which byte pair encoding joins.
pub type Rank = u32;

/// The beginning of the file.
pub const MAGIC: [u8; 8] = *b"PROEMTOK";
/// The version of this layout.
pub const VERSION: u32 = 1;
/// The single bytes, which are the first ranks.
pub const BYTES: u32 = 256;
/// The longest token in bytes.
pub const MAX_TOKEN_BYTES: usize = 128;

/// The most tokens: ranks have 18 bits, and all ones are none.
pub(crate) const MAX_TOKENS: u32 = (1 << 18) - 1;
/// The most nodes: places have 20 bits, and all ones are none.
pub(crate) const MAX_NODES: u32 = (1 << 20) - 1;
/// Neither a token nor a node.
pub(crate) const NO_TOKEN: u32 = MAX_TOKENS;
pub(crate) const NO_NODE: u32 = MAX_NODES;
/// A slot without a pair.
pub(crate) const FREE: u32 = u32::MAX;

/// A vocabulary's sections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    nodes: &'a [[u8; 8]],
    slots: &'a [[u8; 4]],
    spreads: &'a [[u8; 2]],
    halves: &'a [[u8; 5]],
}

/// A token that is at the beginning of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) rank: Rank,
    /// In bytes; 0 is no token.
    pub(crate) length: usize,
    /// Its end in the tree.
    node: u32,
}

impl Token {
    /// No token.
    pub(crate) const NONE: Self = Self { rank: NO_TOKEN, length: 0, node: 0 };
}

impl<'a> Table<'a> {
    /// Takes the sections apart. None if sizes don't fit. Their contents are not looked at.
    pub(crate) const fn read(bytes: &'a [u8]) -> Option<Self> {
        let Some((header, rest)) = bytes.split_at_checked(32) else { return None };
        let ([magic, words @ ..], _) = header.as_chunks::<4>() else { return None };
        let [second, version, tokens, nodes, slots, buckets, reserved] = words else { return None };
        let begins = u32::from_le_bytes(*magic) == u32::from_le_bytes(*b"PROE")
            && u32::from_le_bytes(*second) == u32::from_le_bytes(*b"MTOK")
            && u32::from_le_bytes(*version) == VERSION
            && u32::from_le_bytes(*reserved) == 0;
        let (tokens, nodes) = (u32::from_le_bytes(*tokens), u32::from_le_bytes(*nodes));
        let (slots, buckets) = (u32::from_le_bytes(*slots), u32::from_le_bytes(*buckets));
        let powers = slots.is_power_of_two() && buckets.is_power_of_two() && slots > 1;
        if !begins || !powers || tokens < BYTES || tokens > MAX_TOKENS || nodes > MAX_NODES {
            return None;
        }
        let Some((nodes, rest)) = take_items(rest, nodes, 8) else { return None };
        let Some((slots, rest)) = take_items(rest, slots, 4) else { return None };
        let Some((spreads, rest)) = take_items(rest, buckets, 2) else { return None };
        let Some((halves, [])) = take_items(rest, tokens, 5) else { return None };
        Some(Self {
            nodes: nodes.as_chunks().0,
            slots: slots.as_chunks().0,
            spreads: spreads.as_chunks().0,
            halves: halves.as_chunks().0,
        })
    }

    /// A table of nothing.
    pub(crate) const EMPTY: Self = Self { nodes: &[], slots: &[], spreads: &[], halves: &[] };

    /// The bytes of a token.
    pub(crate) fn bytes(&self, rank: u32) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut open = vec![rank];
        while let Some(rank) = open.pop() {
            self.halves.get(rank as usize)?;
            match self.halves(rank) {
                Some((left, right)) => open.extend([right, left]),
                None => bytes.push(self.single(rank)?),
            }
        }
        Some(bytes)
    }

    /// The byte that is this token.
    fn single(&self, rank: u32) -> Option<u8> {
        (0..=u8::MAX).find(|byte| self.longest(&[*byte]).rank == rank)
    }

    /// How many tokens there are.
    pub(crate) const fn tokens(&self) -> usize {
        self.halves.len()
    }

    /// The longest token that `bytes` begin with. Its length is 0 if there are no bytes.
    #[inline]
    pub(crate) fn longest(&self, bytes: &[u8]) -> Token {
        let mut longest = Token::NONE;
        let (mut parent, mut base) = (0, self.node(0) & NODE_BITS);
        for (before, byte) in bytes.iter().enumerate() {
            let place = base ^ u64::from(*byte);
            let node = self.node(place);
            if (node >> 20) & NODE_BITS != parent {
                break;
            }
            let rank = rank_of(node);
            if rank != NO_TOKEN {
                #[expect(clippy::cast_possible_truncation, reason = "places have 20 bits")]
                let node = place as u32;
                longest = Token { rank, length: before.saturating_add(1), node };
            }
            (parent, base) = (place, node & NODE_BITS);
        }
        longest
    }

    /// The longest token that is shorter than this one and that its bytes begin with.
    #[inline]
    pub(crate) fn shorter(&self, token: Token) -> Token {
        let (mut place, mut length) = (u64::from(token.node), token.length);
        while length > 1 {
            length = length.saturating_sub(1);
            place = (self.node(place) >> 20) & NODE_BITS;
            let rank = rank_of(self.node(place));
            if rank != NO_TOKEN {
                #[expect(clippy::cast_possible_truncation, reason = "places have 20 bits")]
                let node = place as u32;
                return Token { rank, length, node };
            }
        }
        Token::NONE
    }

    /// The token that two tokens are joined to, if byte pair encoding joins them.
    #[inline]
    pub(crate) fn joined(&self, left: u32, right: u32) -> Option<u32> {
        let hash = PairHash::of(left, right);
        let spread = u16::from_le_bytes(*self.spreads.get(hash.bucket(self.spreads.len()))?);
        let slot = u32::from_le_bytes(*self.slots.get(hash.slot(spread, self.slots.len()))?);
        if slot >> 18 != hash.check() {
            return None;
        }
        let rank = slot & MAX_TOKENS;
        (self.halves(rank)? == (left, right)).then_some(rank)
    }

    /// The two halves of a token. None of a single byte.
    #[inline]
    pub(crate) fn halves(&self, rank: u32) -> Option<(u32, u32)> {
        if rank < BYTES {
            return None;
        }
        let [a, b, c, d, e] = *self.halves.get(rank as usize)?;
        let low = u32::from_le_bytes([a, b, c, d]);
        Some((low & MAX_TOKENS, low >> 18 | u32::from(e) << 14))
    }

    #[inline(always)]
    fn node(&self, place: u64) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "places have 20 bits")]
        let place = place as usize;
        self.nodes.get(place).map_or(u64::MAX, |node| u64::from_le_bytes(*node))
    }
}

const NODE_BITS: u64 = MAX_NODES as u64;

/// The rank in a node's word.
const fn rank_of(node: u64) -> u32 {
    (node >> 40) as u32 & MAX_TOKENS
}

/// So many items of `size` bytes each, and what follows them.
const fn take_items(bytes: &[u8], count: u32, size: usize) -> Option<(&[u8], &[u8])> {
    match (count as usize).checked_mul(size) {
        Some(length) => bytes.split_at_checked(length),
        None => None,
    }
}

/// The hash of two ranks.
///
/// Both numbers side by side, 18 bits each, are multiplied by an odd constant and folded twice, as
/// in the finaliser of MurmurHash3 (Appleby, <https://github.com/aappleby/smhasher>). The lowest bits
/// are the bucket, the highest 14 the check. The slot is the top of the hash with the bucket's
/// spread in it, multiplied once more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairHash(u64);

impl PairHash {
    /// Of a left and a right half.
    #[inline]
    pub(crate) const fn of(left: u32, right: u32) -> Self {
        let mut hash = ((left as u64) << 18 | right as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        Self(hash ^ hash >> 33)
    }

    /// The bucket that it is in, of so many, a power of two.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits are wanted")]
    pub(crate) const fn bucket(self, buckets: usize) -> usize {
        self.0 as usize & buckets.wrapping_sub(1)
    }

    /// The slot that it has, of so many, a power of two and at least two.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "no more bits are left than slots have")]
    pub(crate) const fn slot(self, spread: u16, slots: usize) -> usize {
        let spread = (spread as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let hash = (self.0 ^ spread).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        (hash >> 64u32.wrapping_sub(slots.trailing_zeros())) as usize
    }

    /// The check in the slot beside the rank.
    #[inline]
    pub(crate) const fn check(self) -> u32 {
        (self.0 >> 50) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{PackError, pack};

    /// Single bytes, and what follows them.
    fn token_bytes(more: &[&str]) -> Vec<Vec<u8>> {
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        bytes.chain(more.iter().map(|token| token.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_small_vocabulary_is_read_where_it_lies() {
        let file = pack(&token_bytes(&["ab", "abc", "zab"])).unwrap();
        let table = Table::read(&file).unwrap();
        assert_eq!(table.tokens(), 259);
        let longest = table.longest(b"abcd");
        assert_eq!((longest.rank, longest.length), (257, 3));
        let shorter = table.shorter(longest);
        assert_eq!((shorter.rank, shorter.length), (256, 2));
        let shortest = table.shorter(shorter);
        assert_eq!((shortest.rank, shortest.length), (u32::from(b'a'), 1));
        assert_eq!(table.shorter(shortest), Token::NONE);
        assert_eq!(table.longest(b""), Token::NONE);
        assert_eq!(table.joined(u32::from(b'a'), u32::from(b'b')), Some(256));
        assert_eq!(table.joined(256, u32::from(b'c')), Some(257));
        assert_eq!(table.joined(u32::from(b'z'), 256), Some(258));
        assert_eq!(table.joined(u32::from(b'a'), u32::from(b'c')), None);
        assert_eq!(table.bytes(258).as_deref(), Some(b"zab".as_slice()));
        assert_eq!(table.bytes(259), None);
    }

    #[test]
    fn a_file_of_another_size_or_layout_is_refused() {
        let file = pack(&token_bytes(&["ab"])).unwrap();
        for end in 0..file.len() {
            assert!(Table::read(&file[..end]).is_none(), "{end}");
        }
        assert!(Table::read(&[file.as_slice(), &[0]].concat()).is_none());
        for place in 0..32 {
            let mut changed = file.clone();
            changed[place] ^= 0x81;
            assert!(Table::read(&changed).is_none(), "{place}");
        }
    }

    #[test]
    fn what_is_no_vocabulary_is_refused() {
        let check = |tokens: &[Vec<u8>], expected| assert_eq!(pack(tokens).unwrap_err(), expected);
        check(&token_bytes(&["ab", "ab"]), PackError::Repeated(257));
        check(&token_bytes(&[""]), PackError::Repeated(256));
        check(&token_bytes(&["abc"]), PackError::Unreachable(256));
        // `ab` is made first, and then nothing makes `bc`.
        check(&token_bytes(&["ab", "bc", "abcbc", "bcbc"]), PackError::Unreachable(258));
        check(&token_bytes(&["ab"])[1..], PackError::Bytes);
        check(&token_bytes(&[&"a".repeat(129)]), PackError::Size);
        assert_eq!(
            PackError::Unreachable(256).to_string(),
            "byte pair encoding never makes token 256; the list is no vocabulary, or is in another order"
        );
    }
}
