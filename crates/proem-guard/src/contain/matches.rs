//! The parts of a text that must not stay unchanged.

use crate::finding::FindingKind;
use proem_text::Span;

/// A place that must not stay as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) kind: FindingKind,
    /// The text that makes the pattern.
    pub(crate) span: Span,
    pub(crate) remedy: Remedy,
}

/// How a pattern is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Cut it out.
    Remove,
    /// Put a backslash at this place, or as near as text from outside allows.
    Escape {
        /// The place in bytes.
        at: usize,
    },
}
