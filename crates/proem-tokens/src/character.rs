//! The patterns' view of a character: its general category, as far as they tell it apart.
//!
//! `data/characters.bin` has 17,408 numbers of two bytes, the blocks of each 64 characters, then the blocks,
//! 64 bytes each, one [`Class`] for each character. The 64 characters of a block share all bytes of
//! their UTF-8 but the last, so a class is found without putting the character together. `lab/oracle`
//! writes the file from the classes of the regular expressions that the reference uses (Unicode 16).

/// A set of kinds of characters. Each character is of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Class(u8);

impl Class {
    /// No character: the text ends here.
    pub(crate) const END: Self = Self(0);
    /// `Lu` and `Lt`.
    pub(crate) const UPPER: Self = Self(1);
    /// `Ll`.
    pub(crate) const LOWER: Self = Self(2);
    /// `Lm` and `Lo`.
    pub(crate) const CASELESS: Self = Self(4);
    pub(crate) const MARK: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(16);
    /// `White_Space` but for the two of [`Self::NEWLINE`].
    pub(crate) const SPACE: Self = Self(32);
    /// Carriage return and line feed. No other line break.
    pub(crate) const NEWLINE: Self = Self(64);
    /// Everything else.
    pub(crate) const OTHER: Self = Self(128);
    pub(crate) const LETTER: Self = Self::UPPER.or(Self::LOWER).or(Self::CASELESS);

    /// Of either set.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the character is of one of these kinds.
    pub(crate) const fn is(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }
}

const BLOCK: usize = 64;
const INDEX: usize = 0x11_0000 / BLOCK;

static FILE: &[u8] = include_bytes!("../data/characters.bin");
static INDEX_AND_BLOCKS: (&[[u8; 2]], &[[u8; BLOCK]]) = {
    match FILE.split_at_checked(2 * INDEX) {
        Some((index, blocks)) => (index.as_chunks().0, blocks.as_chunks().0),
        // No such file. A test sees to it that there is one.
        None => (&[], &[]),
    }
};

/// The classes of single bytes. [`Class::END`] for those of longer characters.
static BYTES: [Class; 256] = {
    let mut classes = [Class::END; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        let (class, _) = multibyte_class(&[0xC0 | byte >> 6, 0x80 | byte & 0x3F]);
        #[expect(clippy::indexing_slicing, reason = "a byte is less than 256, and this runs when it is compiled")]
        {
            classes[byte as usize] = class;
        }
        byte += 1;
    }
    classes
};

/// The class of the character that begins at `place` and its length in bytes.
#[inline(always)]
pub(crate) fn class_at(text: &[u8], place: usize) -> (Class, usize) {
    match text.get(place) {
        None => (Class::END, 0),
        Some(byte) if *byte < 0x80 => (of_byte(*byte), 1),
        Some(_) => multibyte_class(text.get(place..).unwrap_or_default()),
    }
}

/// The class of a character of one byte. [`Class::END`] for a byte of a longer one.
#[inline(always)]
pub(crate) fn of_byte(byte: u8) -> Class {
    BYTES.get(usize::from(byte)).copied().unwrap_or(Class::END)
}

/// The class and the length of the first character, which has more than one byte.
#[inline]
const fn multibyte_class(text: &[u8]) -> (Class, usize) {
    let (block, last, length) = match text {
        [a, b, ..] if *a < 0xE0 => ((*a & 0x1F) as usize, *b, 2),
        [a, b, c, ..] if *a < 0xF0 => (((*a & 0x0F) as usize) << 6 | (*b & 0x3F) as usize, *c, 3),
        [a, b, c, d, ..] => (((*a & 0x07) as usize) << 12 | ((*b & 0x3F) as usize) << 6 | (*c & 0x3F) as usize, *d, 4),
        // No text that is UTF-8 ends within a character.
        _ => return (Class::OTHER, if text.is_empty() { 1 } else { text.len() }),
    };
    let (index, blocks) = INDEX_AND_BLOCKS;
    let class = match index.split_at_checked(block) {
        Some((_, [number, ..])) => match blocks.split_at_checked(u16::from_le_bytes(*number) as usize) {
            Some((_, [classes, ..])) => match classes.split_at_checked((last & 0x3F) as usize) {
                Some((_, [class, ..])) => Class(*class),
                _ => Class::OTHER,
            },
            _ => Class::OTHER,
        },
        _ => Class::OTHER,
    };
    (class, length)
}
