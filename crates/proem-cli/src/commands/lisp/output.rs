//! The objects that `lisp run --json` and `lisp check --json` print.

use std::collections::BTreeMap;

use proem_app::lisp::{ProgramProblem, SourceRefusal, TracedCall};
use proem_text::{Audience, Label, Sources};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// The output of `lisp run --json`.
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
    /// The printed text, if the program ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<String>,
    /// Units of fuel used, if the program ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fuel: Option<u64>,
    /// Bytes of values at the program's end, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<usize>,
    /// The label of what it ended with, where the value is from and who may read it, if an input has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<LispLabel>,
    /// The calls of tools with their labels, with `--trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) calls: Option<Vec<LispCall>>,
    /// Why it could not run, or not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problems: Option<Vec<LispProblem>>,
    /// The source with its brackets repaired, if there is one way only. `--repair` runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repaired: Option<String>,
}

impl LispRunOutput {
    /// An end of which nothing else is known.
    pub(super) const fn new(end: LispEnd) -> Self {
        let (value, text, output, fuel, bytes, problems, repaired) = (None, None, None, None, None, None, None);
        Self { end, value, text, output, fuel, bytes, label: None, calls: None, problems, repaired }
    }
}

/// The known origin of a value.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LispLabel {
    /// The untrusted sources that it derives from, `many` for more than 32. None for what is trusted.
    sources: Vec<String>,
    /// Whether it must stay hidden.
    secret: bool,
    /// The widest circle that may read it.
    audience: &'static str,
}

impl LispLabel {
    pub(super) fn of(label: &Label) -> Self {
        let sources = match label.sources() {
            Sources::Many => vec!["many".to_owned()],
            Sources::Named(named) => named.iter().map(ToString::to_string).collect(),
        };
        Self { sources, secret: label.is_secret(), audience: label.audience().as_str() }
    }

    /// For people: `mail, secret`, or `none`.
    pub(super) fn words(label: &Label) -> String {
        let Self { sources: mut words, secret, audience } = Self::of(label);
        words.extend(secret.then(|| "secret".to_owned()));
        words.extend((label.audience() != Audience::Public).then(|| audience.to_owned()));
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    }
}

/// A call of a tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LispCall {
    /// The tool.
    name: String,
    /// The arguments as the language prints them, with `[Hidden]` for secrets.
    arguments: String,
    /// The label of each argument.
    labels: BTreeMap<String, LispLabel>,
    /// The label of the branches, loops and names that decided on the call.
    pc: LispLabel,
    /// The label of all that decided on effects so far.
    floor: LispLabel,
}

impl LispCall {
    pub(super) fn of(call: &TracedCall) -> Self {
        let labels = call.labels.iter().map(|(name, label)| (name.clone(), LispLabel::of(label)));
        Self {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            labels: labels.collect(),
            pc: LispLabel::of(&call.pc),
            floor: LispLabel::of(&call.floor),
        }
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

/// The output of `lisp check --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LispCheckOutput {
    /// Whether all files could be read and have no problem.
    pub(super) ok: bool,
    /// The files in the order given.
    pub(super) files: Vec<CheckedLispFile>,
}

/// The problems of one file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckedLispFile {
    /// Its path as given.
    pub(super) file: String,
    /// The corrections before it was read, such as curly quotes, each with its first place.
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
    /// The problem.
    message: String,
    /// The remedy.
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

    /// The places at which a value doesn't fit a signature.
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
