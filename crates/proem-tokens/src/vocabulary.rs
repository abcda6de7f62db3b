//! The two vocabularies, and what can be asked of them.

use alloc::vec::Vec;

use crate::{
    merge::{Merger, PlacedToken},
    pieces,
    table::{Rank, Table},
};

/// A published vocabulary with its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vocabulary {
    /// `o200k_base`: GPT-4o and later.
    O200k,
    /// `cl100k_base`: GPT-3.5 and GPT-4.
    Cl100k,
}

/// Begins where a node of the tables may begin.
#[repr(align(64))]
struct Aligned<const N: usize>([u8; N]);

static O200K_FILE: &Aligned<{ include_bytes!("../data/o200k.bin").len() }> =
    &Aligned(*include_bytes!("../data/o200k.bin"));
static CL100K_FILE: &Aligned<{ include_bytes!("../data/cl100k.bin").len() }> =
    &Aligned(*include_bytes!("../data/cl100k.bin"));

static O200K: Option<Table<'static>> = Table::read(&O200K_FILE.0);
static CL100K: Option<Table<'static>> = Table::read(&CL100K_FILE.0);

/// Stands in for a table whose sizes don't fit. A test sees to it that both do. The compiler doesn't, so that
/// `lab/oracle`, which writes the tables, can be built while their layout changes.
static NONE: Table<'static> = Table::EMPTY;

impl Vocabulary {
    /// Every vocabulary, the newer first.
    pub const ALL: [Self; 2] = [Self::O200k, Self::Cl100k];

    /// How many tokens a text has.
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        let mut count = 0usize;
        self.visit(text.as_bytes(), |tokens| count = count.saturating_add(tokens.len()));
        count
    }

    /// The tokens of a text by their ranks.
    #[must_use]
    pub fn encode(self, text: &str) -> Vec<Rank> {
        let mut ranks = Vec::new();
        self.visit(text.as_bytes(), |tokens| ranks.extend(tokens.iter().map(|token| token.rank())));
        ranks
    }

    /// The bytes of a token, which need not be whole characters. None if the token is missing.
    #[must_use]
    pub fn bytes(self, rank: Rank) -> Option<Vec<u8>> {
        self.table().bytes(rank)
    }

    /// How many tokens the vocabulary has, special ones aside.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "neither is empty")]
    pub fn len(self) -> usize {
        self.table().tokens()
    }

    fn table(self) -> &'static Table<'static> {
        let table = match self {
            Self::O200k => &O200K,
            Self::Cl100k => &CL100K,
        };
        table.as_ref().unwrap_or(&NONE)
    }

    fn visit(self, text: &[u8], visit: impl FnMut(&[PlacedToken])) {
        match self {
            Self::O200k => encode_pieces(self.table(), text, pieces::end_in_o200k, visit),
            Self::Cl100k => encode_pieces(self.table(), text, pieces::end_in_cl100k, visit),
        }
    }
}

/// Shows the tokens of each piece.
#[inline]
fn encode_pieces(
    table: &Table<'_>,
    text: &[u8],
    piece_end: impl Fn(&[u8], usize) -> usize,
    mut visit: impl FnMut(&[PlacedToken]),
) {
    let mut merger = Merger::new(table);
    let mut start = 0;
    while start < text.len() {
        let end = piece_end(text, start);
        let piece = text.get(start..end).unwrap_or_default();
        let first = table.longest(piece);
        if first.length == piece.len() {
            visit(&[PlacedToken::new(first)]);
        } else {
            visit(merger.encode(piece, first));
        }
        start = end.max(start.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::pack;

    /// The example in OpenAI's cookbook (`How_to_count_tokens_with_tiktoken.ipynb`).
    #[test]
    fn encodings_are_the_published_ones() {
        let check = |text: &str, o200k: &[Rank], cl100k: &[Rank]| {
            assert_eq!(Vocabulary::O200k.encode(text), o200k, "{text:?}");
            assert_eq!(Vocabulary::Cl100k.encode(text), cl100k, "{text:?}");
            assert_eq!(Vocabulary::O200k.count(text), o200k.len(), "{text:?}");
            assert_eq!(Vocabulary::Cl100k.count(text), cl100k.len(), "{text:?}");
        };
        check("", &[], &[]);
        check("hello world", &[24912, 2375], &[15339, 1917]);
        check("tiktoken is great!", &[83, 8251, 2488, 382, 2212, 0], &[83, 1609, 5963, 374, 2294, 0]);
        check(
            "antidisestablishmentarianism",
            &[493, 129_901, 376, 160_388, 21203, 2367],
            &[519, 85342, 34500, 479, 8997, 2191],
        );
        check("2 + 2 = 4", &[17, 659, 220, 17, 314, 220, 19], &[17, 489, 220, 17, 284, 220, 19]);
        check(
            "お誕生日おめでとう",
            &[8930, 9697, 243, 128_225, 8930, 17693, 4344, 48669],
            &[33334, 45918, 243, 21990, 9080, 33334, 62004, 16556, 78699],
        );
    }

    /// Everything in the files follows from the tokens that they hold, so no byte of them is wrong.
    #[test]
    fn both_files_are_what_their_tokens_make() {
        for (vocabulary, file, count) in
            [(Vocabulary::O200k, &O200K_FILE.0[..], 199_998), (Vocabulary::Cl100k, &CL100K_FILE.0[..], 100_256)]
        {
            assert_eq!(vocabulary.len(), count);
            let tokens: Vec<Vec<u8>> = (0..).map_while(|rank| vocabulary.bytes(rank)).collect();
            assert_eq!(tokens.len(), count);
            assert!(pack(&tokens).unwrap() == file, "{vocabulary:?}");
        }
        assert!(O200K_FILE.0.len() + CL100K_FILE.0.len() < 9_000_000);
    }
}
