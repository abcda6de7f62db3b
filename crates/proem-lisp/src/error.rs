//! Why a program can't go on.

use alloc::{boxed::Box, format, string::String};
use proem_text::{Diagnostic, DiagnosticSeverity, Span};

/// The kind of a problem, as programs, people and models name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The source isn't well-formed.
    ParseError,
    /// The source is well-formed and can't be a program.
    AnalysisError,
    /// A value has the right type and can't be used all the same.
    EvalError,
    /// A value has the wrong type.
    TypeError,
    /// A function takes another number of arguments.
    ArityError,
    /// A value isn't what a signature says.
    ValidationError,
    /// A name has no value.
    UnboundVar,
    /// The host has no such tool.
    UnknownTool,
    /// The tool answered with an error.
    ToolError,
    /// The program called more tools than it may.
    ToolCallLimit,
    /// The program ran longer than it may.
    FuelExhausted,
    /// The program used more memory than it may.
    MemoryExceeded,
    /// The program printed more than it may.
    OutputLimit,
    /// A call of a tool was not permitted.
    FlowDenied,
    /// A call of a tool may have happened, and nobody knows.
    ToolOutcomeUnknown,
    /// A model gave no answer that counts.
    LlmError,
    /// A model is needed, and none can be asked.
    LlmRequired,
    /// Agents call agents deeper than they may.
    MaxDepthExceeded,
    /// Agents that share turns have none left.
    TurnBudgetExhausted,
    /// The time of the mission is over.
    MissionTimeout,
}

proem_text::word_table! {
    /// The keyword's name, such as `type_error`.
    pub Reason {
        // Stored programs rely on this order.
        ParseError = "parse_error",
        AnalysisError = "analysis_error",
        EvalError = "eval_error",
        TypeError = "type_error",
        ArityError = "arity_error",
        ValidationError = "validation_error",
        UnboundVar = "unbound_var",
        UnknownTool = "unknown_tool",
        ToolError = "tool_error",
        ToolCallLimit = "tool_call_limit",
        FuelExhausted = "fuel_exhausted",
        MemoryExceeded = "memory_exceeded",
        OutputLimit = "output_limit",
        FlowDenied = "flow_denied",
        ToolOutcomeUnknown = "tool_outcome_unknown",
        LlmError = "llm_error",
        LlmRequired = "llm_required",
        MaxDepthExceeded = "max_depth_exceeded",
        TurnBudgetExhausted = "turn_budget_exhausted",
        MissionTimeout = "mission_timeout",
    }
}

/// A problem with its place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its kind.
    pub reason: Reason,
    /// The message, the place in the source that was read, and the remedy.
    pub diagnostic: Diagnostic,
    /// Whether it only says its kind and the outermost line, because its words or its place would tell a secret. A
    /// second such problem in one run of an agent ends the run.
    pub is_hidden: bool,
}

impl Problem {
    /// A problem at `span`.
    #[must_use]
    pub fn new(reason: Reason, span: Span, message: impl Into<String>) -> Self {
        let diagnostic =
            Diagnostic { severity: DiagnosticSeverity::Error, message: message.into(), span: Some(span), help: None };
        Self { reason, diagnostic, is_hidden: false }
    }

    /// The problem with its remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.diagnostic.help = Some(help.into());
        self
    }

    /// The message with its place and an excerpt of the source, for a terminal or a model.
    #[must_use]
    pub fn render(&self, name: &str, source: &str) -> String {
        self.diagnostic.render(name, source)
    }
}

/// A problem found by a function, which doesn't know where it was called.
///
/// Boxed, so that the result of every function stays small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(Box<FaultDetails>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FaultDetails {
    reason: Reason,
    message: String,
    help: Option<String>,
    /// Whether the remedy only says how a function is called.
    is_usage: bool,
}

impl Fault {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self(Box::new(FaultDetails { reason, message: message.into(), help: None, is_usage: false }))
    }

    /// The remedy, and whether it only says how a function is called.
    pub(crate) fn remedy(&self) -> (Option<&str>, bool) {
        (self.0.help.as_deref(), self.0.is_usage)
    }

    /// A fault that was stored.
    pub(crate) fn from_parts(reason: Reason, message: &str, help: Option<&str>, is_usage: bool) -> Self {
        let (message, help) = (String::from(message), help.map(String::from));
        Self(Box::new(FaultDetails { reason, message, help, is_usage }))
    }

    /// A value of the right type that can't be used.
    pub(crate) fn eval(message: impl Into<String>) -> Self {
        Self::new(Reason::EvalError, message)
    }

    /// A value of the wrong type.
    pub(crate) fn of_type(message: impl Into<String>) -> Self {
        Self::new(Reason::TypeError, message)
    }

    /// A limit that was reached, with the setting that raises it.
    pub(crate) fn limit(reason: Reason, message: impl Into<String>, setting: &str) -> Self {
        Self::new(reason, message).help(format!("raise `lisp.{setting}`, or let the program do less"))
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self.0.is_usage = false;
        self
    }

    /// The fault with how a function is called, unless it has a better remedy.
    #[must_use]
    pub(crate) fn or_usage(mut self, usage: impl FnOnce() -> String) -> Self {
        if self.0.help.is_none() || self.0.is_usage {
            self.0.help = Some(format!("it is called as {}", usage()));
            self.0.is_usage = true;
        }
        self
    }

    /// Its kind.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.0.reason
    }

    /// The problem: lower case, no full stop.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The problem at its place.
    #[must_use]
    pub fn at(self, span: Span) -> Problem {
        let problem = Problem::new(self.0.reason, span, self.0.message);
        match self.0.help {
            Some(help) => problem.help(help),
            None => problem,
        }
    }
}
