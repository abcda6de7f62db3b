//! Answers in the words of Anthropic's Messages:
//! <https://platform.claude.com/docs/en/api/messages>,
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>.

use serde_json::{Value as Json, json};

use super::openai;
use super::rendered_answer::{self, AnswerRequest, Framing, RenderedAnswer, header_pair};
use super::reply::{AnswerBlock, ModelAnswer, ScriptedFinish, ScriptedUsage};

/// The answer, whole or streamed as was asked.
pub(super) fn render_anthropic_answer(answer: &ModelAnswer, asked: &AnswerRequest<'_>) -> RenderedAnswer {
    let blocks: Vec<_> = answer.content.iter().map(|block| AnthropicBlock::of(block, asked.body)).collect();
    let reason = stop_reason(answer, &blocks);
    let streamed = asked.body.get("stream") == Some(&Json::Bool(true));
    let mut rendered = if streamed {
        render_anthropic_stream(answer, &blocks, &reason, asked)
    } else {
        render_anthropic_whole(answer, &blocks, &reason, asked)
    };
    rendered.headers.push(header_pair("request-id", &format!("req_{:06}", asked.number)));
    rendered
}

/// An error in Anthropic's form: <https://platform.claude.com/docs/en/api/errors>.
pub(super) fn render_anthropic_error(status: u16, kind: &str, message: &str, number: usize) -> RenderedAnswer {
    let id = format!("req_{number:06}");
    let body = json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": id });
    let mut rendered = RenderedAnswer::json(status, &body);
    rendered.headers.push(header_pair("request-id", &id));
    rendered
}

/// A block of content.
enum AnthropicBlock<'a> {
    Text(String),
    Call { name: &'a str, arguments: String },
}

impl<'a> AnthropicBlock<'a> {
    fn of(block: &'a AnswerBlock, body: &'a Json) -> Self {
        match block {
            AnswerBlock::Text(text) | AnswerBlock::Refusal(text) => Self::Text(text.clone()),
            AnswerBlock::Value(value) => {
                let text = proem_text::json::compact(value);
                match forced_anthropic_tool(body) {
                    Some(name) => Self::Call { name, arguments: text },
                    None => Self::Text(text),
                }
            }
            AnswerBlock::Call { name, arguments } => {
                Self::Call { name, arguments: proem_text::json::compact(arguments) }
            }
            AnswerBlock::CallText { name, arguments } => Self::Call { name, arguments: arguments.clone() },
        }
    }

    /// The block with all that is in it.
    fn whole(&self, id: &str) -> Json {
        match self {
            Self::Text(text) => json!({ "type": "text", "text": text }),
            Self::Call { name, arguments } => {
                let input = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
                json!({ "type": "tool_use", "id": id, "name": name, "input": input })
            }
        }
    }

    /// The block before anything is in it.
    fn start(&self, id: &str) -> Json {
        match self {
            Self::Text(_) => json!({ "type": "text", "text": "" }),
            Self::Call { name, .. } => json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
        }
    }

    fn deltas(&self) -> Vec<Json> {
        match self {
            Self::Text(text) => {
                let delta = |text| json!({ "type": "text_delta", "text": text });
                rendered_answer::token_pieces(text).map(delta).collect()
            }
            Self::Call { arguments, .. } => {
                let delta = |text| json!({ "type": "input_json_delta", "partial_json": text });
                core::iter::once(String::new()).chain(rendered_answer::token_pieces(arguments)).map(delta).collect()
            }
        }
    }
}

/// The tool that must be called.
fn forced_anthropic_tool(body: &Json) -> Option<&str> {
    let choice = body.get("tool_choice")?;
    match choice.get("type")?.as_str()? {
        "tool" => choice.get("name")?.as_str(),
        "any" => openai::only_value(body.get("tools")?.as_array()?)?.get("name")?.as_str(),
        _ => None,
    }
}

fn stop_reason(answer: &ModelAnswer, blocks: &[AnthropicBlock<'_>]) -> String {
    let refused = answer.content.iter().any(|block| matches!(block, AnswerBlock::Refusal(_)));
    let calls = blocks.iter().any(|block| matches!(block, AnthropicBlock::Call { .. }));
    match &answer.finish {
        ScriptedFinish::Natural if refused => "refusal".to_owned(),
        ScriptedFinish::Natural if calls => "tool_use".to_owned(),
        ScriptedFinish::Natural => "end_turn".to_owned(),
        ScriptedFinish::Length => "max_tokens".to_owned(),
        ScriptedFinish::Filter => "refusal".to_owned(),
        ScriptedFinish::Other(word) => word.clone(),
    }
}

fn anthropic_usage(counts: &ScriptedUsage) -> Json {
    let cached = [counts.cache_read, counts.cache_write, counts.cache_write_hour];
    let uncached = cached.iter().fold(counts.input, |left, cached| left.saturating_sub(*cached));
    json!({
        "input_tokens": uncached,
        "cache_creation_input_tokens": counts.cache_write.saturating_add(counts.cache_write_hour),
        "cache_read_input_tokens": counts.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counts.cache_write,
            "ephemeral_1h_input_tokens": counts.cache_write_hour,
        },
        "output_tokens": counts.output,
    })
}

fn anthropic_message(asked: &AnswerRequest<'_>, content: &[Json], reason: Option<&str>) -> Json {
    json!({
        "id": format!("msg_{:06}", asked.number),
        "type": "message",
        "role": "assistant",
        "model": asked.model(),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": null,
    })
}

fn tool_use_id(asked: &AnswerRequest<'_>, index: usize) -> String {
    format!("toolu_{:06}_{index}", asked.number)
}

fn with_member(mut value: Json, key: &str, member: Option<Json>) -> Json {
    if let (Json::Object(members), Some(member)) = (&mut value, member) {
        members.insert(key.to_owned(), member);
    }
    value
}

fn render_anthropic_whole(
    answer: &ModelAnswer,
    blocks: &[AnthropicBlock<'_>],
    reason: &str,
    asked: &AnswerRequest<'_>,
) -> RenderedAnswer {
    let content: Vec<_> =
        blocks.iter().enumerate().map(|(index, block)| block.whole(&tool_use_id(asked, index))).collect();
    let body = anthropic_message(asked, &content, Some(reason));
    RenderedAnswer::json(200, &with_member(body, "usage", answer.usage.as_ref().map(anthropic_usage)))
}

fn render_anthropic_stream(
    answer: &ModelAnswer,
    blocks: &[AnthropicBlock<'_>],
    reason: &str,
    asked: &AnswerRequest<'_>,
) -> RenderedAnswer {
    let mut pieces = Vec::new();
    let first = answer.usage.map(|counts| anthropic_usage(&ScriptedUsage { output: 1, ..counts }));
    let message = with_member(anthropic_message(asked, &[], None), "usage", first);
    pieces.push(anthropic_event(&json!({ "type": "message_start", "message": message })));
    let mut again = None;
    for (index, block) in blocks.iter().enumerate() {
        let start = block.start(&tool_use_id(asked, index));
        pieces.push(anthropic_event(&json!({ "type": "content_block_start", "index": index, "content_block": start })));
        if index == 0 {
            pieces.push(anthropic_event(&json!({ "type": "ping" })));
        }
        for delta in block.deltas() {
            let delta = anthropic_event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            pieces.push(delta);
            again = Some(pieces.len());
        }
        pieces.push(anthropic_event(&json!({ "type": "content_block_stop", "index": index })));
    }
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    let last = json!({ "type": "message_delta", "delta": delta });
    let used = answer.usage.map(|counts| json!({ "output_tokens": counts.output }));
    pieces.push(anthropic_event(&with_member(last, "usage", used)));
    pieces.push(anthropic_event(&json!({ "type": "message_stop" })));
    RenderedAnswer { status: 200, headers: rendered_answer::events(), pieces, framing: Framing::Chunks, again }
}

fn anthropic_event(data: &Json) -> Vec<u8> {
    let name = data.get("type").and_then(Json::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {}\n\n", proem_text::json::compact(data)).into_bytes()
}
