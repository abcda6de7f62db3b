//! Anthropic's Messages: <https://platform.claude.com/docs/en/api/messages>.

pub(crate) mod answer;
pub(crate) mod ask;
mod output_schema;

use proem_engine::assembly::{Assembly, SectionPart};
use proem_engine::cache::CachePlan;
use proem_engine::media::MediaSource;
use proem_engine::message::Role;
use proem_engine::providers::Model;
use serde_json::{Map, Value, json};

use crate::turn::{BlockEnd, TurnBlock, turns};
use crate::{Error, output_tokens};

/// The body of a request to `POST /v1/messages`.
///
/// A breakpoint is `cache_control` of the default lifetime, five minutes.
///
/// # Errors
///
/// Every [`Error`]: Anthropic wants a token for the answer, a user who speaks first and all of the
/// operator's text before that.
pub fn anthropic_body(assembly: &Assembly, model: &Model, plan: &CachePlan) -> Result<Value, Error> {
    anthropic_fields(assembly, model, plan).map(Value::Object)
}

/// The fields of that body.
pub(crate) fn anthropic_fields(
    assembly: &Assembly,
    model: &Model,
    plan: &CachePlan,
) -> Result<Map<String, Value>, Error> {
    let mut system: Option<Value> = None;
    let mut messages = Vec::new();
    for turn in turns(assembly, plan)? {
        let content = Value::Array(turn.blocks.iter().map(block).collect());
        match turn.role {
            Role::System if messages.is_empty() => system = Some(content),
            Role::System => return Err(Error::SystemAfterUser),
            Role::User => messages.push(json!({ "role": "user", "content": content })),
            Role::Model => messages.push(json!({ "role": "assistant", "content": content })),
        }
    }
    let mut body = Map::new();
    body.insert(String::from("model"), json!(model.name));
    body.insert(String::from("max_tokens"), json!(output_tokens(assembly, model)?));
    body.extend(system.map(|system| (String::from("system"), system)));
    body.insert(String::from("messages"), Value::Array(messages));
    Ok(body)
}

fn block(block: &TurnBlock) -> Value {
    let mut fields = match &block.part {
        None => json!({ "type": "text", "text": block.text }),
        Some(SectionPart::Media { source, .. }) => media_block(source, &block.text),
        Some(SectionPart::Call { id, name }) => {
            // The arguments were written as an object of JSON.
            let input: Map<String, Value> = serde_json::from_str(&block.text).unwrap_or_default();
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        Some(SectionPart::CallResult { id, .. }) => {
            json!({ "type": "tool_result", "tool_use_id": id, "content": block.text })
        }
    };
    if let Some(fields) = fields.as_object_mut().filter(|_| block.end == BlockEnd::Breakpoint) {
        fields.insert(String::from("cache_control"), json!({ "type": "ephemeral" }));
    }
    fields
}

/// A picture or file: <https://platform.claude.com/docs/en/build-with-claude/vision>,
/// <https://platform.claude.com/docs/en/build-with-claude/pdf-support>.
fn media_block(source: &MediaSource, text: &str) -> Value {
    let kind = if source.is_image() { "image" } else { "document" };
    let source = match source {
        MediaSource::Inline(facts) => json!({ "type": "base64", "media_type": facts.kind.as_str(), "data": text }),
        MediaSource::Remote { .. } => json!({ "type": "url", "url": text }),
    };
    json!({ "type": kind, "source": source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use proem_engine::media::MediaKind;

    #[track_caller]
    fn check(sections: &str, expected: &Value) {
        let (assembly, plan) = sample::parse_sample(sections);
        let body = anthropic_body(&assembly, &sample::built_in_model("claude-haiku-4-5"), &plan).unwrap();
        assert_eq!(&body, expected, "{sections:?}");
    }

    #[test]
    fn bodies() {
        check(
            "system:role| user:log| user:task",
            &json!({
                "model": "claude-haiku-4-5",
                "max_tokens": 200,
                "system": [{ "type": "text", "text": "role", "cache_control": { "type": "ephemeral" } }],
                "messages": [{ "role": "user", "content": [
                    { "type": "text", "text": "log", "cache_control": { "type": "ephemeral" } },
                    { "type": "text", "text": "task" },
                ] }],
            }),
        );
        check(
            "user:ask model:reply user:ask",
            &json!({
                "model": "claude-haiku-4-5",
                "max_tokens": 200,
                "messages": [
                    { "role": "user", "content": [{ "type": "text", "text": "ask" }] },
                    { "role": "assistant", "content": [{ "type": "text", "text": "reply" }] },
                    { "role": "user", "content": [{ "type": "text", "text": "ask" }] },
                ],
            }),
        );
    }

    #[test]
    fn calls_results_and_pictures_are_blocks() {
        for (picture, expected) in [
            (
                sample::inline(MediaKind::Png),
                json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } }),
            ),
            (
                sample::inline(MediaKind::Pdf),
                json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "AAAA" } }),
            ),
            (
                MediaSource::Remote { kind: None },
                json!({ "type": "image", "source": { "type": "url", "url": "AAAA" } }),
            ),
            (
                MediaSource::Remote { kind: Some(MediaKind::Pdf) },
                json!({ "type": "document", "source": { "type": "url", "url": "AAAA" } }),
            ),
        ] {
            let (assembly, plan) = sample::conversation(picture);
            let body = anthropic_body(&assembly, &sample::built_in_model("claude-haiku-4-5"), &plan).unwrap();
            let messages = json!([
                { "role": "user", "content": [{ "type": "text", "text": "ask" }] },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "look" },
                    { "type": "tool_use", "id": "c1", "name": "find", "input": {} },
                    { "type": "tool_use", "id": "c2", "name": "find", "input": { "a": 1 } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c1", "content": "found" },
                    { "type": "tool_result", "tool_use_id": "c2", "content": "more" },
                    expected,
                    { "type": "text", "text": "task" },
                ] },
            ]);
            assert_eq!(body["messages"], messages);
        }
    }

    #[test]
    fn what_anthropic_would_refuse_or_reorder_is_an_error() {
        let model = sample::built_in_model("claude-haiku-4-5");
        for (sections, output_tokens, expected) in [
            ("system:a", 200, Error::NoUserMessage),
            ("system:a user:b system:c", 200, Error::SystemAfterUser),
            ("user:b", 0, Error::NoOutput),
        ] {
            let (mut assembly, plan) = sample::parse_sample(sections);
            assembly.output_tokens = output_tokens;
            assert_eq!(anthropic_body(&assembly, &model, &plan), Err(expected), "{sections:?}");
        }
    }

    #[test]
    fn an_answer_is_no_longer_than_the_model_can() {
        let (mut assembly, plan) = sample::parse_sample("user:a");
        assembly.output_tokens = 1_000_000;
        let body = anthropic_body(&assembly, &sample::built_in_model("claude-haiku-4-5"), &plan).unwrap();
        assert_eq!(body["max_tokens"], 64_000);
    }
}
