//! Answers in the words of OpenAI's Chat Completions:
//! <https://platform.openai.com/docs/api-reference/chat/object>,
//! <https://platform.openai.com/docs/api-reference/chat-streaming/streaming>.

use serde_json::{Map, Value as Json, json};

use super::rendered_answer::{self, AnswerRequest, Framing, RenderedAnswer, header_pair};
use super::reply::{AnswerBlock, ModelAnswer, ScriptedFinish, ScriptedUsage};

/// The answer, whole or streamed as was asked.
pub(super) fn render_openai_answer(answer: &ModelAnswer, asked: &AnswerRequest<'_>) -> RenderedAnswer {
    let message = AssistantMessage::of(answer, asked);
    let streamed = asked.body.get("stream") == Some(&Json::Bool(true));
    let mut rendered = if streamed {
        render_openai_stream(answer, &message, asked)
    } else {
        render_openai_whole(answer, &message, asked)
    };
    rendered.headers.push(header_pair("x-request-id", &format!("req_{:06}", asked.number)));
    rendered
}

/// An error in OpenAI's form: <https://platform.openai.com/docs/guides/error-codes>.
pub(super) fn render_openai_error(status: u16, code: Option<&str>, message: &str, number: usize) -> RenderedAnswer {
    let kind = if status == 500 { "server_error" } else { "invalid_request_error" };
    let body = json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
    let mut rendered = RenderedAnswer::json(status, &body);
    rendered.headers.push(header_pair("x-request-id", &format!("req_{number:06}")));
    rendered
}

/// The one value of a list that has no other.
pub(super) fn only_value(values: &[Json]) -> Option<&Json> {
    match values {
        [value] => Some(value),
        _ => None,
    }
}

/// A message of the assistant's.
struct AssistantMessage {
    text: Option<String>,
    refusal: Option<String>,
    calls: Vec<AssistantCall>,
    finish: String,
}

struct AssistantCall {
    id: String,
    name: String,
    arguments: String,
}

impl AssistantMessage {
    fn of(answer: &ModelAnswer, asked: &AnswerRequest<'_>) -> Self {
        let mut message = Self { text: None, refusal: None, calls: Vec::new(), finish: String::new() };
        for block in &answer.content {
            match block {
                AnswerBlock::Text(text) => message.text.get_or_insert_default().push_str(text),
                AnswerBlock::Refusal(text) => message.refusal.get_or_insert_default().push_str(text),
                AnswerBlock::Value(value) => {
                    let text = proem_text::json::compact(value);
                    match forced_openai_tool(asked.body) {
                        Some(name) => message.call(asked, name, text),
                        None => message.text.get_or_insert_default().push_str(&text),
                    }
                }
                AnswerBlock::Call { name, arguments } => {
                    message.call(asked, name, proem_text::json::compact(arguments));
                }
                AnswerBlock::CallText { name, arguments } => message.call(asked, name, arguments.clone()),
            }
        }
        message.finish = match &answer.finish {
            ScriptedFinish::Natural if message.calls.is_empty() => "stop".to_owned(),
            ScriptedFinish::Natural => "tool_calls".to_owned(),
            ScriptedFinish::Length => "length".to_owned(),
            ScriptedFinish::Filter => "content_filter".to_owned(),
            ScriptedFinish::Other(word) => word.clone(),
        };
        message
    }

    fn call(&mut self, asked: &AnswerRequest<'_>, name: &str, arguments: String) {
        let id = format!("call_{:06}_{}", asked.number, self.calls.len());
        self.calls.push(AssistantCall { id, name: name.to_owned(), arguments });
    }

    fn deltas(&self) -> Vec<Json> {
        let mut deltas = vec![json!({ "role": "assistant", "content": "", "refusal": null })];
        let said = |key: &'static str, text: &Option<String>| -> Vec<Json> {
            rendered_answer::token_pieces(text.as_deref().unwrap_or_default())
                .map(|text| json!({ key: text }))
                .collect()
        };
        deltas.extend(said("content", &self.text));
        deltas.extend(said("refusal", &self.refusal));
        for (index, call) in self.calls.iter().enumerate() {
            let function = json!({ "name": call.name, "arguments": "" });
            let start = json!({ "index": index, "id": call.id, "type": "function", "function": function });
            deltas.push(json!({ "tool_calls": [start] }));
            for text in rendered_answer::token_pieces(&call.arguments) {
                let more = json!({ "index": index, "function": { "arguments": text } });
                deltas.push(json!({ "tool_calls": [more] }));
            }
        }
        deltas
    }
}

/// The tool that must be called.
fn forced_openai_tool(body: &Json) -> Option<&str> {
    let tool = match body.get("tool_choice")? {
        Json::String(word) if word == "required" => only_value(body.get("tools")?.as_array()?)?,
        choice => choice,
    };
    tool.get("function")?.get("name")?.as_str()
}

fn openai_usage(counts: &ScriptedUsage) -> Json {
    json!({
        "prompt_tokens": counts.input,
        "completion_tokens": counts.output,
        "total_tokens": counts.input.saturating_add(counts.output),
        "prompt_tokens_details": {
            "cached_tokens": counts.cache_read,
            "cache_write_tokens": counts.cache_write.saturating_add(counts.cache_write_hour),
        },
    })
}

/// The common beginning of all objects of an answer.
fn completion_object(asked: &AnswerRequest<'_>, kind: &str, choices: &[Json]) -> Map<String, Json> {
    let members = [
        ("id", json!(format!("chatcmpl-{:06}", asked.number))),
        ("object", json!(kind)),
        ("created", json!(0)),
        ("model", json!(asked.model())),
        ("choices", json!(choices)),
    ];
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn render_openai_whole(answer: &ModelAnswer, message: &AssistantMessage, asked: &AnswerRequest<'_>) -> RenderedAnswer {
    let mut said = Map::new();
    said.insert("role".to_owned(), json!("assistant"));
    said.insert("content".to_owned(), json!(message.text));
    said.insert("refusal".to_owned(), json!(message.refusal));
    if !message.calls.is_empty() {
        let call = |call: &AssistantCall| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        };
        said.insert("tool_calls".to_owned(), message.calls.iter().map(call).collect());
    }
    let choice = json!({ "index": 0, "message": said, "logprobs": null, "finish_reason": message.finish });
    let mut body = completion_object(asked, "chat.completion", &[choice]);
    body.extend(answer.usage.as_ref().map(|counts| ("usage".to_owned(), openai_usage(counts))));
    RenderedAnswer::json(200, &Json::Object(body))
}

fn render_openai_stream(answer: &ModelAnswer, message: &AssistantMessage, asked: &AnswerRequest<'_>) -> RenderedAnswer {
    let counted = asked.body.pointer("/stream_options/include_usage") == Some(&Json::Bool(true));
    let chunk = |choices: &[Json], used: Option<Json>| {
        let mut body = completion_object(asked, "chat.completion.chunk", choices);
        if counted {
            body.insert("usage".to_owned(), json!(used));
        }
        openai_event(&proem_text::json::compact(&Json::Object(body)))
    };
    let choice = |delta: &Json, reason: Option<&str>| {
        let no_logprobs = Json::Null;
        json!({ "index": 0, "delta": delta, "logprobs": no_logprobs, "finish_reason": reason })
    };
    let mut pieces: Vec<_> = message.deltas().iter().map(|delta| chunk(&[choice(delta, None)], None)).collect();
    let again = Some(pieces.len());
    pieces.push(chunk(&[choice(&json!({}), Some(&message.finish))], None));
    if let (true, Some(counts)) = (counted, &answer.usage) {
        pieces.push(chunk(&[], Some(openai_usage(counts))));
    }
    pieces.push(openai_event("[DONE]"));
    RenderedAnswer { status: 200, headers: rendered_answer::events(), pieces, framing: Framing::Chunks, again }
}

fn openai_event(data: &str) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}
