//! <https://platform.claude.com/docs/en/api/messages>

use serde_json::Value as Json;

use super::{
    check_limits, check_tool_name, count_members, refuse_unknown_members, required_list, required_text, schema, truth,
};

/// The members of a request.
const MEMBERS: [&str; 21] = [
    "cache_control",
    "container",
    "context_management",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Refuses what Anthropic would refuse.
pub(super) fn check_anthropic_body(body: &Json) -> Result<(), String> {
    refuse_unknown_members(body, &MEMBERS)?;
    required_text(body, "model")?;
    match body.get("max_tokens").map(Json::as_u64) {
        None => return Err("max_tokens: Field required".to_owned()),
        Some(None | Some(0)) => return Err("max_tokens: must be a whole number of at least 1".to_owned()),
        Some(Some(_)) => {}
    }
    check_limits(body, "temperature", 0.0, 1.0)?;
    check_limits(body, "top_p", 0.0, 1.0)?;
    truth(body, "stream")?;
    if let Some(system) = body.get("system") {
        check_content(system).map_err(|problem| format!("system: {problem}"))?;
    }
    check_messages(required_list(body, "messages")?)?;
    check_anthropic_tools(body)?;
    if count_members(body, "cache_control") > 4 {
        return Err("A maximum of 4 blocks with cache_control may be provided.".to_owned());
    }
    match body.pointer("/output_config/format") {
        Some(format) => check_output_format(format).map_err(|problem| format!("output_config.format: {problem}")),
        None => Ok(()),
    }
}

fn check_messages(messages: &[Json]) -> Result<(), String> {
    for (index, message) in messages.iter().enumerate() {
        let role = message.get("role").and_then(Json::as_str).unwrap_or_default();
        match role {
            "user" => {}
            "assistant" if index > 0 => {}
            "assistant" => return Err("messages: first message must use the \"user\" role".to_owned()),
            _ => return Err(format!("messages.{index}.role: must be `user` or `assistant`, not `{role}`")),
        }
        let found = message.get("content").ok_or_else(|| format!("messages.{index}.content: Field required"))?;
        check_content(found).map_err(|problem| format!("messages.{index}.content: {problem}"))?;
    }
    Ok(())
}

fn check_content(content: &Json) -> Result<(), String> {
    let blocks = match content {
        Json::String(text) if text.is_empty() => return Err("must not be empty".to_owned()),
        Json::String(_) => return Ok(()),
        Json::Array(blocks) if !blocks.is_empty() => blocks,
        _ => return Err("must be a text or a list of at least one block".to_owned()),
    };
    for block in blocks {
        match required_text(block, "type")? {
            "text" if required_text(block, "text")?.trim().is_empty() => {
                return Err("text content blocks must contain non-whitespace text".to_owned());
            }
            "text" | "image" | "document" | "tool_result" | "thinking" | "redacted_thinking" => {}
            "tool_use" => check_tool_name(required_text(block, "name")?)?,
            other => return Err(format!("Input tag `{other}` is not a type of content")),
        }
    }
    Ok(())
}

fn check_anthropic_tools(body: &Json) -> Result<(), String> {
    let mut names = Vec::new();
    for tool in body.get("tools").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default() {
        let found = required_text(tool, "name").map_err(|problem| format!("tools: {problem}"))?;
        check_tool_name(found).map_err(|problem| format!("tools: {problem}"))?;
        if names.contains(&found) {
            return Err("tools: Tool names must be unique.".to_owned());
        }
        names.push(found);
        let input = tool.get("input_schema").ok_or("tools.input_schema: Field required")?;
        schema::check_root_schema(input).map_err(|problem| format!("tools.input_schema: {problem}"))?;
        if tool.get("strict") == Some(&Json::Bool(true)) {
            schema::check_closed_schema(input).map_err(|problem| format!("tools.input_schema: {problem}"))?;
        }
    }
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    if names.is_empty() {
        return Err("tool_choice may only be specified while providing tools".to_owned());
    }
    match required_text(choice, "type").map_err(|problem| format!("tool_choice: {problem}"))? {
        "auto" | "any" | "none" => Ok(()),
        "tool" => match required_text(choice, "name").map_err(|problem| format!("tool_choice: {problem}"))? {
            chosen if names.contains(&chosen) => Ok(()),
            chosen => Err(format!("tool_choice: Tool '{chosen}' not found in provided tools")),
        },
        other => Err(format!("tool_choice: Input tag '{other}' is not a type of choice")),
    }
}

/// <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>
fn check_output_format(format: &Json) -> Result<(), String> {
    if required_text(format, "type")? != "json_schema" {
        return Err("type: must be `json_schema`".to_owned());
    }
    schema::check_closed_schema(format.get("schema").ok_or("schema: Field required")?)
}
