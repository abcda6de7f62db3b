//! The kinds of evidence, and the place of each.

/// How many kinds of evidence there are.
pub const FEATURES: usize = 9;

/// The kinds of evidence, in the order of the weights. Each is 0 to 1, cosines −1 to 1.
pub const FEATURE_NAMES: [&str; FEATURES] =
    ["words", "grams", "name", "meaning", "near", "covered", "used words", "used meaning", "used"];

/// The evidence of one entry, in the order of [`FEATURE_NAMES`].
pub type EntryEvidence = [f32; FEATURES];

pub(super) const WORDS: usize = 0;
pub(super) const GRAMS: usize = 1;
pub(super) const NAME: usize = 2;
pub(super) const MEANING: usize = 3;
pub(super) const NEAR: usize = 4;
pub(super) const COVERED: usize = 5;
pub(super) const USED_WORDS: usize = 6;
pub(super) const USED_MEANING: usize = 7;
pub(super) const USED: usize = 8;
