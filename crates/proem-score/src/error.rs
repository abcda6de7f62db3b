//! The one error type of this crate.

use alloc::{borrow::ToOwned as _, string::String};
use core::fmt;

/// Why nothing could be learned from examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Rows, labels and weights don't belong together, or rows differ in length.
    Shape,
    /// A number is not finite, or a weight is negative.
    NotFinite,
    /// All examples have one label, or none has a weight: there is nothing to tell apart.
    OneClass,
    /// The equations have no solution that floating point could find.
    Singular,
}

/// A failure to learn, with the place where one is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    problem: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, problem: impl AsRef<str>) -> Self {
        Self { kind, problem: problem.as_ref().to_owned() }
    }

    /// The kind of error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl core::error::Error for Error {}
