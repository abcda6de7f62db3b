//! <https://platform.openai.com/docs/api-reference/chat/create>

use serde_json::Value as Json;

use super::{
    check_limits, check_tool_name, count_members, refuse_unknown_members, required_list, required_text, schema, truth,
};

/// The members of a request.
const MEMBERS: [&str; 37] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// Refuses what OpenAI would refuse.
pub(super) fn check_openai_body(body: &Json) -> Result<(), String> {
    refuse_unknown_members(body, &MEMBERS)?;
    required_text(body, "model")?;
    check_limits(body, "temperature", 0.0, 2.0)?;
    check_limits(body, "top_p", 0.0, 1.0)?;
    truth(body, "stream")?;
    truth(body, "parallel_tool_calls")?;
    let limits = [body.get("max_tokens"), body.get("max_completion_tokens")];
    if limits.iter().flatten().any(|limit| limit.as_u64().is_none_or(|limit| limit == 0)) {
        return Err("max_completion_tokens: must be a whole number of at least 1".to_owned());
    }
    if limits.iter().flatten().count() > 1 {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        return Err(message.to_owned());
    }
    if body.get("stream_options").is_some() && body.get("stream") != Some(&Json::Bool(true)) {
        return Err("The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned());
    }
    for (index, message) in required_list(body, "messages")?.iter().enumerate() {
        check_message(message).map_err(|problem| format!("messages[{index}]: {problem}"))?;
    }
    if count_members(body, "prompt_cache_breakpoint") > 4 {
        return Err("prompt_cache_breakpoint: at most 4 are allowed".to_owned());
    }
    if body.get("prompt_cache_key").and_then(Json::as_str).is_some_and(|key| key.chars().count() > 64) {
        return Err("prompt_cache_key: string too long, at most 64 characters".to_owned());
    }
    check_openai_tools(body)?;
    match body.get("response_format") {
        Some(format) => response(format).map_err(|problem| format!("response_format: {problem}")),
        None => Ok(()),
    }
}

fn check_message(message: &Json) -> Result<(), String> {
    let role = required_text(message, "role")?;
    if !["system", "developer", "user", "assistant", "tool"].contains(&role) {
        return Err(format!("Invalid value: '{role}' is no role"));
    }
    match message.get("content") {
        Some(Json::String(_)) => Ok(()),
        Some(Json::Array(parts)) if !parts.is_empty() => {
            parts.iter().try_for_each(|part| match required_text(part, "type")? {
                "text" => part.get("text").and_then(Json::as_str).map(|_| ()).ok_or("text: Field required".to_owned()),
                "image_url" | "input_audio" | "file" | "refusal" => Ok(()),
                other => Err(format!("Invalid value: '{other}' is no type of content")),
            })
        }
        Some(Json::Null) | None if role == "assistant" && message.get("tool_calls").is_some() => Ok(()),
        _ => Err("content: must be a text or a list of parts".to_owned()),
    }
}

fn check_openai_tools(body: &Json) -> Result<(), String> {
    let mut names = Vec::new();
    for tool in body.get("tools").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default() {
        if required_text(tool, "type")? != "function" {
            return Err("tools: Invalid value for type, expected `function`".to_owned());
        }
        let function = tool.get("function").ok_or("tools.function: Field required")?;
        let found = required_text(function, "name")?;
        check_tool_name(found)?;
        if names.contains(&found) {
            return Err(format!("tools: `{found}` is there twice"));
        }
        names.push(found);
        if let Some(parameters) = function.get("parameters") {
            schema::check_object_schema(parameters)
                .map_err(|problem| format!("Invalid schema for function '{found}': {problem}"))?;
            if function.get("strict") == Some(&Json::Bool(true)) {
                schema::check_strict_schema(parameters)
                    .map_err(|problem| format!("Invalid schema for function '{found}': {problem}"))?;
            }
        }
    }
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    match choice {
        Json::String(word) if word == "none" => Ok(()),
        // `none` asks for no tool, so it needs none to choose from.
        _ if names.is_empty() => Err("'tool_choice' is only allowed when 'tools' are specified.".to_owned()),
        Json::String(word) if ["auto", "required"].contains(&word.as_str()) => Ok(()),
        choice => {
            let chosen = choice.pointer("/function/name").and_then(Json::as_str);
            match chosen {
                Some(chosen) if names.contains(&chosen) => Ok(()),
                Some(chosen) => Err(format!("Tool choice '{chosen}' not found in 'tools' parameter.")),
                None => Err("Invalid value for 'tool_choice'.".to_owned()),
            }
        }
    }
}

/// <https://platform.openai.com/docs/guides/structured-outputs>
fn response(format: &Json) -> Result<(), String> {
    match required_text(format, "type")? {
        "text" | "json_object" => Ok(()),
        "json_schema" => {
            let described = format.get("json_schema").ok_or("json_schema: Field required")?;
            check_tool_name(required_text(described, "name")?)?;
            let schema = described.get("schema").ok_or("json_schema.schema: Field required")?;
            schema::check_object_schema(schema)?;
            if described.get("strict") == Some(&Json::Bool(true)) {
                schema::check_strict_schema(schema)
            } else {
                Ok(())
            }
        }
        other => Err(format!("type: Invalid value '{other}'")),
    }
}

/// <https://platform.openai.com/docs/api-reference/embeddings/create>
pub(super) fn embeddings(body: &Json) -> Result<(), String> {
    refuse_unknown_members(body, &["dimensions", "encoding_format", "input", "model", "user"])?;
    required_text(body, "model")?;
    match body.get("input") {
        Some(Json::String(text)) if !text.is_empty() => {}
        Some(Json::Array(texts)) if (1..=2048).contains(&texts.len()) => {
            if texts.iter().any(|text| text.as_str().is_none_or(str::is_empty)) {
                return Err("'$.input' is invalid: every input must be a text that is not empty".to_owned());
            }
        }
        _ => return Err("'$.input' is invalid: must be a text or a list of 1 to 2048 texts".to_owned()),
    }
    if body.get("dimensions").is_some_and(|dimensions| dimensions.as_u64().is_none_or(|count| count == 0)) {
        return Err("dimensions: must be a whole number of at least 1".to_owned());
    }
    match body.get("encoding_format").map(Json::as_str) {
        None | Some(Some("float" | "base64")) => Ok(()),
        _ => Err("encoding_format: must be `float` or `base64`".to_owned()),
    }
}
