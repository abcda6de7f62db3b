//! The objects that `lisp run --json` and `lisp check --json` print.

use proem_app::lisp::{ProgramProblem, SourceRefusal};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// What `lisp run --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LispRunOutput {
    /// How the program ended.
    pub(super) end: LispEnd,
    /// The result, or what `fail` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Json>,
    /// The same as the language prints it, so that it reads back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// What `println` printed, if the program ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<String>,
    /// Units of fuel used, if the program ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fuel: Option<u64>,
    /// Bytes of values at the program's end, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<usize>,
    /// Why it could not run, or not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problems: Option<Vec<LispProblem>>,
    /// The source with its brackets repaired, if there is one way only; `--repair` runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repaired: Option<String>,
}

impl LispRunOutput {
    /// An end of which nothing else is known.
    pub(super) const fn new(end: LispEnd) -> Self {
        let (value, text, output, fuel, bytes, problems, repaired) = (None, None, None, None, None, None, None);
        Self { end, value, text, output, fuel, bytes, problems, repaired }
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LispEnd {
    /// With a value.
    Value,
    /// With `fail`.
    Fail,
    /// With a value that isn't what the signature says.
    Mismatch,
    /// It did not run, since its input isn't what the signature says.
    Input,
    /// It could not go on.
    Error,
    /// It was stopped.
    Stopped,
    /// It did not run, since `lisp check` refuses it.
    Refused,
}

/// What `lisp check --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LispCheckOutput {
    /// Whether all files could be read and have no problem.
    pub(super) ok: bool,
    /// The files in the order given.
    pub(super) files: Vec<CheckedLispFile>,
}

/// What is wrong with one file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckedLispFile {
    /// Its path as given.
    pub(super) file: String,
    /// What was corrected before it was read, such as curly quotes, each with its first place.
    pub(super) warnings: Vec<String>,
    /// Its problems, in order.
    pub(super) problems: Vec<LispProblem>,
    /// The source with its brackets repaired, if there is one way only.
    pub(super) repaired: Option<String>,
    /// Why it could not be read.
    pub(super) unread: Option<String>,
}

impl CheckedLispFile {
    pub(super) const fn new(file: String) -> Self {
        Self { file, warnings: Vec::new(), problems: Vec::new(), repaired: None, unread: None }
    }
}

/// A problem of a program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LispProblem {
    /// Its kind, such as `type_error`.
    reason: &'static str,
    /// What is wrong.
    message: String,
    /// What to do about it.
    help: Option<String>,
    /// The line in the source, from 1.
    line: Option<usize>,
    /// The column, in characters from 1.
    column: Option<usize>,
}

impl LispProblem {
    pub(super) fn new(problem: &ProgramProblem) -> Self {
        let ProgramProblem { reason, message, help, place, .. } = problem;
        let (line, column) = place.unzip();
        Self { reason, message: message.clone(), help: help.clone(), line, column }
    }

    /// Where a value isn't what a signature says.
    pub(super) const fn of_signature(message: String) -> Self {
        let reason = proem_lisp::Reason::ValidationError.as_str();
        Self { reason, message, help: None, line: None, column: None }
    }

    /// The problem of a file that is no text or holds no form.
    pub(super) const fn of_file(message: String) -> Self {
        Self { reason: proem_lisp::Reason::ParseError.as_str(), message, help: None, line: None, column: None }
    }

    pub(super) fn all_of(refusal: &SourceRefusal) -> Vec<Self> {
        refusal.problems.iter().map(Self::new).collect()
    }
}
