//! A model of one vector for each token.

use core::{fmt, fmt::Write as _, ops::ControlFlow};

use proem_engine::{Error as EngineError, ErrorKind as EngineErrorKind};
use proem_select::embedding::{Embedder, ModelId, PieceVocabulary, Vector};

use crate::{
    error::{Error, ErrorKind},
    table::{EmbeddingTable, VERSION},
    wordpiece::tokenise,
};

/// The most tokens of one text that count; what follows is not read.
pub const MAX_TOKENS: usize = 8192;

/// The most bytes of one text that count, down to a whole character; what follows is not read.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The model that the program carries with it.
static BUILT_IN: &[u8] = include_bytes!("../data/static-1.bin");

/// One token's vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenVector<'a> {
    bytes: &'a [u8],
    scale: f32,
}

impl<'a> TokenVector<'a> {
    /// The integers as they are in the file: each byte is an `i8`.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The vector's coordinates before they are scaled.
    pub fn integers(&self) -> impl Iterator<Item = i8> + 'a {
        self.bytes.iter().map(|byte| byte.cast_signed())
    }

    /// The factor of the integers, 0 or more: the token's weight is part of it.
    #[must_use]
    pub const fn scale(&self) -> f32 {
        self.scale
    }
}

/// A model that gives each token one vector and each text the direction of its tokens' sum.
///
/// Invariants: nothing is copied from the file but its id. A row that [`Self::tokens`] names exists. The same text has
/// the same vector, to the bit, on every machine.
#[derive(Clone)]
pub struct StaticModel<'a> {
    table: EmbeddingTable<'a>,
    id: ModelId,
}

impl fmt::Debug for StaticModel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("StaticModel");
        debug.field("id", &self.id).field("rows", &self.rows()).field("dimension", &self.dimension());
        debug.finish_non_exhaustive()
    }
}

impl StaticModel<'static> {
    /// The model that the program carries with it.
    ///
    /// Its rows and tokens are taken as they are: a test of this crate gives them to [`StaticModel::load`].
    ///
    /// # Errors
    ///
    /// None that a test of this crate would let pass.
    pub fn built_in() -> Result<Self, Error> {
        Self::of(EmbeddingTable::laid_out(BUILT_IN)?)
    }
}

impl<'a> StaticModel<'a> {
    /// Reads a file made by [`pack`](crate::pack::pack), without copying it.
    ///
    /// Everything is checked but the SHA-256 over the rows, so that a program starts quickly. Use [`Self::verify`]
    /// where a file comes from elsewhere.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Format`] if it isn't such a file, [`ErrorKind::Size`] if it is shorter or
    /// longer than it says, [`ErrorKind::Content`] if a place or number in it can't be.
    pub fn load(file: &'a [u8]) -> Result<Self, Error> {
        Self::of(EmbeddingTable::read(file)?)
    }

    fn of(table: EmbeddingTable<'a>) -> Result<Self, Error> {
        let mut id = format!("proem-static-{VERSION}-");
        for byte in table.named_digest().iter().take(4) {
            // Writing into a string can't fail.
            _ = write!(id, "{byte:02x}");
        }
        let id = ModelId::new(&id).map_err(|error| Error::new(ErrorKind::Content, error.to_string()))?;
        Ok(Self { table, id })
    }

    /// Checks that the content is what the file was made with, and so that the id is its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Checksum`] if it isn't.
    pub fn verify(&self) -> Result<(), Error> {
        if self.table.digest().as_slice() == self.table.named_digest() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Checksum,
            format!("the vector table of `{}` was modified; install it again", self.id),
        ))
    }

    /// The number of coordinates.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.table.dimension()
    }

    /// The number of tokens that the model knows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.table.rows()
    }

    /// The rows of a text's tokens, in order, at most [`MAX_TOKENS`]. Words that the model doesn't
    /// know have none.
    #[must_use]
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        self.write_tokens(text, &mut tokens);
        tokens
    }

    /// Like [`Self::tokens`], into a buffer that is emptied first.
    pub fn write_tokens(&self, text: &str, tokens: &mut Vec<u32>) {
        tokens.clear();
        tokenise(&self.table, beginning(text), &mut |row| {
            if tokens.len() >= MAX_TOKENS {
                return ControlFlow::Break(());
            }
            tokens.push(row);
            ControlFlow::Continue(())
        });
    }

    /// Whether a text has more than [`MAX_TEXT_BYTES`] bytes or [`MAX_TOKENS`] tokens, so that only
    /// its beginning counts.
    #[must_use]
    pub fn is_cut(&self, text: &str) -> bool {
        if text.len() > MAX_TEXT_BYTES {
            return true;
        }
        let mut count = 0_usize;
        tokenise(&self.table, text, &mut |_| {
            count = count.saturating_add(1);
            if count > MAX_TOKENS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        count > MAX_TOKENS
    }

    /// A row's token, `##` before one inside a word. `None` if there is no such row.
    #[must_use]
    pub fn token(&self, row: u32) -> Option<&'a str> {
        self.table.token(row)
    }

    /// A row. `None` if there is no such row.
    #[must_use]
    pub fn row(&self, row: u32) -> Option<TokenVector<'a>> {
        Some(TokenVector { bytes: self.table.values(row)?, scale: self.table.scale(row)? })
    }

    /// The length of a row's vector, which is how much its token weighs in a text: scale × length of
    /// the integers. 0 for a row of zeros, and if there is no such row.
    #[must_use]
    pub fn weight(&self, row: u32) -> f32 {
        let parts = self.table.scale(row).zip(self.table.inverse(row).filter(|inverse| *inverse > 0.0));
        parts.map_or(0.0, |(scale, inverse)| scale / inverse)
    }

    /// The cosine of the angle between two rows, −1 to 1. 0 if one of them is a row of zeros or
    /// doesn't exist.
    #[must_use]
    pub fn similarity(&self, a: u32, b: u32) -> f32 {
        self.wide(a).cosine(&self.wide(b))
    }

    /// [`Self::similarity`] of the first of `others` to each of `rows`, then of the second, and so
    /// on, into a buffer that is emptied first.
    pub fn write_similarities(&self, rows: &[u32], others: &[u32], similarities: &mut Vec<f32>) {
        similarities.clear();
        similarities.reserve(rows.len().saturating_mul(others.len()));
        let wide: Vec<Wide> = rows.iter().map(|row| self.wide(*row)).collect();
        let mut buffer = Wide::default();
        for other in others {
            self.write_wide(*other, &mut buffer);
            similarities.extend(wide.iter().map(|row| row.cosine(&buffer)));
        }
    }

    fn wide(&self, row: u32) -> Wide {
        let mut wide = Wide::default();
        self.write_wide(row, &mut wide);
        wide
    }

    fn write_wide(&self, row: u32, wide: &mut Wide) {
        wide.integers.clear();
        wide.integers
            .extend(self.table.values(row).unwrap_or_default().iter().map(|byte| i16::from(byte.cast_signed())));
        wide.inverse = self.table.inverse(row).unwrap_or(0.0);
    }

    /// Writes a text's vector, of unit length, and says whether it has one: not if the model knows
    /// none of its words, or they cancel out. Without one the buffer is left empty.
    ///
    /// Apart from the buffer's first growth nothing is allocated. The numbers are those of
    /// [`Embedder::embed`].
    pub fn write_vector(&self, text: &str, vector: &mut Vec<f32>) -> bool {
        self.write_sum(text, vector);
        let squares: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        // As `Vector::new` does it, so that both have the same bits.
        if !(squares > 0.0 && squares.is_finite()) {
            vector.clear();
            return false;
        }
        let scale = 1.0 / squares.sqrt();
        for value in vector.iter_mut() {
            #[expect(clippy::cast_possible_truncation, reason = "a quotient of magnitude at most 1")]
            let scaled = (f64::from(*value) * scale) as f32;
            *value = scaled;
        }
        true
    }

    /// The sum of a text's rows. Its direction is that of the mean.
    fn write_sum(&self, text: &str, sum: &mut Vec<f32>) {
        sum.clear();
        sum.resize(self.dimension(), 0.0);
        let mut left = MAX_TOKENS;
        tokenise(&self.table, beginning(text), &mut |row| {
            let Some(next) = left.checked_sub(1) else { return ControlFlow::Break(()) };
            left = next;
            if let Some(row) = self.row(row) {
                for (sum, byte) in sum.iter_mut().zip(row.bytes) {
                    *sum += row.scale * f32::from(byte.cast_signed());
                }
            }
            ControlFlow::Continue(())
        });
    }
}

impl PieceVocabulary for StaticModel<'_> {
    fn cut(&self, text: &str) -> Vec<u32> {
        self.tokens(text)
    }

    fn weight(&self, piece: u32) -> f32 {
        Self::weight(self, piece)
    }

    fn write_similarities(&self, pieces: &[u32], others: &[u32], similarities: &mut Vec<f32>) {
        Self::write_similarities(self, pieces, others, similarities);
    }
}

impl Embedder for StaticModel<'_> {
    fn model(&self) -> &ModelId {
        &self.id
    }

    fn pieces(&self) -> Option<&dyn PieceVocabulary> {
        Some(self)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, EngineError> {
        let embed = |text: &&str| {
            let mut sum = Vec::new();
            self.write_sum(text, &mut sum);
            // Nothing known, or everything cancelled out.
            if sum.iter().all(|value| *value == 0.0) {
                return Ok(None);
            }
            Vector::new(&self.id, sum).map(Some)
        };
        texts.iter().map(embed).collect()
    }
}

impl From<Error> for EngineError {
    /// A table that is unusable is an embedder that can't be asked.
    fn from(error: Error) -> Self {
        Self::new(EngineErrorKind::Embedding, error.to_string())
    }
}

/// A row without its scale, which its direction doesn't depend on, in integers of 16 bits, which processors multiply
/// and add by eight. A row that is missing has none.
#[derive(Default)]
struct Wide {
    integers: Vec<i16>,
    inverse: f32,
}

impl Wide {
    fn cosine(&self, other: &Self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "the last bits of a cosine")]
        let product = dot(&self.integers, &other.integers) as f32;
        (product * self.inverse * other.inverse).clamp(-1.0, 1.0)
    }
}

/// The inner product of two rows. Each product is at most 2¹⁴ and a row has at most 2¹² of them.
///
/// Steps of a fixed length let the compiler use vector instructions without a loop for the rest.
fn dot(a: &[i16], b: &[i16]) -> i32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<32>(), b.as_chunks::<32>());
    let steps: i32 = a.iter().zip(b).map(|(a, b)| products(a, b)).sum();
    steps + products(a_rest, b_rest)
}

fn products(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// The part of a text that counts.
fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default()
}
