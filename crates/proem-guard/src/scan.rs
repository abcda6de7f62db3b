//! The inputs of scanners, their hits, and the result of a scan.

use crate::{
    finding::{Finding, FindingKind, Severity},
    lexicon::Mention,
    score::InjectionFeatures,
    view::Reading,
};
use alloc::vec::Vec;
use core::fmt;
use proem_text::{Span, View};

/// One reading of a text, prepared for scanners.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    /// One way to read the text that is looked at.
    pub reading: &'a Reading,
    /// Its text in one spelling. The map leads to the reading's text.
    pub folded: &'a View,
    /// The concepts that the folded text mentions, in order, with places in the folded text.
    pub mentions: &'a [Mention],
}

/// The hit of one scanner in one reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The sort of attack.
    pub kind: FindingKind,
    /// The rule that found it.
    pub rule: &'static str,
    /// The place, in bytes of the reading's text.
    pub span: Span,
    /// How much harm it could do if it was in plain sight.
    pub severity: Severity,
    /// How sure the rule is, 0 to 1.
    pub score: f32,
}

/// A rule family.
pub trait Scanner {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// Adds what it finds in one reading.
    ///
    /// # Errors
    ///
    /// [`ScanError`] if it can't tell. The text then counts as not looked at.
    fn scan(&self, sight: &Sight<'_>, hits: &mut Vec<Hit>) -> Result<(), ScanError>;
}

/// A scanner couldn't tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// Why, for a person who can change the rules or the input.
    pub reason: &'static str,
}

/// A part of a text that was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreadSpan {
    /// The place, in bytes of the original.
    pub span: Span,
    /// The reason that it was not read.
    pub reason: UnreadReason,
}

/// Why a part of a text was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnreadReason {
    /// More encodings inside each other, or more decoded text, than is decoded.
    DecodingLimit,
    /// A scanner failed.
    Scanner {
        /// Its name.
        name: &'static str,
        /// The reason in its words.
        reason: &'static str,
    },
}

impl fmt::Display for UnreadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DecodingLimit => f.write_str("encoded deeper or longer than is decoded"),
            Self::Scanner { name, reason } => write!(f, "the scanner `{name}` failed: {reason}"),
        }
    }
}

/// The findings in one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// By place, then kind. Of more than [`MAX_FINDINGS`] the worst are kept.
    pub findings: Vec<Finding>,
    /// The unread parts, by place.
    pub unread: Vec<UnreadSpan>,
    /// Suspicion, 0 to 1: 0.5 is where one benign text in a hundred is above, by the texts that the score was
    /// calibrated on.
    pub score: f64,
    /// The features of the score.
    pub features: InjectionFeatures,
    /// How many windows the learned scorer read, those of all readings together.
    pub window_count: usize,
}

/// How many findings are kept of one text.
pub const MAX_FINDINGS: usize = 1000;
