//! Why something could not be read.

use alloc::string::String;
use core::fmt;

/// The sort of failure, for callers that react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Kept bytes are damaged or of another version; what they were made from is read again.
    Damaged,
    /// A file of somebody's, such as a coverage report or a list of incidents, is not what it should be.
    Unreadable,
    /// A model, a threshold or a feature is no number, or out of its range.
    OutOfRange,
}

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    /// An error with what to do about it in `message`: lower case, no full stop.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Error {}
