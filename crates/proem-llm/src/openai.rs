//! OpenAI's Chat Completions: <https://developers.openai.com/api/docs/guides/prompt-caching>.

pub(crate) mod answer;
pub(crate) mod ask;

use proem_engine::assembly::{Assembly, SectionPart};
use proem_engine::cache::CachePlan;
use proem_engine::media::MediaSource;
use proem_engine::message::Role;
use proem_engine::providers::{CacheControl, Model, OperatorRole, OutputKey};
use serde_json::{Map, Value, json};

use crate::turn::{BlockEnd, MessageTurn, TurnBlock, turns};
use crate::{Error, output_tokens};

/// The longest `prompt_cache_key` that OpenAI takes, in characters.
const MAX_KEY_CHARACTERS: usize = 64;

/// The body of a request to `POST /v1/chat/completions`.
///
/// Models that cache by themselves get nothing about caching: they already route by the start of the prompt. Models
/// with breakpoints (GPT-5.6 and later) charge for what they write, so the implicit breakpoint at the end of the
/// request, where nothing is stable, is switched off. They match prefixes best among requests with the same
/// `prompt_cache_key`. The key is the hash of the prompt's closure, which all calls of one prompt share and which says
/// nothing about the input.
///
/// # Errors
///
/// [`Error::NoUserMessage`] and [`Error::NoOutput`].
pub fn openai(assembly: &Assembly, model: &Model, plan: &CachePlan) -> Result<Value, Error> {
    openai_fields(assembly, model, plan).map(Value::Object)
}

/// The fields of that body.
pub(crate) fn openai_fields(assembly: &Assembly, model: &Model, plan: &CachePlan) -> Result<Map<String, Value>, Error> {
    let mut messages = Vec::new();
    for turn in turns(assembly, plan)? {
        // Results of tools have messages of their own. They come before what the user says beside them.
        let (results, blocks) = turn.blocks.into_iter().partition::<Vec<_>, _>(TurnBlock::is_result);
        messages.extend(results.iter().filter_map(tool_message));
        if !blocks.is_empty() {
            messages.push(openai_message(MessageTurn { role: turn.role, blocks }, model)?);
        }
    }
    let mut body = Map::new();
    body.insert(String::from("model"), json!(model.name));
    let output_key = match model.output_key {
        OutputKey::MaxCompletionTokens => "max_completion_tokens",
        OutputKey::MaxTokens => "max_tokens",
    };
    body.insert(String::from(output_key), json!(output_tokens(assembly, model)?));
    body.insert(String::from("messages"), Value::Array(messages));
    if model.caching.mode == CacheControl::Explicit {
        body.insert(String::from("prompt_cache_options"), json!({ "mode": "explicit" }));
        if !plan.breakpoints.is_empty() {
            let key: String = assembly.prompt.closure.chars().take(MAX_KEY_CHARACTERS).collect();
            body.insert(String::from("prompt_cache_key"), json!(key));
        }
    }
    Ok(body)
}

fn openai_message(turn: MessageTurn, model: &Model) -> Result<Value, Error> {
    let role = match (turn.role, model.operator) {
        (Role::System, OperatorRole::System) => "system",
        (Role::System, OperatorRole::Developer) => "developer",
        (Role::User, _) => "user",
        (Role::Model, _) => "assistant",
    };
    if turn.role == Role::Model {
        return Ok(assistant_message(&turn.blocks));
    }
    let is_mixed = turn.blocks.iter().any(|block| block.part.is_some());
    let content = if is_mixed || model.caching.mode == CacheControl::Explicit {
        turn.blocks.iter().map(openai_part).collect::<Result<Value, Error>>()?
    } else {
        Value::String(turn.blocks.into_iter().map(|block| block.text).collect())
    };
    Ok(json!({ "role": role, "content": content }))
}

/// The model's earlier words, and its calls: <https://developers.openai.com/api/docs/guides/function-calling>. Its
/// parts take no breakpoint.
fn assistant_message(blocks: &[TurnBlock]) -> Value {
    let words = blocks.iter().filter(|block| block.part.is_none());
    let text: String = words.map(|block| block.text.as_str()).collect();
    let calls = blocks.iter().filter_map(|block| match &block.part {
        Some(SectionPart::Call { id, name }) => {
            let function = json!({ "name": name, "arguments": block.text });
            Some(json!({ "id": id, "type": "function", "function": function }))
        }
        _ => None,
    });
    let calls: Vec<Value> = calls.collect();
    match (text.is_empty(), calls.is_empty()) {
        (_, true) => json!({ "role": "assistant", "content": text }),
        (true, false) => json!({ "role": "assistant", "tool_calls": calls }),
        (false, false) => json!({ "role": "assistant", "content": text, "tool_calls": calls }),
    }
}

fn tool_message(block: &TurnBlock) -> Option<Value> {
    let Some(SectionPart::CallResult { id, .. }) = &block.part else { return None };
    Some(json!({ "role": "tool", "tool_call_id": id, "content": block.text }))
}

fn openai_part(block: &TurnBlock) -> Result<Value, Error> {
    Ok(match (&block.part, block.end) {
        (Some(SectionPart::Media { source, .. }), _) => media_part(source, &block.text)?,
        (_, BlockEnd::Plain) => json!({ "type": "text", "text": block.text }),
        (_, BlockEnd::Breakpoint) => {
            json!({ "type": "text", "text": block.text, "prompt_cache_breakpoint": { "mode": "explicit" } })
        }
    })
}

/// A picture or file: <https://developers.openai.com/api/docs/guides/images-vision>,
/// <https://developers.openai.com/api/docs/guides/pdf-files>.
fn media_part(source: &MediaSource, text: &str) -> Result<Value, Error> {
    let address = match source {
        MediaSource::Inline(facts) => format!("data:{};base64,{text}", facts.kind.as_str()),
        MediaSource::Remote { .. } if source.is_image() => text.to_owned(),
        MediaSource::Remote { .. } => return Err(Error::RemoteDocument),
    };
    Ok(if source.is_image() {
        json!({ "type": "image_url", "image_url": { "url": address } })
    } else {
        // The protocol wants a name, and the file's own is nobody's business.
        json!({ "type": "file", "file": { "filename": "document.pdf", "file_data": address } })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use proem_engine::media::MediaKind;

    #[track_caller]
    fn check(model: &str, sections: &str, expected: &Value) {
        let (assembly, plan) = sample::parse_sample(sections);
        let body = openai(&assembly, &sample::built_in_model(model), &plan).unwrap();
        assert_eq!(&body, expected, "{model} {sections:?}");
    }

    #[test]
    fn bodies_of_models_that_cache_by_themselves() {
        check(
            "gpt-4o",
            "system:role system:rules user:task",
            &json!({
                "model": "gpt-4o",
                "max_completion_tokens": 200,
                "messages": [
                    { "role": "system", "content": "rolerules" },
                    { "role": "user", "content": "task" },
                ],
            }),
        );
        check(
            "gpt-5-mini",
            "system:role user:task",
            &json!({
                "model": "gpt-5-mini",
                "max_completion_tokens": 200,
                "messages": [
                    { "role": "developer", "content": "role" },
                    { "role": "user", "content": "task" },
                ],
            }),
        );
    }

    #[test]
    fn calls_results_and_pictures_have_their_messages() {
        for (picture, expected) in [
            (
                sample::inline(MediaKind::Webp),
                json!({ "type": "image_url", "image_url": { "url": "data:image/webp;base64,AAAA" } }),
            ),
            (
                sample::inline(MediaKind::Pdf),
                json!({ "type": "file", "file": { "filename": "document.pdf", "file_data": "data:application/pdf;base64,AAAA" } }),
            ),
            (MediaSource::Remote { kind: None }, json!({ "type": "image_url", "image_url": { "url": "AAAA" } })),
        ] {
            let (assembly, plan) = sample::conversation(picture);
            let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "find", "arguments": arguments } });
            let body = openai(&assembly, &sample::built_in_model("gpt-4o"), &plan).unwrap();
            let messages = json!([
                { "role": "system", "content": "role" },
                { "role": "user", "content": "ask" },
                { "role": "assistant", "content": "look", "tool_calls": [call("c1", "{}"), call("c2", "{\"a\":1}")] },
                { "role": "tool", "tool_call_id": "c1", "content": "found" },
                { "role": "tool", "tool_call_id": "c2", "content": "more" },
                { "role": "user", "content": [expected, { "type": "text", "text": "task" }] },
            ]);
            assert_eq!(body["messages"], messages);
        }
        let (assembly, plan) = sample::conversation(MediaSource::Remote { kind: Some(MediaKind::Pdf) });
        assert_eq!(openai(&assembly, &sample::built_in_model("gpt-4o"), &plan), Err(Error::RemoteDocument));
    }

    #[test]
    fn bodies_of_models_with_breakpoints() {
        check(
            "gpt-6-sol",
            "system:role| user:log user:task model:reply| user:more",
            &json!({
                "model": "gpt-6-sol",
                "max_completion_tokens": 200,
                "messages": [
                    { "role": "developer", "content": [
                        { "type": "text", "text": "role", "prompt_cache_breakpoint": { "mode": "explicit" } },
                    ] },
                    { "role": "user", "content": [{ "type": "text", "text": "logtask" }] },
                    { "role": "assistant", "content": "reply" },
                    { "role": "user", "content": [{ "type": "text", "text": "more" }] },
                ],
                "prompt_cache_options": { "mode": "explicit" },
                "prompt_cache_key": "0f".repeat(32),
            }),
        );
        check(
            "gpt-6-sol",
            "user:task",
            &json!({
                "model": "gpt-6-sol",
                "max_completion_tokens": 200,
                "messages": [{ "role": "user", "content": [{ "type": "text", "text": "task" }] }],
                "prompt_cache_options": { "mode": "explicit" },
            }),
        );
    }
}
