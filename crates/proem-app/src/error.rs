//! Why a use case failed.

use std::error::Error as StdError;
use std::fmt;

use proem_engine::ErrorKind as EngineErrorKind;
use proem_store::AbsenceRemedy;

use crate::message::{Hint, Message};

/// How much of what git said is shown, in characters.
const MAX_SAID: usize = 200;

/// The kind of failure, so that a caller can decide without reading text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The answer is negative: something was found, or something is not as it should be.
    Negative,
    /// The caller's input is wrong: options, configuration or files of the user's.
    Invalid,
    /// Something outside failed: a file system, a program, a server.
    Outside,
    /// Something that can't happen did.
    Bug,
}

/// A failure: what kind, in words, what could be done, and what it came from.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: Message,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A negative answer.
    #[must_use]
    pub fn negative(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Negative, text)
    }

    /// Something wrong with what the caller gave.
    #[must_use]
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, text)
    }

    /// Something outside that failed.
    #[must_use]
    pub fn outside(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Outside, text)
    }

    /// Something that can't happen.
    #[must_use]
    pub fn bug(what: &str, error: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Bug, format!("{what}: {error}; this is a bug in Proem, please report it"))
    }

    /// The same with what could be done about it.
    #[must_use]
    pub fn hinting(mut self, hint: Hint) -> Self {
        self.message.hint = Some(hint);
        self
    }

    /// The kind of failure.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The remedy.
    #[must_use]
    pub const fn hint(&self) -> Option<&Hint> {
        self.message.hint.as_ref()
    }

    fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, message: text.into().into(), source: None }
    }

    fn from_source(kind: ErrorKind, source: impl StdError + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(source)), ..Self::new(kind, String::new()) }.worded()
    }

    fn worded(mut self) -> Self {
        if let Some(source) = &self.source {
            self.message.text = source.to_string();
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<proem_engine::Error> for Error {
    fn from(error: proem_engine::Error) -> Self {
        let kind = match error.kind() {
            EngineErrorKind::Render | EngineErrorKind::StateLimit => ErrorKind::Outside,
            EngineErrorKind::Quarantined => ErrorKind::Negative,
            _ => ErrorKind::Invalid,
        };
        let failure = Self::from_source(kind, error);
        if kind == ErrorKind::Negative { failure.hinting(Hint::ScanTask) } else { failure }
    }
}

impl From<proem_runtime::Error> for Error {
    fn from(error: proem_runtime::Error) -> Self {
        use proem_runtime::Error;
        match &error {
            Error::NoRevision { .. } | Error::AmbiguousRevision { .. } | Error::NoMergeBase { .. } => {
                Self::from_source(ErrorKind::Invalid, error)
            }
            Error::NoCommits => Self::from_source(ErrorKind::Invalid, error).hinting(Hint::TakeWorktree),
            Error::InConflict { .. } => Self::from_source(ErrorKind::Outside, error).hinting(Hint::TakeWorktree),
            Error::GitFailed { said, .. } => {
                let said = proem_guard::show::terminal_capped(said, MAX_SAID).into_string();
                let said = said.trim().to_owned();
                let mut failure = Self::from_source(ErrorKind::Outside, error);
                if !said.is_empty() {
                    failure.message.text.push_str(&format!("; git reported: {said}"));
                }
                failure
            }
            Error::Records(records) => {
                let hint = records_hint(records);
                let mut failure = Self::from_source(ErrorKind::Outside, error);
                failure.message.hint = hint;
                failure
            }
            // An answer about the record.
            Error::NotReplayable { .. } => Self::from_source(ErrorKind::Negative, error),
            _ => Self::from_source(ErrorKind::Outside, error),
        }
    }
}

impl From<proem_llm::Error> for Error {
    fn from(error: proem_llm::Error) -> Self {
        Self::from_source(ErrorKind::Invalid, error)
    }
}

impl From<proem_store::Error> for Error {
    fn from(error: proem_store::Error) -> Self {
        let kind = match error {
            proem_store::Error::NotFound(_) | proem_store::Error::Conflict(_) => ErrorKind::Invalid,
            proem_store::Error::Parked(_) => ErrorKind::Negative,
            _ => ErrorKind::Outside,
        };
        let hint = records_hint(&error);
        let mut failure = Self::from_source(kind, error);
        failure.message.hint = hint;
        failure
    }
}

/// The remedy for a request that the records can't fulfil.
fn records_hint(error: &proem_store::Error) -> Option<Hint> {
    match error {
        proem_store::Error::Foreign { .. } | proem_store::Error::Parked(_) => Some(Hint::AdoptRecords),
        proem_store::Error::NotFound(absence) => match absence.remedy? {
            AbsenceRemedy::ListRuns => Some(Hint::ListRuns { all: false }),
            AbsenceRemedy::ListAllRuns => Some(Hint::ListRuns { all: true }),
            AbsenceRemedy::ListAttempts => Some(Hint::ListAttempts),
            _ => None,
        },
        _ => None,
    }
}
