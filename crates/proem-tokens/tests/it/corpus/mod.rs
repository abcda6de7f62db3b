//! Texts of many kinds, the same ones wherever they are made.
//!
//! The tests of this crate count them and compare with `counts.tsv`, which `lab/oracle` wrote with another tokeniser. A
//! change here means writing the counts anew.

mod code;
mod prose;
mod special;

/// One text of the corpus.
#[derive(Debug)]
pub(crate) struct Text {
    /// The kind of text.
    pub(crate) kind: String,
    /// Its number among those of its kind.
    pub(crate) index: usize,
    /// The text itself.
    pub(crate) text: String,
}

/// How a kind's texts are made.
type Make = Box<dyn Fn(&mut Random) -> String>;

/// All texts, in order.
pub(crate) fn texts() -> impl Iterator<Item = Text> {
    let kinds = prose::prose_kinds().into_iter().chain(code::kinds()).chain(special::special_kinds());
    kinds.flat_map(|(kind, count, make)| {
        (0..count).map(move |index| {
            let mut random = Random::of(&kind, index);
            Text { text: make(&mut random), kind: kind.clone(), index }
        })
    })
}

/// Both vocabularies' ranks as one number: FNV-1a of 64 bits over their bytes.
pub(crate) fn fingerprint(o200k: &[u32], cl100k: &[u32]) -> u64 {
    let ranks = o200k.iter().chain(&[u32::MAX]).chain(cl100k);
    ranks.flat_map(|rank| rank.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, with)
}

fn with(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// SplitMix64 (Steele, Lea and Flood 2014, <https://doi.org/10.1145/2714064.2660195>).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Its own for each text, so that a kind can change without the others.
    pub(crate) fn of(kind: &str, index: usize) -> Self {
        Self(kind.bytes().chain(index.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, with))
    }

    /// A number below a limit that is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % (limit as u64)).unwrap_or(0)
    }

    /// One of some items.
    #[expect(clippy::indexing_slicing, reason = "the place is below the length; a list is not empty")]
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// From `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// A character below a limit of code points. None where a surrogate was met.
    pub(crate) fn character(&mut self, limit: u32) -> Option<char> {
        char::from_u32(u32::try_from(self.below(limit as usize)).unwrap_or(0))
    }
}
