//! OpenAI's Chat Completions: <https://developers.openai.com/api/docs/guides/prompt-caching>.

pub(crate) mod answer;
pub(crate) mod ask;

use proem_engine::assembly::Assembly;
use proem_engine::cache::CachePlan;
use proem_engine::message::Role;
use proem_engine::providers::{CacheControl, Model, OperatorRole, OutputKey};
use serde_json::{Map, Value, json};

use crate::turn::{BlockEnd, MessageTurn, TurnBlock, turns};
use crate::{Error, output_tokens};

/// The longest `prompt_cache_key` that OpenAI takes, in characters.
const MAX_KEY_CHARACTERS: usize = 64;

/// The body of a request to `POST /v1/chat/completions`.
///
/// Models that cache by themselves get nothing about caching: they already route by the start of
/// the prompt. Models with breakpoints (GPT-5.6 and later) charge for what they write, so the
/// implicit breakpoint at the end of the request, where nothing is stable, is switched off. They
/// match prefixes best among requests with the same `prompt_cache_key`; the key is the hash of the
/// prompt's closure, which all calls of one prompt share and which says nothing about the input.
///
/// # Errors
///
/// [`Error::NoUserMessage`] and [`Error::NoOutput`].
pub fn openai(assembly: &Assembly, model: &Model, plan: &CachePlan) -> Result<Value, Error> {
    openai_fields(assembly, model, plan).map(Value::Object)
}

/// The fields of that body.
pub(crate) fn openai_fields(assembly: &Assembly, model: &Model, plan: &CachePlan) -> Result<Map<String, Value>, Error> {
    let messages = turns(assembly, plan)?.into_iter().map(|turn| openai_message(turn, model)).collect();
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

fn openai_message(turn: MessageTurn, model: &Model) -> Value {
    let role = match (turn.role, model.operator) {
        (Role::System, OperatorRole::System) => "system",
        (Role::System, OperatorRole::Developer) => "developer",
        (Role::User, _) => "user",
        (Role::Model, _) => "assistant",
    };
    let content = match (model.caching.mode, turn.role) {
        // An assistant's parts take no breakpoint.
        (CacheControl::Explicit, Role::System | Role::User) => turn.blocks.iter().map(openai_part).collect(),
        _ => Value::String(turn.blocks.into_iter().map(|block| block.text).collect()),
    };
    json!({ "role": role, "content": content })
}

fn openai_part(block: &TurnBlock) -> Value {
    match block.end {
        BlockEnd::Plain => json!({ "type": "text", "text": block.text }),
        BlockEnd::Breakpoint => {
            json!({ "type": "text", "text": block.text, "prompt_cache_breakpoint": { "mode": "explicit" } })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

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
