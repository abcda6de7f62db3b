//! Why a model's file can't be used.

use alloc::string::String;
use core::fmt;

/// The fault of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not JSON of the expected form.
    Syntax,
    /// The file has a version that this program doesn't read.
    Version,
    /// A tree asks for an input that doesn't exist.
    UnknownInput,
    /// The numbers of a tree don't belong together.
    Shape,
    /// A number is not finite or out of its range.
    Number,
}

/// A model that can't be used, with the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    problem: String,
}

impl Error {
    pub(super) const fn new(kind: ErrorKind, problem: String) -> Self {
        Self { kind, problem }
    }

    /// The kind of fault.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the risk model can't be used: {}; train it again with `cargo lab train risk`", self.problem)
    }
}

impl core::error::Error for Error {}
