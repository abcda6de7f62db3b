//! The catch-all for what a command can fail with, and its exit code.

use std::fmt;
use std::process::ExitCode;

use proem_engine::ErrorKind;

/// How much of what git said is shown, in characters.
const MAX_SAID: usize = 200;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Finding,
    Usage,
    Outside,
    Bug,
}

impl Failure {
    /// A negative answer: exit code 1.
    pub(crate) fn finding(text: impl Into<String>) -> Self {
        Self { kind: Kind::Finding, text: text.into() }
    }

    /// Wrong arguments, configuration or files of the user's: exit code 2.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, text: text.into() }
    }

    /// Something outside failed: exit code 3.
    pub(crate) fn outside(text: impl Into<String>) -> Self {
        Self { kind: Kind::Outside, text: text.into() }
    }

    /// Something that can't happen did: exit code 70.
    pub(crate) fn bug(what: &str, error: impl fmt::Display) -> Self {
        let text = format!("{what}: {error}; this is a bug in Proem, please report it");
        Self { kind: Kind::Bug, text }
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Finding => 1,
            Kind::Usage => 2,
            Kind::Outside => 3,
            Kind::Bug => 70,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<proem_engine::Error> for Failure {
    fn from(error: proem_engine::Error) -> Self {
        match error.kind() {
            ErrorKind::Render => Self::outside(error.to_string()),
            ErrorKind::Quarantined => Self::finding(error.to_string()),
            _ => Self::usage(error.to_string()),
        }
    }
}

impl From<proem_runtime::Error> for Failure {
    fn from(error: proem_runtime::Error) -> Self {
        use proem_runtime::Error;
        match error {
            Error::NoRevision { .. }
            | Error::AmbiguousRevision { .. }
            | Error::NoMergeBase { .. }
            | Error::NoCommits => Self::usage(error.to_string()),
            Error::GitFailed { ref said, .. } => {
                let said = proem_guard::show::terminal_capped(said, MAX_SAID).into_string();
                let said = said.trim();
                Self::outside(if said.is_empty() { error.to_string() } else { format!("{error}; git said: {said}") })
            }
            // An answer about the record.
            Error::NotReplayable { .. } => Self::finding(error.to_string()),
            _ => Self::outside(error.to_string()),
        }
    }
}

impl From<proem_llm::Error> for Failure {
    fn from(error: proem_llm::Error) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<proem_store::Error> for Failure {
    fn from(error: proem_store::Error) -> Self {
        match error {
            proem_store::Error::NotFound(_) | proem_store::Error::Conflict(_) => Self::usage(error.to_string()),
            _ => Self::outside(error.to_string()),
        }
    }
}
