//! Why a template is unreadable, or has no text.

use super::LineColumn;

/// A template that can't be used, with where and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateSyntaxError {
    pub(crate) at: LineColumn,
    pub(crate) message: String,
}

impl TemplateSyntaxError {
    pub(super) fn at<T>(at: LineColumn, message: impl Into<String>) -> Result<T, Self> {
        Err(Self { at, message: message.into() })
    }
}

/// Why a template has no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenderFailure(String);

impl RenderFailure {
    pub(super) const fn new(problem: String) -> Self {
        Self(problem)
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

pub(super) fn render_problem<T>(problem: impl Into<String>) -> Result<T, RenderFailure> {
    Err(RenderFailure::new(problem.into()))
}
