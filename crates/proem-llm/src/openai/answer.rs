//! Reads answers: <https://developers.openai.com/api/reference/resources/chat>, completions in one
//! piece and their chunks, as OpenAI and compatible servers write them.
//!
//! An answer has one text, to which chunks add wherever it began. Compatible servers leave out the
//! number of a call or give all of them the same, repeat names, and send usage with `choices` null.

use proem_engine::call::{CallFailure, FailureKind, FinishReason};
use serde_json::Value;

use crate::codec::draft::{AnswerDraft, DraftCall, DraftPiece, StreamContinuation};
use crate::codec::{error_in, provider_failed};

/// The places where servers put a model's thoughts: <https://docs.vllm.ai/en/latest/features/reasoning_outputs.html>,
/// <https://openrouter.ai/docs/use-cases/reasoning-tokens>.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];

/// Whether a message is there, or is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arriving {
    Whole,
    InChunks,
}

/// Reads a completion in one piece.
pub(crate) fn read_openai_completion(draft: &mut AnswerDraft, completion: &Value) -> Result<(), CallFailure> {
    if let Some(error) = error_in(completion, "choices") {
        return Err(provider_failed(draft, error));
    }
    let Some(choice) = first_choice(completion) else {
        let text = "the answer has no `choices`; check that `base_url` is the address of a Chat Completions API";
        return Err(CallFailure::new(FailureKind::Malformed, text));
    };
    draft.named(completion);
    draft.counts.take_within(completion.get("usage"));
    draft.comes_whole();
    read_openai_message(draft, choice.get("message").unwrap_or(&Value::Null), Arriving::Whole)?;
    draft.finish =
        Some(choice.get("finish_reason").and_then(Value::as_str).map_or(FinishReason::Unknown, openai_finish_reason));
    Ok(())
}

/// Reads a chunk of a stream.
pub(crate) fn read_openai_chunk(
    draft: &mut AnswerDraft,
    name: &str,
    chunk: &Value,
) -> Result<StreamContinuation, CallFailure> {
    // Some chunks hold nothing but counts.
    let owed = if chunk.get("usage").is_some() { "usage" } else { "choices" };
    if let Some(error) = error_in(chunk, owed).or_else(|| (name == "error").then_some(chunk)) {
        return Err(provider_failed(draft, error));
    }
    draft.named(chunk);
    draft.counts.take_within(chunk.get("usage"));
    let Some(choice) = first_choice(chunk) else { return Ok(StreamContinuation::More) };
    let next = match (choice.get("delta"), choice.get("message")) {
        (Some(delta), _) => read_openai_message(draft, delta, Arriving::InChunks)?,
        // Servers that don't stream may put the whole message into one chunk.
        (None, Some(whole)) => read_openai_message(draft, whole, Arriving::Whole)?,
        (None, None) => StreamContinuation::More,
    };
    if next == StreamContinuation::More
        && let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
    {
        draft.finish = Some(openai_finish_reason(reason));
    }
    Ok(next)
}

/// The choice that was asked for: there is never more than one.
fn first_choice(answer: &Value) -> Option<&Value> {
    let choices = answer.get("choices")?.as_array()?;
    choices.iter().find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

/// Reads a message or what a chunk adds to it.
fn read_openai_message(
    draft: &mut AnswerDraft,
    message: &Value,
    arriving: Arriving,
) -> Result<StreamContinuation, CallFailure> {
    let text = |key: &str| message.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    for word in THOUGHTS {
        if let Some(thought) = text(word) {
            draft.note_other(word, thought);
        }
    }
    let content = text("content").map(str::to_owned).or_else(|| join_content_parts(message.get("content")?));
    if let Some(content) = content {
        let place = draft.text_place().unwrap_or_else(|| draft.begin(None, DraftPiece::Text(String::new())));
        if draft.add_text(place, &content) == StreamContinuation::Done {
            return Ok(StreamContinuation::Done);
        }
    }
    if let Some(refusal) = text("refusal") {
        let place = draft.refusal_place().unwrap_or_else(|| draft.begin(None, DraftPiece::Refusal(String::new())));
        draft.add_text(place, refusal);
    }
    for part in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        read_openai_call(draft, part, arriving)?;
    }
    Ok(StreamContinuation::More)
}

/// The text of content that comes in parts. None if it has none.
fn join_content_parts(content: &Value) -> Option<String> {
    let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
    let text: String = content.as_array()?.iter().filter_map(text).collect();
    (!text.is_empty()).then_some(text)
}

/// Begins a call or adds to one: in chunks, a new number begins one, or a new id with a name. Servers that make an id
/// for each chunk give the name once.
fn read_openai_call(draft: &mut AnswerDraft, part: &Value, arriving: Arriving) -> Result<(), CallFailure> {
    let function = part.get("function").unwrap_or(&Value::Null);
    let id = part.get("id").and_then(Value::as_str).unwrap_or_default();
    let number = part.get("index").and_then(Value::as_u64);
    let open = match (arriving, number) {
        (Arriving::Whole, _) => None,
        (Arriving::InChunks, Some(number)) => draft.numbered(number),
        (Arriving::InChunks, None) => draft.last(),
    };
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_known = |call: &DraftCall| id.is_empty() || call.id == id || (number.is_some() && name.is_empty());
    let open = open.filter(|place| draft.call(*place).is_some_and(|call| is_known(call)));
    let place = match open {
        Some(place) => place,
        None => draft.begin(number, DraftPiece::Call(DraftCall { id: id.to_owned(), ..DraftCall::default() })),
    };
    if let Some(call) = draft.call(place)
        && call.name != name
    {
        call.name.push_str(name);
    }
    match function.get("arguments") {
        Some(Value::String(arguments)) => draft.add_arguments(place, arguments),
        Some(arguments @ Value::Object(_)) => draft.add_arguments(place, &arguments.to_string()),
        _ => Ok(()),
    }
}

/// <https://developers.openai.com/api/reference/resources/chat>: `finish_reason`, and the words of Together, TGI, Mistral,
/// Gemini and gateways that pass on Anthropic's.
fn openai_finish_reason(reason: &str) -> FinishReason {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_calls" | "tool_call" | "tool_use" | "function_call" => FinishReason::Calls,
        "length" | "max_tokens" | "model_length" | "max_output_tokens" => FinishReason::Length,
        "content_filter" | "safety" | "refusal" | "recitation" | "prohibited_content" | "blocklist" => {
            FinishReason::Refusal
        }
        _ => FinishReason::Unknown,
    }
}
