//! The object that `lisp agent --json` prints: a mission's step result.

use std::collections::BTreeMap;

use proem_agents::lisp::turns::record::{MissionEnd, StepFailure, TurnCall, TurnRecord};
use proem_app::lisp::mission::{Mission, MissionReport};
use proem_lisp::{Limits, Meter, Value, open_secret_fields, print_readable, write_json};
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::output::LispLabel;
use crate::failure::CommandFailure;
use crate::ui::PublishedDocument;

/// The output of `lisp agent --json`: how a mission ended, and how it came to that.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct LispAgentOutput {
    /// The value that the mission returned. Missing if it failed.
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    returned: Option<Json>,
    /// The same as the language prints it, so that it reads back.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Whether no program returned it: the turns ran out, and it is the last value that fits.
    fallback: bool,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    fail: Option<AgentFailure>,
    /// Whether the failure is the program's own, by `fail`.
    failed_by_program: bool,
    /// The memory at the end, with `[Hidden]` for what is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Json>,
    /// The part of it that is new or has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_delta: Option<Json>,
    /// The label of the value: where it is from, and what the model was shown before.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<LispLabel>,
    /// The label of all data that the model was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<LispLabel>,
    /// The agent's signature.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    signature: String,
    /// Its use of resources.
    usage: AgentUsage,
    /// The turns, the first one first.
    trace: Vec<AgentTurn>,
    /// The run's id in the records. Missing if it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    /// The id of the run that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_trace_id: Option<String>,
    /// The commands that work without a model, if none can be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<String>,
}

/// Why a mission has no value.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentFailure {
    /// Its kind, such as `max_turns_exceeded`, or what a program gave to `fail`.
    reason: String,
    /// The failure in words.
    message: String,
    /// The operation that failed, as the program named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<String>,
    /// More of it, as the language prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<String>,
}

impl From<&StepFailure> for AgentFailure {
    fn from(failure: &StepFailure) -> Self {
        let StepFailure { reason, message, op, details } = failure.clone();
        Self { reason, message, op, details }
    }
}

/// The resources that a mission used.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct AgentUsage {
    /// Milliseconds from its first step to its last.
    duration_ms: u64,
    /// How many turns it took.
    turns: u32,
    /// Tokens that models read, if all calls reported them.
    tokens_in: Option<u64>,
    /// Tokens that models wrote, if all calls reported them.
    tokens_out: Option<u64>,
    /// Those read from a provider's cache, if all calls reported them.
    tokens_cached: Option<u64>,
    /// The cost in nano-dollars, if it is known.
    cost_nano_dollars: Option<u64>,
    /// Units of fuel of all programs. Unknown where they would tell of a secret.
    fuel: Option<u64>,
    /// The most bytes of values at the end of a program. Unknown where they would tell of a secret.
    bytes: Option<usize>,
    /// How many calls of tools it made.
    tool_calls: u32,
}

/// One turn.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentTurn {
    /// Its number, from 1.
    turn: u32,
    /// The form of the answer: `ran`, `rejected`, `no-code`, `several-blocks`, `cut-off` or `refused`.
    kind: &'static str,
    /// The program as the model wrote it.
    program: String,
    /// The text that it printed.
    printed: String,
    /// The start of its value, as the language prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// Why it did not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<AgentProblem>,
    /// The calls that it made, in their order.
    tool_calls: Vec<AgentCall>,
    /// Milliseconds from the model's answer to the program's end.
    duration_ms: u64,
}

/// Why a turn's program did not go on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentProblem {
    /// Its kind, such as `type_error`.
    reason: String,
    /// The problem in words.
    message: String,
    /// Its line in the program, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// Its column in the program, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

/// A call of a tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentCall {
    /// The name of the tool.
    tool: String,
    /// The start of its arguments as JSON.
    arguments: String,
    /// How it ended: `answered`, `failed`, `denied`, `unknown` or `unavailable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// The start of its result as JSON, or the words of its failure.
    result: String,
    /// How long it took in milliseconds.
    duration_ms: u64,
}

impl From<&TurnRecord> for AgentTurn {
    fn from(turn: &TurnRecord) -> Self {
        let call = |call: &TurnCall| AgentCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            outcome: call.outcome.clone(),
            result: call.result.clone(),
            duration_ms: u64::try_from(call.ended.0.saturating_sub(call.began.0)).unwrap_or(0),
        };
        let problem = turn.problem.as_ref().map(|problem| AgentProblem {
            reason: problem.reason.clone(),
            message: problem.message.clone(),
            line: problem.place.map(|(line, _)| line),
            column: problem.place.map(|(_, column)| column),
        });
        Self {
            turn: turn.number,
            kind: turn.kind.as_str(),
            program: turn.program.clone(),
            printed: turn.printed.clone(),
            result: turn.result.clone(),
            problem,
            tool_calls: turn.calls.iter().map(call).collect(),
            duration_ms: u64::try_from(turn.ended.0.saturating_sub(turn.began.0)).unwrap_or(0),
        }
    }
}

impl LispAgentOutput {
    /// A mission that could not begin.
    pub(super) fn unbegun(reason: &str, message: String, degraded: Vec<String>) -> Self {
        let fail = AgentFailure::from(&StepFailure::new(reason, message));
        Self { fail: Some(fail), degraded, ..Self::default() }
    }

    /// The result of a mission, but for its values.
    fn of(mission: &Mission, report: &MissionReport) -> Self {
        let outcome = &report.outcome;
        let (value, fail, fallback) = match &outcome.end {
            MissionEnd::Return { value, is_fallback } => (Some(value), None, *is_fallback),
            MissionEnd::Fail(failure) | MissionEnd::NoAnswer(failure) => (None, Some(failure), false),
        };
        let usage = report.usage.as_ref();
        Self {
            text: value.map(|value| step_value_text(value, mission.limits())),
            fallback,
            fail: fail.map(AgentFailure::from),
            failed_by_program: matches!(outcome.end, MissionEnd::Fail(_)),
            label: value.map(|value| LispLabel::of(&value.label())),
            shown: Some(LispLabel::of(&outcome.shown)),
            signature: mission.definition().signature.to_string(),
            usage: AgentUsage {
                duration_ms: outcome.usage.duration_ms,
                turns: outcome.usage.turns,
                tokens_in: usage.and_then(|usage| usage.input),
                tokens_out: usage.and_then(|usage| usage.output),
                tokens_cached: usage.and_then(|usage| usage.cache_read),
                cost_nano_dollars: report.cost.map(|cost| cost.0),
                fuel: outcome.usage.fuel,
                bytes: outcome.usage.bytes,
                tool_calls: outcome.usage.tool_calls,
            },
            trace: outcome.turns.iter().map(AgentTurn::from).collect(),
            trace_id: report.run.as_ref().map(|run| run.0.clone()),
            parent_trace_id: mission.caller().map(|caller| caller.run.0.clone()),
            ..Self::default()
        }
    }

    /// The whole object without values that only text of JSON can hold.
    pub(super) fn document(&self) -> PublishedDocument {
        PublishedDocument::line_of(&json!(self))
    }
}

/// A value as its reader gets it: fields whose name begins with `_` are open.
pub(super) fn step_value_text(value: &Value, limits: &Limits) -> String {
    print_readable(&open_secret_fields(value.clone()), &mut Meter::new(*limits))
        .unwrap_or_else(|fault| fault.message().to_owned())
}

/// The step result as one object. Its values are written as text, since no other type of JSON here holds large integers
/// and deep values.
pub(super) fn step_document(mission: &Mission, report: &MissionReport) -> Result<PublishedDocument, CommandFailure> {
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    for (name, field) in json!(LispAgentOutput::of(mission, report)).as_object().into_iter().flatten() {
        fields.insert(name.clone(), json::compact(field));
    }
    let written = |value: &Value| {
        let written = write_json(value, &mut Meter::new(*mission.limits()));
        written.map_err(|fault| CommandFailure::finding(fault.message().to_owned()))
    };
    if let MissionEnd::Return { value, .. } = &report.outcome.end {
        fields.insert("return".to_owned(), written(&open_secret_fields(value.clone()))?);
    }
    // A memory may hold functions, which JSON has no form for.
    for (name, value) in [("memory", &report.outcome.memory), ("memory_delta", &report.outcome.memory_delta)] {
        let text = written(value).unwrap_or_else(|_| json::quote_json(&step_value_text(value, mission.limits())));
        fields.insert(name.to_owned(), text);
    }
    Ok(PublishedDocument::Line(fields))
}
