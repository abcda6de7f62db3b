//! The one error of the facade.

use std::error::Error as StdError;
use std::fmt;

#[cfg(feature = "llm")]
use proem_app::Hint;

/// The kind of failure, so that a program can decide without reading text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller gave something wrong: a prompt, an input, a revision, a setting.
    Invalid,
    /// The answer is negative: the model refused, or no answer met the contract.
    Negative,
    /// A call could exceed a budget, so it must not be made.
    Exceeded,
    /// Something outside failed: a server, a file, a program.
    Outside,
    /// Something that cannot happen did.
    Bug,
}

/// A failure: its kind, and every problem with its place and its remedy.
///
/// A `main` that returns one prints the problems as they are meant to be read.
pub struct Error {
    kind: ErrorKind,
    problems: Vec<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, problem: impl Into<String>) -> Self {
        Self { kind, problems: vec![problem.into()], source: None }
    }

    #[cfg(any(feature = "guard", feature = "select"))]
    pub(crate) const fn all(kind: ErrorKind, problems: Vec<String>) -> Self {
        Self { kind, problems, source: None }
    }

    pub(crate) fn of(kind: ErrorKind, source: impl StdError + Send + Sync + 'static) -> Self {
        Self { kind, problems: vec![source.to_string()], source: Some(Box::new(source)) }
    }

    /// The kind of failure.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Every problem that was found, each with its place and what to do about it. A problem in a prompt file spans
    /// several lines: it quotes the line and points at the column.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
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
            proem_engine::ErrorKind::Quarantined => ErrorKind::Negative,
            proem_engine::ErrorKind::Render | proem_engine::ErrorKind::Embedding => ErrorKind::Outside,
            _ => ErrorKind::Invalid,
        };
        let problems = error.problems().iter().map(|problem| problem.trim_end().to_owned()).collect();
        Self { kind, problems, source: Some(Box::new(error)) }
    }
}

#[cfg(feature = "llm")]
impl From<proem_app::Error> for Error {
    fn from(error: proem_app::Error) -> Self {
        let kind = match error.kind() {
            proem_app::ErrorKind::Negative => ErrorKind::Negative,
            proem_app::ErrorKind::Invalid => ErrorKind::Invalid,
            proem_app::ErrorKind::Bug => ErrorKind::Bug,
            _ => ErrorKind::Outside,
        };
        let remedy = match error.hint() {
            Some(Hint::NameProvider(known)) => Some(format!("name a provider beside the model: {}", known.join(", "))),
            Some(Hint::NameModel { or_set }) => Some(format!("name a model, or set {or_set}")),
            Some(Hint::AllowMoreTime) => Some("allow more time with `Budget::seconds`".to_owned()),
            Some(Hint::ExplainOrFallBack) => {
                Some("declare a `fallback` in the prompt, or ask another model".to_owned())
            }
            Some(Hint::SetKey { variable }) => Some(format!("set {variable}")),
            Some(Hint::Record) => Some("keep records with `Client::records`".to_owned()),
            _ => None,
        };
        let problem = remedy.map_or_else(|| error.to_string(), |remedy| format!("{error}; {remedy}"));
        Self { problems: vec![problem], ..Self::of(kind, error) }
    }
}
