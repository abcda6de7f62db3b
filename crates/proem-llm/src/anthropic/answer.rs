//! Reads answers: <https://platform.claude.com/docs/en/api/messages> in one piece,
//! <https://platform.claude.com/docs/en/build-with-claude/streaming> in events.

use proem_engine::call::{CacheDiagnosis, CallFailure, DiagnosedDifference, FailureKind, FinishReason};
use serde_json::Value;

use crate::codec::draft::{AnswerDraft, DraftCall, DraftPiece, StreamContinuation};
use crate::codec::usage::OutputCount;
use crate::codec::{error_in, provider_failed};

/// Reads a message in one piece.
pub(crate) fn read_anthropic_message(draft: &mut AnswerDraft, message: &Value) -> Result<(), CallFailure> {
    if let Some(error) = error_in(message, "content") {
        return Err(provider_failed(draft, error));
    }
    let Some(content) = message.get("content").and_then(Value::as_array) else {
        let text = "the answer has no `content`; check that `base_url` is the address of Anthropic's Messages API";
        return Err(CallFailure::new(FailureKind::Malformed, text));
    };
    draft.named(message);
    draft.diagnosis = diagnosis(message);
    draft.counts.take_apart(message.get("usage"), OutputCount::Final);
    draft.comes_whole();
    for block in content {
        begin_block(draft, None, block);
    }
    draft.finish =
        Some(message.get("stop_reason").and_then(Value::as_str).map_or(FinishReason::Unknown, anthropic_finish_reason));
    Ok(())
}

/// Reads an event of a stream. Events of other types are left out, as Anthropic asks for.
pub(crate) fn read_anthropic_event(
    draft: &mut AnswerDraft,
    name: &str,
    event: &Value,
) -> Result<StreamContinuation, CallFailure> {
    let number = event.get("index").and_then(Value::as_u64);
    if name == "error" || event.get("error").is_some_and(|error| !error.is_null()) {
        return Err(provider_failed(draft, event.get("error").unwrap_or(event)));
    }
    match event.get("type").and_then(Value::as_str).unwrap_or(name) {
        "message_start" => {
            if let Some(message) = event.get("message") {
                draft.named(message);
                draft.diagnosis = diagnosis(message);
                draft.counts.take_apart(message.get("usage"), OutputCount::Provisional);
            }
        }
        "content_block_start" => {
            let block = event.get("content_block").unwrap_or(&Value::Null);
            let next = begin_block(draft, number, block);
            // The name is in the first event of a call: a wrong one is noticed before its arguments.
            if let Some(place) = draft.last() {
                draft.check_call(place)?;
            }
            return Ok(next);
        }
        "content_block_delta" => return delta(draft, number, event.get("delta").unwrap_or(&Value::Null)),
        "message_delta" => {
            draft.counts.take_apart(event.get("usage"), OutputCount::Final);
            if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                draft.finish = Some(anthropic_finish_reason(reason));
            }
        }
        "message_stop" => return Ok(StreamContinuation::Done),
        "error" => return Err(provider_failed(draft, event.get("error").unwrap_or(event))),
        _ => {}
    }
    Ok(StreamContinuation::More)
}

/// The provider's account of its cache. `None` if it gives none, as when it was not asked.
///
/// Without a difference all of it is null, and only the reason while the comparison is under way.
fn diagnosis(message: &Value) -> Option<CacheDiagnosis> {
    let found = message.get("diagnostics")?;
    let reason = found.get("cache_miss_reason");
    let kind = reason.and_then(|reason| reason.get("type").unwrap_or(reason).as_str());
    let difference = match (found, reason, kind) {
        (Value::Null, ..) => DiagnosedDifference::None,
        (_, None | Some(Value::Null), _) => DiagnosedDifference::Pending,
        (.., Some("model_changed")) => DiagnosedDifference::Model,
        (.., Some("system_changed")) => DiagnosedDifference::System,
        (.., Some("tools_changed")) => DiagnosedDifference::Tools,
        (.., Some("messages_changed")) => DiagnosedDifference::Messages,
        (.., Some("previous_message_not_found")) => DiagnosedDifference::NotFound,
        (.., Some("unavailable")) => DiagnosedDifference::Unavailable,
        _ => DiagnosedDifference::Other,
    };
    let missed_tokens = reason.and_then(|reason| reason.get("cache_missed_input_tokens")?.as_u64());
    Some(CacheDiagnosis { answer: None, difference, missed_tokens })
}

/// Begins a block, with what it already holds.
fn begin_block(draft: &mut AnswerDraft, number: Option<u64>, block: &Value) -> StreamContinuation {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => {
            let place = draft.begin(number, DraftPiece::Text(String::new()));
            return draft.add_text(place, text("text"));
        }
        "tool_use" => {
            let given = block.get("input").filter(|input| !input.is_null()).map(Value::to_string);
            let (id, name) = (text("id").to_owned(), text("name").to_owned());
            let call = DraftCall { id, name, arguments: String::new(), given: given.unwrap_or_default() };
            draft.begin(number, DraftPiece::Call(call));
        }
        other => {
            draft.count(text("thinking"));
            draft.count(text("data"));
            draft.begin(number, DraftPiece::Other(other.to_owned()));
        }
    }
    StreamContinuation::More
}

fn delta(draft: &mut AnswerDraft, number: Option<u64>, delta: &Value) -> Result<StreamContinuation, CallFailure> {
    let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
    let place = number.and_then(|number| draft.numbered(number));
    match (text("type"), place) {
        ("text_delta", Some(place)) => Ok(draft.add_text(place, text("text"))),
        ("input_json_delta", Some(place)) => {
            draft.add_arguments(place, text("partial_json")).map(|()| StreamContinuation::More)
        }
        ("text_delta" | "input_json_delta", None) => {
            let message = "an event of the answer continues a block that never started; try again";
            Err(CallFailure::new(FailureKind::Malformed, message))
        }
        // A model's thoughts are paid for, and not kept.
        _ => {
            draft.count(text("thinking"));
            Ok(StreamContinuation::More)
        }
    }
}

/// <https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons>
fn anthropic_finish_reason(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::Calls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::Refusal,
        _ => FinishReason::Unknown,
    }
}
