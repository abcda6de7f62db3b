//! The file: a vocabulary that is looked up where it is, and one row of integers for each token.
//!
//! All numbers are little-endian. Sections follow each other without gaps.
//!
//! | at | size | what |
//! |---|---|---|
//! | 0 | 8 | `PROEMVEC` |
//! | 8 | 4 | version of this layout, 1 |
//! | 12 | 4 | dimension, 1 to 4,096 |
//! | 16 | 4 | rows, 1 to 2²⁴ |
//! | 20 | 4 | slots of the hash table, a power of two, at least twice the rows |
//! | 24 | 4 | bytes of all tokens |
//! | 28 | 4 | 0 |
//! | 32 | 32 | SHA-256 of everything before and after this field |
//! | 64 | 4 × slots | row + 1 of the token at this slot, 0 if there is none |
//! | | 4 × rows | where each row's token ends in the next section |
//! | | as above | the tokens, UTF-8, `##` before those inside a word |
//! | | 4 × rows | scale of each row, `f32`, finite and not negative |
//! | | 4 × rows | 1 / length of each row's integers, `f32`, 0 to 1; 0 for a row of zeros |
//! | | rows × dimension | the rows, `i8` |
//!
//! A token's first slot is its hash modulo the slots: FNV-1a of 64 bits (Fowler, Noll and Vo,
//! <https://datatracker.ietf.org/doc/html/rfc9923>), both halves combined by exclusive or. The next slot is tried while
//! another token is there, at most 64 times. A retrained model changes scales and rows. A token's weight is part of its
//! scale.
//!
//! Reading checks every size, place, token and slot, so nothing that follows can fail. It does not check the SHA-256,
//! which would take longer than everything else: see [`StaticModel::verify`](crate::StaticModel::verify).

use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind};

/// The beginning of the file.
pub const MAGIC: [u8; 8] = *b"PROEMVEC";
/// The version of this layout.
pub const VERSION: u32 = 1;
/// The greatest dimension: the sum of so many products of two bytes fits 32 bits.
pub const MAX_DIMENSION: u32 = 4096;
/// The most rows.
pub const MAX_ROWS: u32 = 1 << 24;
/// The longest token in bytes, with its `##`.
pub const MAX_TOKEN_BYTES: usize = 64;

/// The prefix of a token inside a word.
pub(crate) const INSIDE: &str = "##";
/// How many slots are tried.
pub(crate) const MAX_PROBES: usize = 64;
/// The place of the SHA-256.
pub(crate) const DIGEST: core::ops::Range<usize> = 32..64;
/// The bytes before the first section.
pub(crate) const HEADER_BYTES: usize = 64;

/// FNV-1a over the bytes of a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenHash(u64);

impl TokenHash {
    /// Of no bytes.
    pub(crate) const START: Self = Self(0xcbf2_9ce4_8422_2325);
    /// Of `##`.
    pub(crate) const INSIDE: Self = Self::START.with(b'#').with(b'#');

    /// With one byte more.
    pub(crate) const fn with(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u64).wrapping_mul(0x0100_0000_01b3))
    }

    /// Of a whole token.
    pub(crate) fn of(token: &str) -> Self {
        token.bytes().fold(Self::START, Self::with)
    }

    /// The slots to try, in order. `slots` is a power of two.
    pub(crate) fn places(self, slots: usize) -> impl Iterator<Item = usize> {
        #[expect(clippy::cast_possible_truncation, reason = "the lower 32 bits are wanted")]
        let first = (self.0 ^ (self.0 >> 32)) as u32 as usize;
        (0..MAX_PROBES).map(move |step| first.wrapping_add(step) & slots.wrapping_sub(1))
    }
}

/// A file's content, read where it is.
#[derive(Clone)]
pub(crate) struct EmbeddingTable<'a> {
    bytes: &'a [u8],
    dimension: usize,
    longest: usize,
    slots: &'a [[u8; 4]],
    ends: &'a [[u8; 4]],
    text: &'a str,
    scales: &'a [[u8; 4]],
    inverses: &'a [[u8; 4]],
    values: &'a [u8],
}

/// The bytes that are still unread.
struct UnreadBytes<'a>(&'a [u8]);

impl<'a> UnreadBytes<'a> {
    fn take(&mut self, length: usize, what: &str) -> Result<&'a [u8], Error> {
        let Some((taken, rest)) = self.0.split_at_checked(length) else {
            let problem =
                format!("the file ends within {what}: {length} bytes are expected, {} are left", self.0.len());
            return Err(Error::new(ErrorKind::Size, problem));
        };
        self.0 = rest;
        Ok(taken)
    }

    /// Numbers of four bytes each.
    fn words(&mut self, count: usize, what: &str) -> Result<&'a [[u8; 4]], Error> {
        Ok(self.take(count.saturating_mul(4), what)?.as_chunks().0)
    }

    /// One number of the header, with its range.
    fn number(&mut self, range: core::ops::RangeInclusive<u32>, what: &str) -> Result<usize, Error> {
        let number = self.words(1, "the header")?.first().copied().map(u32::from_le_bytes).unwrap_or_default();
        let usable = usize::try_from(number).ok().filter(|_| range.contains(&number));
        usable.ok_or_else(|| {
            let (start, end) = range.into_inner();
            Error::new(ErrorKind::Size, format!("{what} is {number}, not {start} to {end}"))
        })
    }
}

impl<'a> EmbeddingTable<'a> {
    /// Reads and checks everything but the SHA-256.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let table = Self::laid_out(bytes)?;
        table.check_numbers()?;
        table.check_tokens()?;
        Ok(table)
    }

    /// The same of a table whose rows and tokens were checked before: only where its parts lie is read.
    ///
    /// # Errors
    ///
    /// If the parts don't fill the bytes, or the tokens are no text.
    pub(crate) fn laid_out(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut rest = UnreadBytes(bytes);
        if rest.take(MAGIC.len(), "the header").ok() != Some(MAGIC.as_slice()) {
            return Err(Error::new(
                ErrorKind::Format,
                "not a table of vectors: the file doesn't begin with `PROEMVEC`",
            ));
        }
        let version = rest.number(0..=u32::MAX, "the version")?;
        if u32::try_from(version) != Ok(VERSION) {
            let problem = format!("the layout has version {version}; this program reads version {VERSION}");
            return Err(Error::new(ErrorKind::Format, problem));
        }
        let dimension = rest.number(1..=MAX_DIMENSION, "the dimension")?;
        let rows = rest.number(1..=MAX_ROWS, "the number of rows")?;
        let slots = rest.number(2..=1 << 30, "the number of slots")?;
        if !slots.is_power_of_two() || slots / 2 < rows {
            let problem = format!("{slots} slots for {rows} rows: a power of two, at least twice the rows, is needed");
            return Err(Error::new(ErrorKind::Size, problem));
        }
        let text = rest.number(0..=u32::MAX, "the tokens' size")?;
        rest.number(0..=0, "the reserved field")?;
        rest.take(DIGEST.len(), "the header")?;
        let slots = rest.words(slots, "the hash table")?;
        let ends = rest.words(rows, "the tokens' places")?;
        let text = rest.take(text, "the tokens")?;
        let scales = rest.words(rows, "the scales")?;
        let inverses = rest.words(rows, "the inverse lengths")?;
        let values = rest.take(rows.saturating_mul(dimension), "the rows")?;
        if !rest.0.is_empty() {
            return Err(Error::new(ErrorKind::Size, format!("{} bytes follow the rows", rest.0.len())));
        }
        let text = core::str::from_utf8(text)
            .map_err(|error| Error::new(ErrorKind::Content, format!("the tokens are not UTF-8: {error}")))?;
        let starts = core::iter::once(0).chain(ends.iter().map(|end| place(*end)));
        let lengths = ends.iter().zip(starts).map(|(end, start)| place(*end).saturating_sub(start));
        let longest = lengths.max().unwrap_or_default();
        Ok(Self { bytes, dimension, longest, slots, ends, text, scales, inverses, values })
    }

    fn check_numbers(&self) -> Result<(), Error> {
        for (numbers, most, what) in [(self.scales, f32::MAX, "scale"), (self.inverses, 1.0, "inverse length")] {
            let valid = |number: &[u8; 4]| (0.0..=most).contains(&f32::from_le_bytes(*number));
            if let Some(row) = numbers.iter().position(|number| !valid(number)) {
                let problem = format!("the {what} of row {row} is not a number from 0 to {most:e}");
                return Err(Error::new(ErrorKind::Content, problem));
            }
        }
        Ok(())
    }

    /// Checks that every token is found at its own row and nothing else is.
    fn check_tokens(&self) -> Result<(), Error> {
        let wrong = |problem: String| Error::new(ErrorKind::Content, problem);
        let mut start = 0;
        for (row, end) in self.ends.iter().enumerate() {
            let end = place(*end);
            let token = self.text.get(start..end).filter(|token| (1..=MAX_TOKEN_BYTES).contains(&token.len()));
            let token = token.ok_or_else(|| {
                wrong(format!(
                    "the token of row {row} is not 1 to {MAX_TOKEN_BYTES} bytes of the tokens, in their order"
                ))
            })?;
            // The order of the rows is known so far, so the search may use `ends` up to here.
            let found = self.probe(TokenHash::of(token), |candidate| self.token(candidate) == Some(token));
            if found.map(usize::try_from) != Some(Ok(row)) {
                return Err(wrong(format!("the hash table doesn't lead from the token of row {row} to this row")));
            }
            start = end;
        }
        if start != self.text.len() {
            return Err(wrong(format!(
                "{} bytes of the tokens belong to no row",
                self.text.len().saturating_sub(start)
            )));
        }
        let taken = self.slots.iter().filter(|slot| **slot != [0; 4]).count();
        if taken != self.ends.len() {
            return Err(wrong(format!("{taken} slots are taken by {} rows", self.ends.len())));
        }
        Ok(())
    }

    /// The row of a token given by its hash and its bytes without `##`.
    pub(crate) fn find(&self, hash: TokenHash, piece: &[u8], inside: bool) -> Option<u32> {
        self.probe(hash, |row| {
            let token = self.token(row).unwrap_or_default();
            let token = if inside { token.strip_prefix(INSIDE) } else { Some(token) };
            token.is_some_and(|token| token.as_bytes() == piece)
        })
    }

    /// The first row on a hash's way that fits, up to the first slot that is free.
    fn probe(&self, hash: TokenHash, fits: impl Fn(u32) -> bool) -> Option<u32> {
        for place in hash.places(self.slots.len()) {
            let row = u32::from_le_bytes(*self.slots.get(place)?).checked_sub(1)?;
            if fits(row) {
                return Some(row);
            }
        }
        None
    }

    /// The longest piece of a word that can be a token, in bytes.
    pub(crate) const fn longest_token(&self, inside: bool) -> usize {
        if inside { self.longest.saturating_sub(INSIDE.len()) } else { self.longest }
    }

    pub(crate) fn token(&self, row: u32) -> Option<&'a str> {
        let row = usize::try_from(row).ok()?;
        let start = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).map(|end| place(*end)))?;
        self.text.get(start..place(*self.ends.get(row)?))
    }

    /// A row's integers as the file has them, each byte an `i8`.
    pub(crate) fn values(&self, row: u32) -> Option<&'a [u8]> {
        let start = usize::try_from(row).ok()?.checked_mul(self.dimension)?;
        self.values.get(start..start.checked_add(self.dimension)?)
    }

    pub(crate) fn scale(&self, row: u32) -> Option<f32> {
        self.scales.get(usize::try_from(row).ok()?).map(|bytes| f32::from_le_bytes(*bytes))
    }

    /// 1 / length of a row's integers; 0 for a row of zeros.
    pub(crate) fn inverse(&self, row: u32) -> Option<f32> {
        self.inverses.get(usize::try_from(row).ok()?).map(|bytes| f32::from_le_bytes(*bytes))
    }

    pub(crate) const fn dimension(&self) -> usize {
        self.dimension
    }

    pub(crate) const fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The SHA-256 that the file names.
    pub(crate) fn named_digest(&self) -> &'a [u8] {
        self.bytes.get(DIGEST).unwrap_or_default()
    }

    /// The SHA-256 of what the file holds.
    pub(crate) fn digest(&self) -> [u8; 32] {
        digest(self.bytes)
    }
}

/// The SHA-256 of everything but the field for it.
pub(crate) fn digest(file: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(file.get(..DIGEST.start).unwrap_or_default());
    hasher.update(file.get(DIGEST.end..).unwrap_or_default());
    hasher.finalize().into()
}

/// A place in the file. One that this machine can't address is behind the end of any section.
fn place(bytes: [u8; 4]) -> usize {
    usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
}
