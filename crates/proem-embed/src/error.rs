//! The one error type of this crate.

use core::fmt;

/// The fault of a table of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It isn't such a file, or one of another version.
    Format,
    /// The file is shorter or longer than its header says, or a size is out of range.
    Size,
    /// A token, place or number inside can't be.
    Content,
    /// The content is not what the file was made with.
    Checksum,
}

/// Why a table can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    problem: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, problem: impl Into<String>) -> Self {
        Self { kind, problem: problem.into() }
    }

    /// The kind of fault.
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
