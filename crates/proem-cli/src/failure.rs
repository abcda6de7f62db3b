//! The catch-all for what a command can fail with, and its exit code.

use std::fmt;
use std::process::ExitCode;

use proem_app::{Error, ErrorKind};

use crate::hints;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CommandFailure(Error);

impl CommandFailure {
    /// A negative answer: exit code 1.
    pub(crate) fn finding(text: impl Into<String>) -> Self {
        Self(Error::negative(text))
    }

    /// Wrong arguments, configuration or files of the user's: exit code 2.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self(Error::invalid(text))
    }

    /// Something outside failed: exit code 3.
    pub(crate) fn outside(text: impl Into<String>) -> Self {
        Self(Error::outside(text))
    }

    /// Something that can't happen did: exit code 70.
    pub(crate) fn bug(what: &str, error: impl fmt::Display) -> Self {
        Self(Error::bug(what, error))
    }

    /// The same for a use case that hands a failure of this program's on.
    pub(crate) fn into_error(self) -> Error {
        self.0
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self.0.kind() {
            ErrorKind::Negative => 1,
            ErrorKind::Invalid => 2,
            ErrorKind::Outside => 3,
            // Bugs, and what is not known to be anything else.
            _ => 70,
        })
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        self.0.hint().map_or(Ok(()), |hint| f.write_str(&hints::remedy_tail(hint)))
    }
}

impl<E: Into<Error>> From<E> for CommandFailure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}
