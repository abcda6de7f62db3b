//! The one error type of this crate.

use core::fmt;
use proem_text::diagnostic::Diagnostic;

/// The kind of error, so that a caller can decide without reading text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A prompt file, partial, schema or data file is not well formed.
    InvalidFile,
    /// A prompt, version or partial does not exist.
    NotFound,
    /// A file was changed under a version of a prompt that is locked.
    Edited,
    /// The input does not match the prompt's schema.
    InvalidInput,
    /// Text would be in a section of higher trust than its label allows.
    TrustViolation,
    /// The input is an attack.
    Quarantined,
    /// The required sections alone do not fit.
    BudgetTooSmall,
    /// No model or role of that name.
    UnknownModel,
    /// A vector is infinite, has no length, or comes from another model than its peer.
    InvalidVector,
    /// An embedding model could not be asked.
    Embedding,
    /// An event came that a run did not ask for.
    OutOfStep,
    /// The states of a run take more than they may.
    StateLimit,
    /// Rendering failed although the checks passed.
    Render,
}

/// A failure, with every problem found, each a text of one or more lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    problems: Vec<String>,
}

impl Error {
    /// One problem.
    #[must_use]
    pub fn new(kind: ErrorKind, problem: impl Into<String>) -> Self {
        Self { kind, problems: vec![problem.into()] }
    }

    /// Several problems of one kind.
    #[must_use]
    pub const fn all(kind: ErrorKind, problems: Vec<String>) -> Self {
        Self { kind, problems }
    }

    /// Problems in one file, each with its excerpt.
    #[must_use]
    pub fn in_file(name: &str, text: &str, diagnostics: &[Diagnostic]) -> Self {
        Self::all(ErrorKind::InvalidFile, diagnostics.iter().map(|d| d.render(name, text)).collect())
    }

    /// The kind of error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Every problem found.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(problem.trim_end())?;
        }
        Ok(())
    }
}

impl core::error::Error for Error {}

/// An error at a place in a file.
pub(crate) fn error_at(message: impl Into<String>, span: proem_text::span::Span) -> Diagnostic {
    Diagnostic {
        severity: proem_text::diagnostic::DiagnosticSeverity::Error,
        message: message.into(),
        span: Some(span),
        help: None,
    }
}
