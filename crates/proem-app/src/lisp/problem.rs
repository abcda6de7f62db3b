//! Problems with their place, for people and for programs.

use proem_lisp::Problem;
use proem_text::line_column;

/// A problem of a program, with its place in the source that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramProblem {
    /// Its kind, such as `type_error`.
    pub reason: &'static str,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// Line and column from 1, the column in characters.
    pub place: Option<(usize, usize)>,
    /// All of it with an excerpt of the source, on several lines.
    pub excerpt: String,
}

impl ProgramProblem {
    /// A problem of the text with this name.
    #[must_use]
    pub fn new(problem: &Problem, name: &str, text: &str) -> Self {
        let diagnostic = &problem.diagnostic;
        Self {
            reason: problem.reason.as_str(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            place: diagnostic.span.map(|span| line_column(text, span.start)),
            excerpt: problem.render(name, text),
        }
    }
}
