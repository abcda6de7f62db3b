//! Makes the file that [`StaticModel::load`](crate::StaticModel::load) reads.

use crate::{
    error::{Error, ErrorKind},
    table::{
        DIGEST, EmbeddingTable, HEADER_BYTES, MAGIC, MAX_DIMENSION, MAX_ROWS, MAX_TOKEN_BYTES, TokenHash, VERSION,
        digest,
    },
};

/// A model to be packed. Tokens, scales and rows are in the same order.
#[derive(Debug, Clone, Copy)]
pub struct StaticModelParts<'a> {
    /// Coordinates of each row, 1 to [`MAX_DIMENSION`].
    pub dimension: usize,
    /// The token of each row, 1 to [`MAX_TOKEN_BYTES`] bytes each, no two alike.
    pub tokens: &'a [&'a str],
    /// The factor of each row's integers, finite and not negative.
    pub scales: &'a [f32],
    /// The rows, one after the other.
    pub values: &'a [i8],
}

/// Writes a model as a file. The same parts give the same bytes.
///
/// # Errors
///
/// [`ErrorKind::Size`] if the parts don't belong together or are too large, [`ErrorKind::Content`]
/// if a token or a scale can't be.
pub fn pack(parts: &StaticModelParts<'_>) -> Result<Vec<u8>, Error> {
    let (dimension, rows) = check(parts)?;
    let slots = slots(parts.tokens)?;
    let mut ends = Vec::with_capacity(parts.tokens.len());
    let mut text = String::new();
    for token in parts.tokens {
        text.push_str(token);
        ends.push(size(text.len(), "the tokens' size")?);
    }
    let mut file = Vec::with_capacity(HEADER_BYTES.saturating_add(parts.values.len()));
    file.extend(MAGIC);
    let header =
        [VERSION, dimension, rows, size(slots.len(), "the number of slots")?, size(text.len(), "the tokens' size")?, 0];
    file.extend(header.into_iter().flat_map(u32::to_le_bytes));
    file.resize(HEADER_BYTES, 0);
    file.extend(slots.into_iter().flat_map(u32::to_le_bytes));
    file.extend(ends.into_iter().flat_map(u32::to_le_bytes));
    file.extend(text.bytes());
    file.extend(parts.scales.iter().flat_map(|scale| scale.to_le_bytes()));
    let lengths = parts.values.chunks_exact(parts.dimension.max(1)).map(inverse_length);
    file.extend(lengths.flat_map(f32::to_le_bytes));
    file.extend(parts.values.iter().map(|value| value.cast_unsigned()));
    let digest = digest(&file);
    if let Some(field) = file.get_mut(DIGEST) {
        field.copy_from_slice(&digest);
    }
    // The written table is read back: the two can't drift apart.
    EmbeddingTable::read(&file)?;
    Ok(file)
}

/// The dimension and the number of rows.
fn check(parts: &StaticModelParts<'_>) -> Result<(u32, u32), Error> {
    let wrong = |problem: String| Err(Error::new(ErrorKind::Size, problem));
    let (tokens, scales, values) = (parts.tokens.len(), parts.scales.len(), parts.values.len());
    let Some(dimension) = u32::try_from(parts.dimension).ok().filter(|d| (1..=MAX_DIMENSION).contains(d)) else {
        return wrong(format!("a dimension of {}, not 1 to {MAX_DIMENSION}", parts.dimension));
    };
    let Some(rows) = u32::try_from(tokens).ok().filter(|rows| (1..=MAX_ROWS).contains(rows)) else {
        return wrong(format!("{tokens} tokens, not 1 to {MAX_ROWS}"));
    };
    if scales != tokens || Some(values) != tokens.checked_mul(parts.dimension) {
        return wrong(format!("{tokens} tokens, {scales} scales and {values} values don't belong together"));
    }
    if let Some(row) = parts.tokens.iter().position(|token| !(1..=MAX_TOKEN_BYTES).contains(&token.len())) {
        let problem = format!("the token of row {row} is not 1 to {MAX_TOKEN_BYTES} bytes long");
        return Err(Error::new(ErrorKind::Content, problem));
    }
    Ok((dimension, rows))
}

/// The smallest hash table in which every token is found after a few steps.
fn slots(tokens: &[&str]) -> Result<Vec<u32>, Error> {
    let mut sorted: Vec<(&str, usize)> = tokens.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    if let Some(((token, a), (_, b))) = sorted.iter().zip(sorted.iter().skip(1)).find(|((a, _), (b, _))| a == b) {
        let problem = format!("rows {a} and {b} have the same token `{}`", token.escape_debug());
        return Err(Error::new(ErrorKind::Content, problem));
    }
    let smallest = tokens.len().saturating_mul(2).next_power_of_two().max(2);
    for size in (0..3).map(|doublings| smallest << doublings) {
        if let Some(slots) = fill(tokens, size) {
            return Ok(slots);
        }
    }
    Err(Error::new(ErrorKind::Content, "too many tokens have one hash; leave some out"))
}

fn fill(tokens: &[&str], size: usize) -> Option<Vec<u32>> {
    let mut slots = vec![0_u32; size];
    for (token, entry) in tokens.iter().zip(1..) {
        let free = TokenHash::of(token).places(size).find(|place| slots.get(*place) == Some(&0))?;
        *slots.get_mut(free)? = entry;
    }
    Some(slots)
}

/// 1 / length of a row's integers; 0 for a row of zeros.
fn inverse_length(row: &[i8]) -> f32 {
    let squares: f64 = row.iter().map(|value| f64::from(i32::from(*value).pow(2))).sum();
    #[expect(clippy::cast_possible_truncation, reason = "a number from 0 to 1")]
    let inverse = if squares > 0.0 { (1.0 / squares.sqrt()) as f32 } else { 0.0 };
    inverse
}

fn size(number: usize, what: &str) -> Result<u32, Error> {
    u32::try_from(number)
        .map_err(|_| Error::new(ErrorKind::Size, format!("{what} is {number}, more than 32 bits hold")))
}
