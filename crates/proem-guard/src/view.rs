//! The readings of a text: what a model reads, and what it would read if it decoded and squinted.
//!
//! [`clean_view`] makes the text that models get (T9). Everything else here is for matching only: it is never
//! shown and never sent. A [`Reading`] is the clean view, or a text made from a reading by one more [`ReadingStep`].
//! [`folded_view`] gives each of them one spelling. All of them map back to bytes of the original, so that a
//! finding has a place that a person can look at.

mod base64;
#[cfg(test)]
mod cases;
mod clean;
mod draft;
mod emoji;
mod entities;
mod escapes;
mod hex;
mod html;
mod invisible_text;
mod leet;
mod letter_spacing;
mod payload;
mod percent;
mod readings;
mod reversals;
pub(crate) mod skeleton;
mod spelling;
pub(crate) mod step;
mod word_splits;

pub(crate) use self::base64::{base64_bytes, is_digit as is_base64_digit};
pub(crate) use self::entities::reference;
pub use self::{
    clean::{CleanView, clean_view},
    readings::{DecodingLimits, Readings, all_readings},
    spelling::folded_view,
    step::ReadingStep,
};

use alloc::vec::Vec;
use proem_text::View;

/// One way a text can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// How it was made from the clean view, outermost step first. Empty for the clean view.
    pub steps: Vec<ReadingStep>,
    /// The text with its line breaks, and the way back to the original.
    pub view: View,
}
