//! Writes a vocabulary as the bytes that [`table`](crate::table) describes.

use alloc::{collections::BTreeMap, vec, vec::Vec};
use core::fmt;

use crate::table::{BYTES, FREE, MAGIC, MAX_NODES, MAX_TOKEN_BYTES, MAX_TOKENS, NO_NODE, NO_TOKEN, PairHash, VERSION};

/// Why a list of tokens is no vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// The first 256 tokens are not the 256 single bytes.
    Bytes,
    /// There are more tokens, or beginnings of tokens, than the layout has room for, or longer ones.
    Size,
    /// The token of this rank is there twice, or is empty.
    Repeated(u32),
    /// Byte pair encoding never makes the token of this rank.
    Unreachable(u32),
    /// The pairs can't be spread over the slots.
    Spread,
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => write!(f, "the first 256 tokens are not the 256 single bytes"),
            Self::Size => {
                write!(f, "at most {MAX_TOKENS} tokens of {MAX_TOKEN_BYTES} bytes with {MAX_NODES} beginnings fit")
            }
            Self::Repeated(rank) => write!(f, "token {rank} is empty, or there twice"),
            Self::Unreachable(rank) => write!(
                f,
                "byte pair encoding never makes token {rank}; the list is no vocabulary, or is in another order"
            ),
            Self::Spread => write!(f, "the pairs can't be spread over the slots; change the hash"),
        }
    }
}

impl core::error::Error for PackError {}

/// Writes a vocabulary. The same tokens give the same bytes.
///
/// # Errors
///
/// [`PackError`] if `tokens`, in the order of their ranks, are no vocabulary of byte pair encoding.
pub fn pack<T: AsRef<[u8]>>(tokens: &[T]) -> Result<Vec<u8>, PackError> {
    let tokens: Vec<&[u8]> = tokens.iter().map(AsRef::as_ref).collect();
    let halves = halves(&tokens)?;
    let nodes = Tree::of(&tokens).place()?;
    let (slots, spreads) = spread(&halves)?;
    let mut file = Vec::from(MAGIC);
    for number in [tokens.len(), nodes.len(), slots.len(), spreads.len()] {
        let number = u32::try_from(number).map_err(|_| PackError::Size)?;
        if file.len() == MAGIC.len() {
            file.extend(VERSION.to_le_bytes());
        }
        file.extend(number.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    file.extend(nodes.into_iter().flat_map(u64::to_le_bytes));
    file.extend(slots.into_iter().flat_map(u32::to_le_bytes));
    file.extend(spreads.into_iter().flat_map(u16::to_le_bytes));
    for (left, right) in halves {
        let both = u64::from(left) | u64::from(right) << 18;
        file.extend(both.to_le_bytes().iter().take(5));
    }
    Ok(file)
}

/// The two tokens that each token is joined from; (0, 0) for single bytes.
fn halves(tokens: &[&[u8]]) -> Result<Vec<(u32, u32)>, PackError> {
    if tokens.len() > MAX_TOKENS as usize {
        return Err(PackError::Size);
    }
    let mut ranks: BTreeMap<&[u8], u32> = BTreeMap::new();
    let mut halves = Vec::with_capacity(tokens.len());
    for (rank, token) in (0u32..).zip(tokens) {
        if token.is_empty() || ranks.insert(token, rank).is_some() {
            return Err(PackError::Repeated(rank));
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(PackError::Size);
        }
        if (token.len() == 1) != (rank < BYTES) {
            return Err(PackError::Bytes);
        }
    }
    if ranks.len() < BYTES as usize {
        return Err(PackError::Bytes);
    }
    for (rank, token) in (0u32..).zip(tokens) {
        let parts = if rank < BYTES { (0, 0) } else { last_two(token, rank, &ranks)? };
        halves.push(parts);
    }
    Ok(halves)
}

/// The last two parts that byte pair encoding merges to make the token, by definition.
fn last_two(token: &[u8], rank: u32, ranks: &BTreeMap<&[u8], u32>) -> Result<(u32, u32), PackError> {
    let unreachable = PackError::Unreachable(rank);
    // The beginnings of parts, and finally the end of the token.
    let mut starts: Vec<usize> = (0..=token.len()).collect();
    let ranked = |start: &usize, end: &usize| token.get(*start..*end).and_then(|bytes| ranks.get(bytes)).copied();
    while starts.len() > 3 {
        let pairs = starts.iter().zip(starts.iter().skip(2)).enumerate();
        let joined = pairs.filter_map(|(place, (start, end))| Some((ranked(start, end)?, place)));
        let Some((_, place)) = joined.filter(|(joined, _)| *joined < rank).min() else { return Err(unreachable) };
        starts.remove(place.saturating_add(1));
    }
    match starts.as_slice() {
        [start, middle, end] => ranked(start, middle)
            .zip(ranked(middle, end))
            // A half that comes later than the whole could not have been made before it.
            .filter(|(left, right)| *left < rank && *right < rank)
            .ok_or(unreachable),
        _ => Err(unreachable),
    }
}

/// The beginnings of all tokens, in the order in which ranks come upon them: common ones are together.
struct Tree {
    nodes: Vec<Node>,
}

struct Node {
    rank: u32,
    children: Vec<(u8, usize)>,
}

impl Tree {
    fn of(tokens: &[&[u8]]) -> Self {
        let mut tree = Self { nodes: vec![Node { rank: NO_TOKEN, children: Vec::new() }] };
        for (rank, token) in (0u32..).zip(tokens) {
            let end = token.iter().fold(0, |node, byte| tree.child(node, *byte));
            if let Some(node) = tree.nodes.get_mut(end) {
                node.rank = rank;
            }
        }
        tree
    }

    fn child(&mut self, parent: usize, byte: u8) -> usize {
        let new = self.nodes.len();
        if let Some(node) = self.nodes.get_mut(parent) {
            if let Some((_, child)) = node.children.iter().find(|(label, _)| *label == byte) {
                return *child;
            }
            node.children.push((byte, new));
        }
        self.nodes.push(Node { rank: NO_TOKEN, children: Vec::new() });
        new
    }

    /// The double array.
    fn place(&self) -> Result<Vec<u64>, PackError> {
        let mut array = Places { words: vec![packed_node(0, NO_NODE, NO_TOKEN)], starts: [1; 257] };
        let mut places = vec![0usize; self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            let Some(parent) = places.get(number).copied() else { continue };
            let labels: Vec<u8> = node.children.iter().map(|(label, _)| *label).collect();
            let base = array.base(&labels);
            if base >= MAX_NODES as usize {
                return Err(PackError::Size);
            }
            if let Some(own) = array.words.get_mut(parent) {
                *own |= base as u64;
            }
            for (label, child) in &node.children {
                let place = base ^ usize::from(*label);
                let rank = self.nodes.get(*child).map_or(NO_TOKEN, |child| child.rank);
                array.take(place, packed_node(0, parent, rank));
                if let Some(own) = places.get_mut(*child) {
                    *own = place;
                }
            }
        }
        let mut words = array.words;
        words.truncate(words.iter().rposition(|word| *word != UNUSED).map_or(0, |last| last.saturating_add(1)));
        if words.len() > MAX_NODES as usize { Err(PackError::Size) } else { Ok(words) }
    }
}

/// A place without a node.
const UNUSED: u64 = u64::MAX;

fn packed_node(base: u64, parent: impl TryInto<u64>, rank: u32) -> u64 {
    let parent = parent.try_into().unwrap_or(u64::from(NO_NODE));
    base | parent << 20 | u64::from(rank) << 40
}

/// The double array as far as it is filled.
struct Places {
    words: Vec<u64>,
    /// The beginning of the search, by the number of children. Fuller places are not searched again.
    starts: [usize; 257],
}

impl Places {
    fn is_free(&self, place: usize) -> bool {
        self.words.get(place).is_none_or(|word| *word == UNUSED)
    }

    fn take(&mut self, place: usize, word: u64) {
        if self.words.len() <= place {
            self.words.resize(place.saturating_add(1), UNUSED);
        }
        if let Some(own) = self.words.get_mut(place) {
            *own = word;
        }
    }

    /// A base from which all labels lead to free places; 0 if there are none.
    fn base(&mut self, labels: &[u8]) -> usize {
        let Some(first) = labels.first() else { return 0 };
        let mut place = self.starts.get(labels.len()).copied().unwrap_or(1);
        loop {
            let base = place ^ usize::from(*first);
            if labels.iter().all(|label| self.is_free(base ^ usize::from(*label))) {
                if let Some(start) = self.starts.get_mut(labels.len()) {
                    *start = place;
                }
                return base;
            }
            place = place.saturating_add(1);
        }
    }
}

/// The slots of all pairs, and what spreads each bucket over them.
fn spread(halves: &[(u32, u32)]) -> Result<(Vec<u32>, Vec<u16>), PackError> {
    let pairs = halves.len().saturating_sub(BYTES as usize);
    let slots = pairs.saturating_add(pairs / 8).next_power_of_two().max(2);
    let buckets = (slots / 8).max(1);
    let mut filled = vec![FREE; slots];
    let mut spreads = vec![0u16; buckets];
    let mut members: Vec<(usize, Vec<(PairHash, u32)>)> = (0..buckets).map(|bucket| (bucket, Vec::new())).collect();
    for (rank, (left, right)) in (0u32..).zip(halves).skip(BYTES as usize) {
        let hash = PairHash::of(*left, *right);
        if let Some((_, bucket)) = members.get_mut(hash.bucket(buckets)) {
            bucket.push((hash, rank));
        }
    }
    // Full buckets first, while there is room.
    members.sort_by_key(|(bucket, members)| (usize::MAX.saturating_sub(members.len()), *bucket));
    for (bucket, members) in members {
        let mut taken: Vec<usize> = Vec::new();
        let spread = (0..=u16::MAX).find(|spread| {
            taken.clear();
            members.iter().all(|(hash, _)| {
                let slot = hash.slot(*spread, slots);
                let is_free = filled.get(slot) == Some(&FREE) && !taken.contains(&slot);
                taken.push(slot);
                is_free
            })
        });
        let spread = spread.ok_or(PackError::Spread)?;
        for ((hash, rank), slot) in members.iter().zip(&taken) {
            if let Some(filled) = filled.get_mut(*slot) {
                *filled = hash.check() << 18 | rank;
            }
        }
        if let Some(own) = spreads.get_mut(bucket) {
            *own = spread;
        }
    }
    Ok((filled, spreads))
}
