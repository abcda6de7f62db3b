//! A model of a few tokens and four coordinates.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

use proem_embed::{StaticModelParts, pack};

/// The tokens, each in the row of its place.
pub(crate) const TOKENS: &[&str] = &[
    "a", "b", "ab", "abc", "##c", "##cd", "##d", ".", "-", "e", "##e", "中", "文", "ss", "ß", "zero", "##ß", "##.",
    "minus",
];

/// A row for each token; that of `zero` is zeros, that of `minus` the opposite of `a`'s.
pub(crate) fn values() -> Vec<i8> {
    let rows = TOKENS.iter().zip(1_i8..).map(|(token, number)| match *token {
        "zero" => [0; 4],
        "minus" => [-1, -4, 3, -127],
        _ => [number, 4, -3, if number == 1 { 127 } else { -128 }],
    });
    rows.flatten().collect()
}

/// The file.
pub(crate) fn file() -> Vec<u8> {
    let scales = vec![0.5; TOKENS.len()];
    pack(&StaticModelParts { dimension: 4, tokens: TOKENS, scales: &scales, values: &values() }).unwrap()
}
