//! The model's file.
//!
//! All numbers are little-endian. Sections follow each other without gaps.
//!
//! | at | size | what |
//! |---|---|---|
//! | 0 | 8 | `PROEMGRD` |
//! | 8 | 4 | version of this layout and of the pieces and sentences it was trained on, 1 |
//! | 12 | 4 | bits of a bucket's number, 8 to 19 |
//! | 16 | 4 | slope, `f32`, finite and above 0 |
//! | 20 | 4 | bias, `f32`, finite |
//! | 24 | 8 | 0 |
//! | 32 | 32 | SHA-256 of everything before and after this field |
//! | 64 | 2^bits | the weight of each bucket, `i8` |

use alloc::{format, string::String, vec::Vec};
use core::fmt;
use sha2::{Digest as _, Sha256};

/// The beginning of the file.
const MAGIC: [u8; 8] = *b"PROEMGRD";
/// The version of this layout.
const VERSION: u32 = 1;
/// How many bits a bucket's number may have.
const BITS: core::ops::RangeInclusive<u32> = 8..=19;
const HEADER_BYTES: usize = 64;
const DIGEST: core::ops::Range<usize> = 32..64;

/// The kind of a file's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SentenceScorerErrorKind {
    /// It isn't such a file, or one of another version.
    Format,
    /// The file is shorter or longer than its header says, or a size is out of range.
    Size,
    /// A number inside can't be.
    Content,
    /// The content is not what the file was made with.
    Checksum,
}

/// Why a model can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentenceScorerError {
    kind: SentenceScorerErrorKind,
    problem: String,
}

impl SentenceScorerError {
    const fn new(kind: SentenceScorerErrorKind, problem: String) -> Self {
        Self { kind, problem }
    }

    /// The kind of fault.
    #[must_use]
    pub const fn kind(&self) -> SentenceScorerErrorKind {
        self.kind
    }
}

impl fmt::Display for SentenceScorerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; train the model again with `cargo lab train guard`", self.problem)
    }
}

impl core::error::Error for SentenceScorerError {}

/// The contents of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScorerWeights<'a> {
    /// The factor of the sum of weights over the root of their number, finite, above 0.
    pub slope: f32,
    /// The constant added to that, finite.
    pub bias: f32,
    /// The weight of each bucket, one byte each as in `i8`; 2⁸ to 2¹⁹ of them.
    pub weights: &'a [u8],
}

/// A file's parts, the bits of a bucket's number, and the SHA-256.
pub(super) fn read_scorer_file(bytes: &[u8]) -> Result<(ScorerWeights<'_>, u32, [u8; 32]), SentenceScorerError> {
    let fail = |kind, problem| Err(SentenceScorerError::new(kind, problem));
    let Some((header, weights)) = bytes.split_at_checked(HEADER_BYTES) else {
        let problem = format!("the file has {} bytes, its header alone has {HEADER_BYTES}", bytes.len());
        return fail(SentenceScorerErrorKind::Size, problem);
    };
    if !header.starts_with(&MAGIC) {
        return fail(SentenceScorerErrorKind::Format, "the file is not a model of the guard".into());
    }
    let (words, _) = header.as_chunks::<4>();
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let version = u32::from_le_bytes(word(2));
    if version != VERSION {
        return fail(
            SentenceScorerErrorKind::Format,
            format!("the file has version {version}, this program reads {VERSION}"),
        );
    }
    let bits = u32::from_le_bytes(word(3));
    if !BITS.contains(&bits) {
        let problem = format!("{bits} bits for a bucket's number, not {} to {}", BITS.start(), BITS.end());
        return fail(SentenceScorerErrorKind::Size, problem);
    }
    let expected = 1_usize.wrapping_shl(bits);
    if weights.len() != expected {
        return fail(SentenceScorerErrorKind::Size, format!("{} weights, not {expected}", weights.len()));
    }
    let (slope, bias) = (f32::from_le_bytes(word(4)), f32::from_le_bytes(word(5)));
    if !(slope.is_finite() && slope > 0.0 && bias.is_finite()) {
        let problem = format!("the slope {slope} or the bias {bias} is not a number to multiply with or to add");
        return fail(SentenceScorerErrorKind::Content, problem);
    }
    if word(6) != [0; 4] || word(7) != [0; 4] {
        return fail(SentenceScorerErrorKind::Content, "the header's last two words are not 0".into());
    }
    let digest = scorer_file_digest(bytes);
    if header.get(DIGEST) != Some(digest.as_slice()) {
        return fail(SentenceScorerErrorKind::Checksum, "the checksum does not fit, so the file is damaged".into());
    }
    Ok((ScorerWeights { slope, bias, weights }, bits, digest))
}

/// Writes a model as a file. The same parts give the same bytes.
///
/// # Errors
///
/// [`SentenceScorerErrorKind::Size`] if the number of weights is no power of two from 2⁸ to 2¹⁹, and
/// [`SentenceScorerErrorKind::Content`] if slope or bias can't be.
pub fn pack_scorer_file(parts: &ScorerWeights<'_>) -> Result<Vec<u8>, SentenceScorerError> {
    let bits = parts.weights.len().checked_ilog2().unwrap_or_default();
    let mut file = Vec::with_capacity(parts.weights.len().saturating_add(HEADER_BYTES));
    file.extend(MAGIC);
    file.extend(VERSION.to_le_bytes());
    file.extend(bits.to_le_bytes());
    file.extend(parts.slope.to_le_bytes());
    file.extend(parts.bias.to_le_bytes());
    file.resize(HEADER_BYTES, 0);
    file.extend(parts.weights);
    let digest = scorer_file_digest(&file);
    if let Some(field) = file.get_mut(DIGEST) {
        field.copy_from_slice(&digest);
    }
    // The written file is read back: the two can't drift apart.
    read_scorer_file(&file)?;
    Ok(file)
}

/// The SHA-256 of a file without its own field.
fn scorer_file_digest(file: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(file.get(..DIGEST.start).unwrap_or_default());
    hash.update(file.get(DIGEST.end..).unwrap_or_default());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn file() -> Vec<u8> {
        let weights: Vec<u8> = (0..=255).collect();
        pack_scorer_file(&ScorerWeights { slope: 0.5, bias: -1.0, weights: &weights }).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let file = file();
        let (parts, bits, digest) = read_scorer_file(&file).unwrap();
        assert_eq!((parts.slope, parts.bias, parts.weights.len(), bits), (0.5, -1.0, 256, 8));
        assert_eq!(parts.weights.get(200), Some(&200));
        assert_eq!(file.get(DIGEST), Some(digest.as_slice()));
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Vec<u8>), kind: SentenceScorerErrorKind, text: &str) {
        let mut file = file();
        change(&mut file);
        let error = read_scorer_file(&file).expect_err(text);
        let expected = format!("{text}; train the model again with `cargo lab train guard`");
        assert_eq!((error.kind(), error.to_string()), (kind, expected));
    }

    /// A change that the checksum knows of.
    fn sealed(place: usize, bytes: &[u8]) -> impl FnOnce(&mut Vec<u8>) {
        move |file| {
            file[place..place.saturating_add(bytes.len())].copy_from_slice(bytes);
            let digest = scorer_file_digest(file);
            file[DIGEST].copy_from_slice(&digest);
        }
    }

    #[test]
    fn hostile_files_are_refused() {
        use SentenceScorerErrorKind::{Checksum, Content, Format, Size};
        check(Vec::clear, Size, "the file has 0 bytes, its header alone has 64");
        check(|file| file.truncate(63), Size, "the file has 63 bytes, its header alone has 64");
        check(|file| file[0] = b'X', Format, "the file is not a model of the guard");
        check(sealed(8, &2_u32.to_le_bytes()), Format, "the file has version 2, this program reads 1");
        check(sealed(12, &7_u32.to_le_bytes()), Size, "7 bits for a bucket's number, not 8 to 19");
        check(sealed(12, &u32::MAX.to_le_bytes()), Size, "4294967295 bits for a bucket's number, not 8 to 19");
        check(sealed(12, &19_u32.to_le_bytes()), Size, "256 weights, not 524288");
        check(|file| file.truncate(300), Size, "236 weights, not 256");
        check(|file| file.push(0), Size, "257 weights, not 256");
        let numbers = "the slope NaN or the bias -1 is not a number to multiply with or to add";
        check(sealed(16, &f32::NAN.to_le_bytes()), Content, numbers);
        let numbers = "the slope 0 or the bias -1 is not a number to multiply with or to add";
        check(sealed(16, &0_f32.to_le_bytes()), Content, numbers);
        let numbers = "the slope 0.5 or the bias inf is not a number to multiply with or to add";
        check(sealed(20, &f32::INFINITY.to_le_bytes()), Content, numbers);
        check(sealed(28, &[1]), Content, "the header's last two words are not 0");
        check(|file| file[100] ^= 1, Checksum, "the checksum does not fit, so the file is damaged");
        check(|file| file[40] ^= 1, Checksum, "the checksum does not fit, so the file is damaged");
    }

    #[test]
    fn parts_that_fit_no_file_are_refused() {
        for (length, kind) in [
            (0, SentenceScorerErrorKind::Size),
            (100, SentenceScorerErrorKind::Size),
            (1 << 20, SentenceScorerErrorKind::Size),
        ] {
            let weights = vec![0; length];
            assert_eq!(
                pack_scorer_file(&ScorerWeights { slope: 1.0, bias: 0.0, weights: &weights }).unwrap_err().kind(),
                kind,
                "{length}"
            );
        }
        let error = pack_scorer_file(&ScorerWeights { slope: -1.0, bias: 0.0, weights: &[0; 256] }).unwrap_err();
        assert_eq!(error.kind(), SentenceScorerErrorKind::Content);
    }
}
