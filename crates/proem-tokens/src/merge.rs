//! Byte pair encoding of one piece.
//!
//! The definition: begin with single bytes and join, again and again, the two neighbours whose
//! joined bytes have the lowest rank, the leftmost ones of equal rank, until no two make a token.
//!
//! The result is found without doing that. Tokens side by side are the encoding of their bytes exactly if every two
//! neighbours are the encoding of theirs, so it is enough to go from left to right, to take the longest token that
//! doesn't merge with the one before it ([`stay_apart`]), and to take a shorter one, or one step back, where nothing
//! fits. The beginning of a piece has one encoding only. So a place that was given up is never worth another visit, and
//! the work grows with the length, whatever the bytes are. The idea is that of GitHub's crate `bpe`
//! (<https://github.blog/ai-and-ml/llms/so-many-tokens-so-little-time-introducing-a-faster-more-flexible-byte-pair-tokenizer/>).

use alloc::vec::Vec;

use crate::table::{MAX_TOKENS, Rank, Table, Token};

/// A token of a piece's encoding, in four bytes: long pieces have many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlacedToken(u32);

impl PlacedToken {
    /// A token is at most 128 bytes long, and ranks have 18 bits. [`pack`](crate::pack()) sees to it.
    #[expect(clippy::cast_possible_truncation, reason = "it is at most 128")]
    pub(crate) const fn new(token: Token) -> Self {
        Self(token.rank | (token.length as u32) << 18)
    }

    pub(crate) const fn rank(self) -> Rank {
        self.0 & MAX_TOKENS
    }

    const fn length(self) -> usize {
        (self.0 >> 18) as usize
    }
}

/// The workspace for encoding pieces. Kept from one to the next.
#[derive(Debug)]
pub(crate) struct Merger<'t> {
    table: &'t Table<'t>,
    tokens: Vec<PlacedToken>,
    given_up: GivenUp,
}

/// The place of a wanted token, and the token to try there.
struct Choice {
    place: usize,
    candidate: Token,
    /// The token before, if the text goes on with it.
    repeated: Option<Rank>,
}

impl<'t> Merger<'t> {
    /// For one vocabulary.
    pub(crate) const fn new(table: &'t Table<'t>) -> Self {
        Self { table, tokens: Vec::new(), given_up: GivenUp { first: 0, rest: Vec::new() } }
    }

    /// The tokens of a piece that has at least one byte and is no token itself. `first` is the longest one that it
    /// begins with.
    pub(crate) fn encode(&mut self, piece: &[u8], first: Token) -> &[PlacedToken] {
        self.tokens.clear();
        self.given_up.clear();
        let mut here = Choice { place: 0, candidate: first, repeated: None };
        while here.place < piece.len() {
            if here.candidate.length == 0 {
                // Nothing fits behind the last token: it must have been another one.
                let Some(last) = self.tokens.pop() else { break };
                self.given_up.insert(here.place);
                let place = here.place.saturating_sub(last.length());
                let tried = self.table.longest(piece.get(place..here.place).unwrap_or_default());
                here = self.choice(piece, place);
                here.candidate = self.next(piece, &here, tried);
                continue;
            }
            let end = here.place.saturating_add(here.candidate.length);
            let before = self.tokens.last();
            let fits = !self.given_up.contains(end)
                && before.is_none_or(|before| stay_apart(self.table, before.rank(), here.candidate.rank));
            if fits {
                self.tokens.push(PlacedToken::new(here.candidate));
                here = self.choice(piece, end);
            } else {
                here.candidate = self.next(piece, &here, here.candidate);
            }
        }
        &self.tokens
    }

    /// The first try at a place: the token before it once more, if the text goes on with it, or the longest one.
    fn choice(&self, piece: &[u8], place: usize) -> Choice {
        let rest = piece.get(place..).unwrap_or_default();
        // In a long run of one character the longest token is part of the end only. Trying it first would mean
        // following each of the many ways to such an end.
        let repeated = self.tokens.last().filter(|last| {
            let before = piece.get(place.saturating_sub(last.length())..place).unwrap_or_default();
            rest.starts_with(before)
        });
        match repeated {
            Some(last) => {
                let candidate = self.table.longest(rest.get(..last.length()).unwrap_or_default());
                Choice { place, candidate, repeated: Some(last.rank()) }
            }
            None => Choice { place, candidate: self.table.longest(rest), repeated: None },
        }
    }

    /// The next try.
    fn next(&self, piece: &[u8], choice: &Choice, tried: Token) -> Token {
        let next = if choice.repeated == Some(tried.rank) {
            self.table.longest(piece.get(choice.place..).unwrap_or_default())
        } else {
            self.table.shorter(tried)
        };
        // The repeated one was tried before all others.
        if next.length > 0 && choice.repeated == Some(next.rank) { self.table.shorter(next) } else { next }
    }
}

/// Whether two tokens side by side are the encoding of their bytes.
///
/// Each merge of the two sides is undone, the latest first. Between two of these merges, two tokens
/// meet at the border; if they could have been joined before the later merge, they would have been.
/// Of equal ranks the left one came first.
fn stay_apart(table: &Table<'_>, mut left: u32, mut right: u32) -> bool {
    // Joining to a rank below this one would have come first.
    let mut limit = u32::MAX;
    loop {
        if table.joined(left, right).is_some_and(|joined| joined < limit) {
            return false;
        }
        if left > right {
            let Some((_, half)) = table.halves(left) else { return true };
            (limit, left) = (left, half);
        } else {
            let Some((half, _)) = table.halves(right) else { return true };
            (limit, right) = (right.saturating_add(1), half);
        }
    }
}

/// The places of a piece behind which nothing fits.
#[derive(Debug)]
struct GivenUp {
    /// The first 128. Longer pieces that go back that far are rare.
    first: u128,
    rest: Vec<u64>,
}

impl GivenUp {
    fn clear(&mut self) {
        self.first = 0;
        self.rest.clear();
    }

    fn contains(&self, place: usize) -> bool {
        match place.checked_sub(128) {
            None => self.first >> place & 1 != 0,
            Some(place) => self.rest.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 != 0),
        }
    }

    fn insert(&mut self, place: usize) {
        let Some(place) = place.checked_sub(128) else {
            self.first |= 1 << place;
            return;
        };
        if self.rest.len() <= place / 64 {
            self.rest.resize((place / 64).saturating_add(1), 0);
        }
        if let Some(word) = self.rest.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }
}
