//! The spans of a run: the run, its calls to models, its calls of tools and its effects.
//!
//! Invariants: ids follow from ours, so that the same run exported twice is the same trace. A run that another one called
//! is in that one's trace. No text that was sent or answered is in a span, unless texts are given. Tokens are on the
//! spans of calls alone, so that a sum over spans counts them once; those of a cache are part of the prompt's.

use std::path::Path;

use proem_engine::effect::ActionState;
use proem_engine::run::{EffectId, Time};
use proem_runtime::telemetry::wire::{
    KeyValue, OperationCourse, SpanEvent, SpanKind, SpanPlace, SpanStatus, TraceSpan,
};
use proem_store::query::{ActionRow, AttemptRow, CallRow, RunRow, RunState, RunTrace, ToolCallRow};
use proem_store::record::{CallState, RunId, RunOutcome, ToolCallState};
use proem_text::hex::decode_hex;
use sha2::{Digest, Sha256};

use super::content::RunTexts;
use super::conventions::{SpanField, SpanNames, SpanOperation};
use crate::records::records_folder_name;
use crate::runs::diff::run_call::call_prompt_name;
use crate::runs::export::{ExportedContract, ExportedSpending, ExportedTokens};

/// The kind of a run that asks with one prompt.
const PROMPT: &str = "prompt";

/// The spans of a run, its own first. `texts` has what was sent and answered, if that is to be in them.
pub(super) fn run_spans(names: &SpanNames, trace: &RunTrace, texts: Option<&RunTexts>) -> Vec<TraceSpan> {
    let writer = SpanWriter { names, trace, texts, trace_id: trace_id(&trace.root) };
    let mut spans = vec![writer.run()];
    // An assembly without a request is no call.
    spans.extend(trace.calls.iter().filter(|call| !call.body.is_empty()).map(|call| writer.call(call)));
    spans.extend(trace.tools.iter().map(|tool| writer.tool(tool)));
    spans.extend(trace.actions.iter().map(|action| writer.effect(action)));
    spans
}

/// The id of a trace, by the run that nobody called.
fn trace_id(root: &RunId) -> Vec<u8> {
    id_of_parts(&["trace", &root.0], 16)
}

/// The id of a run's span: the run's own, which is what people look for.
fn run_span_id(run: &RunId) -> Vec<u8> {
    let own = decode_hex(&run.0).filter(|id| id.len() == 8 && id.iter().any(|byte| *byte != 0));
    own.unwrap_or_else(|| id_of_parts(&["run", &run.0], 8))
}

fn part_id(kind: &str, run: &RunId, part: &str) -> Vec<u8> {
    id_of_parts(&[kind, &run.0, part], 8)
}

fn tool_span_id(run: &RunId, effect: EffectId) -> Vec<u8> {
    part_id("tool", run, &effect.0.to_string())
}

/// The beginning of a hash. Zero is no id, so an id of zeros is another one.
fn id_of_parts(parts: &[&str], length: usize) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let id: Vec<u8> = hash.finalize().iter().copied().take(length).collect();
    if id.iter().any(|byte| *byte != 0) { id } else { vec![1; length] }
}

/// Writes the spans of one run.
struct SpanWriter<'w> {
    names: &'w SpanNames,
    trace: &'w RunTrace,
    texts: Option<&'w RunTexts>,
    trace_id: Vec<u8>,
}

/// The part of a span that says what it is.
struct SpanHead {
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    kind: SpanKind,
}

impl SpanWriter<'_> {
    fn span(
        &self,
        head: SpanHead,
        (start, end): (Time, Time),
        attributes: Vec<KeyValue>,
        failed: Option<&str>,
    ) -> TraceSpan {
        let attributes = match failed {
            Some(error) => [attributes, self.names.list().text(SpanField::Error, error).into_list()].concat(),
            None => attributes,
        };
        let place = SpanPlace { trace_id: self.trace_id.clone(), span_id: head.id, parent_span_id: head.parent };
        let operation = OperationCourse {
            name: head.name,
            kind: head.kind.into(),
            start_time_unix_nano: nanos(start),
            end_time_unix_nano: nanos(end.max(start)),
            attributes,
            events: Vec::new(),
            status: failed.map(|_| SpanStatus { message: String::new(), code: SpanStatus::FAILED }),
        };
        TraceSpan { place, operation }
    }

    fn run(&self) -> TraceSpan {
        let row = &self.trace.row;
        let prompt = format!("{}/{}", row.prompt.agent, row.prompt.name);
        let (operation, field, named) = if row.kind == PROMPT {
            (SpanOperation::Prompt, SpanField::Workflow, prompt.as_str())
        } else {
            (SpanOperation::Agent, SpanField::Agent, self.agent())
        };
        let operation = self.names.operation(operation);
        let (state, failed) = run_state(row);
        let attributes = self.names.list().text(SpanField::Operation, operation).text(field, named);
        let attributes = attributes
            .text(SpanField::Run, row.id.0.as_str())
            .text(SpanField::RunKind, row.kind.as_str())
            .text(SpanField::RunState, state)
            .text(SpanField::Project, records_folder_name(&row.project))
            .text(SpanField::ForkedFrom, row.parent.as_ref().map(|parent| parent.0.as_str()))
            .count(SpanField::Line, row.line.map(u64::from))
            .text(SpanField::Prompt, prompt.as_str())
            .text(SpanField::PromptVersion, row.prompt.version.as_str())
            .text(SpanField::PromptClosure, row.prompt.closure.as_str());
        let caller = row.caller.as_ref();
        let head = SpanHead {
            id: run_span_id(&row.id),
            parent: caller.map_or_else(Vec::new, |caller| tool_span_id(&caller.run, caller.effect)),
            name: format!("{operation} {named}"),
            kind: SpanKind::Internal,
        };
        self.span(head, (row.started, self.end()), attributes.into_list(), failed)
    }

    /// The agent's name: that of its file for a mission, or else the kind of the run.
    fn agent(&self) -> &str {
        let file = self.trace.agent_file.as_deref().and_then(|path| Path::new(path).file_name()?.to_str());
        file.and_then(|file| file.split('.').next()).filter(|name| !name.is_empty()).unwrap_or(&self.trace.row.kind)
    }

    /// The end of the run, or the last that is known of it.
    fn end(&self) -> Time {
        let RunTrace { row, calls, tools, .. } = self.trace;
        let last = calls.iter().map(call_end).chain(tools.iter().map(tool_end)).max();
        row.ended.or(last).unwrap_or(row.started)
    }

    fn call(&self, call: &CallRow) -> TraceSpan {
        let (tokens, spent) = (ExportedTokens::new(call), ExportedSpending::new(&call.attempts));
        let contract = ExportedContract::new(call);
        let operation = self.names.operation(SpanOperation::Call);
        let finish = call.finish.as_deref().map(|finish| self.names.finish_reason(finish));
        let counted = |count: Option<usize>| count.and_then(|count| u64::try_from(count).ok());
        let mut attributes = self
            .names
            .list()
            .text(SpanField::Operation, operation)
            .text(SpanField::Provider, self.names.provider(&call.endpoint))
            .text(SpanField::Model, call.model.as_str())
            .text(SpanField::OutputType, call.tool.as_ref().map(|_| "json"))
            .texts(SpanField::Finish, finish)
            .count(SpanField::InputTokens, tokens.input_tokens)
            .count(SpanField::CacheReadTokens, tokens.cache_read_tokens)
            .count(SpanField::CacheWrittenTokens, tokens.cache_written_tokens)
            .count(SpanField::OutputTokens, tokens.output_tokens)
            .count(SpanField::CountedTokens, tokens.counted_tokens)
            .count(SpanField::Cost, spent.cost_nano_dollars)
            .text(SpanField::Prompt, call_prompt_name(call).as_str())
            .text(SpanField::PromptVersion, call.prompt.version.as_str())
            .text(SpanField::PromptClosure, call.prompt.closure.as_str())
            .text(SpanField::CallState, call.state.as_str())
            .count(SpanField::Attempts, counted(Some(call.attempts.len())))
            .text(SpanField::Contract, contract.contract)
            .count(SpanField::Problems, counted(contract.problems))
            .count(SpanField::Repairs, counted(contract.repairs));
        if let Some(texts) = self.texts {
            let (instructions, input) = texts.messages(call);
            attributes = attributes
                .text(SpanField::Instructions, instructions.as_deref())
                .text(SpanField::Input, input.as_deref())
                .text(SpanField::Output, texts.answer(call, finish).as_deref());
        }
        let run = &self.trace.row.id;
        let head = SpanHead {
            id: part_id("call", run, &call.effect.0.to_string()),
            parent: match call.effect.caller() {
                Some(tool) => tool_span_id(run, tool),
                None => run_span_id(run),
            },
            name: format!("{operation} {}", call.model),
            kind: SpanKind::Client,
        };
        let failed = call_failure(call);
        let mut span = self.span(head, (call.at, call_end(call)), attributes.into_list(), failed.as_deref());
        span.operation.events = call.attempts.iter().filter_map(|attempt| self.failed_attempt(attempt)).collect();
        span
    }

    /// An attempt that failed, as a moment of its call: OpenTelemetry wants no error on a span whose retry succeeded.
    fn failed_attempt(&self, attempt: &AttemptRow) -> Option<SpanEvent> {
        let failed = attempt.failed.as_deref()?;
        let attributes = self
            .names
            .list()
            .count(SpanField::Attempt, u64::from(attempt.attempt))
            .text(SpanField::Error, failed)
            .count(SpanField::Status, attempt.status.map(u64::from))
            .count(SpanField::Took, attempt.took_ms)
            .count(SpanField::Waited, attempt.waited_ms);
        let time_unix_nano = nanos(attempt_end_time(attempt));
        Some(SpanEvent { time_unix_nano, name: "proem.attempt.failed".to_owned(), attributes: attributes.into_list() })
    }

    fn tool(&self, tool: &ToolCallRow) -> TraceSpan {
        let operation = self.names.operation(SpanOperation::Tool);
        let mut attributes = self
            .names
            .list()
            .text(SpanField::Operation, operation)
            .text(SpanField::Tool, tool.tool.as_str())
            .text(SpanField::ToolPower, tool.power.as_str())
            .text(SpanField::ToolState, tool.state.as_str())
            .count(SpanField::Attempts, u64::from(tool.attempts));
        if let Some(texts) = self.texts {
            let result = tool.result.as_deref().and_then(|hash| texts.text(hash));
            attributes = attributes
                .text(SpanField::Arguments, texts.text(&tool.arguments).as_deref())
                .text(SpanField::Result, result.as_deref());
        }
        let failed = match tool.state {
            ToolCallState::Failed | ToolCallState::Denied | ToolCallState::Unknown => Some(tool.state.as_str()),
            ToolCallState::Pending | ToolCallState::Answered => None,
        };
        let run = &self.trace.row.id;
        let head = SpanHead {
            id: tool_span_id(run, tool.effect),
            parent: run_span_id(run),
            name: format!("{operation} {}", tool.tool),
            kind: SpanKind::Internal,
        };
        self.span(head, (tool.at, tool_end(tool)), attributes.into_list(), failed)
    }

    /// An action that the run's model proposed. One that has not ended yet is a moment.
    fn effect(&self, action: &ActionRow) -> TraceSpan {
        let key = action.key.to_string();
        let attributes = self
            .names
            .list()
            .text(SpanField::Effect, action.scope.name.as_str())
            .text(SpanField::EffectKey, key.as_str())
            .text(SpanField::EffectState, action.state.as_str());
        let failed = match action.state {
            ActionState::Failed | ActionState::Unknown => Some(action.state.as_str()),
            _ => None,
        };
        let run = &self.trace.row.id;
        let head = SpanHead {
            id: part_id("effect", run, &key),
            parent: run_span_id(run),
            name: format!("effect {}", action.scope.name),
            kind: SpanKind::Internal,
        };
        self.span(head, (action.created, action.ended.unwrap_or(action.created)), attributes.into_list(), failed)
    }
}

/// The state of a run in a word, and the same if the run gave no value because something went wrong.
const fn run_state(row: &RunRow) -> (&'static str, Option<&'static str>) {
    match row.state {
        RunState::Running => ("running", None),
        RunState::Asking => ("asking", None),
        RunState::Interrupted => ("interrupted", Some("interrupted")),
        RunState::Ended(outcome @ (RunOutcome::Failed | RunOutcome::Refused)) => {
            (outcome.as_str(), Some(outcome.as_str()))
        }
        RunState::Ended(outcome) => (outcome.as_str(), None),
    }
}

/// Why a call gave no answer: as its last attempt failed, or else its state.
fn call_failure(call: &CallRow) -> Option<String> {
    match call.state {
        CallState::Pending | CallState::Answered => None,
        CallState::Failed | CallState::Unknown => {
            let failed = call.attempts.last().and_then(|attempt| attempt.failed.clone());
            Some(failed.unwrap_or_else(|| call.state.as_str().to_owned()))
        }
    }
}

fn call_end(call: &CallRow) -> Time {
    call.attempts.iter().map(attempt_end_time).fold(call.at, Time::max)
}

fn attempt_end_time(attempt: &AttemptRow) -> Time {
    later(attempt.at, attempt.took_ms)
}

fn tool_end(tool: &ToolCallRow) -> Time {
    tool.ended.unwrap_or_else(|| later(tool.at, tool.took_ms))
}

fn later(time: Time, millis: u64) -> Time {
    Time(time.0.saturating_add_unsigned(millis))
}

/// Nanoseconds since 1970. Times before that are none of ours.
fn nanos(time: Time) -> u64 {
    u64::try_from(time.0).unwrap_or(0).saturating_mul(1_000_000)
}
