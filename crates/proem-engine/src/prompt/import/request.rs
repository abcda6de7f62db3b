//! Bodies of requests to OpenAI and Anthropic: texts that are final, without placeholders.
//!
//! Sources: <https://platform.openai.com/docs/api-reference/chat>,
//! <https://platform.openai.com/docs/api-reference/responses>, <https://platform.claude.com/docs/en/api/messages>.

use super::document::{items, mapping_entries, parse_document};
use super::source::{Fragment, ImportReader, SourceFile, is_secret_key};
use super::{ImportedPrompt, ImportedTurn, TextPiece};
use crate::message::Role;
use crate::prompt::config::config_key;
use crate::prompt::yaml::{YamlNode, YamlValue};

/// Reads a request's body.
pub(super) fn read_request(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let file = reader.file;
    let root = match parse_document(file) {
        Ok(root) => root,
        Err(problem) => {
            reader.refuse_whole(problem);
            return Vec::new();
        }
    };
    let stem = file.base_name().split('.').next().unwrap_or_default().to_owned();
    let mut prompt = reader.prompt(&stem);
    for entry in mapping_entries(Some(&root)) {
        let (key, value) = entry;
        let at = key.span.start;
        match key.name.as_str() {
            "model" => prompt.settings.model = value.as_str().map(str::to_owned),
            other if config_key(other).is_some() => reader.take_setting(file, entry, "", &mut prompt.settings),
            "system" | "instructions" => {
                let turn =
                    ImportedTurn { role: Role::System, pieces: message_text(value, file, reader), line: file.line(at) };
                prompt.turns.insert(0, turn);
            }
            "messages" | "input" => prompt.turns.extend(read_messages(value, file, reader)),
            "response_format" | "text" => {
                let format = value.get("format").unwrap_or(value);
                let schema = format.get("json_schema").unwrap_or(format).get("schema");
                prompt.answer = schema.map(YamlNode::to_ordered);
                if prompt.answer.is_none() {
                    reader.leave_out(file, at, format!("`{}` is left out: it holds no schema", key.name));
                }
            }
            "tools" | "functions" => {
                reader.leave_out(
                    file,
                    at,
                    "`tools` is left out: save each schema beside the prompt and name it under `proem.tools`",
                );
            }
            other if is_secret_key(other) => {
                reader.leave_out(file, at, format!("`{other}` may be a credential and is left out"));
            }
            other => reader.leave_out(file, at, format!("`{other}` is left out")),
        }
    }
    vec![prompt]
}

/// Messages as both providers write them. A text alone is the user's.
fn read_messages(node: &YamlNode, file: SourceFile<'_>, reader: &mut ImportReader<'_>) -> Vec<ImportedTurn> {
    if node.as_str().is_some() {
        return vec![ImportedTurn {
            role: Role::User,
            pieces: message_text(node, file, reader),
            line: file.line(node.span.start),
        }];
    }
    let mut turns = Vec::new();
    for message in items(Some(node)) {
        let Some(role) = chat_role(message, file, reader) else { continue };
        let empty = YamlNode { span: message.span, data: YamlValue::List(Vec::new()) };
        let pieces = message_text(message.get("content").unwrap_or(&empty), file, reader);
        turns.push(ImportedTurn { role, pieces, line: file.line(message.span.start) });
    }
    turns
}

/// The role of a message. Content other than words is refused.
pub(super) fn chat_role(message: &YamlNode, file: SourceFile<'_>, reader: &mut ImportReader<'_>) -> Option<Role> {
    let at = message.span.start;
    if let Some(calls) = message.get("tool_calls").or_else(|| message.get("function_call")) {
        reader.refuse(
            file,
            calls.span.start,
            "a call of a tool is not imported",
            "keep the words of the conversation only",
        );
        return None;
    }
    let word = message.get("role").and_then(YamlNode::as_str);
    let role = match word {
        Some("system" | "developer") => Some(Role::System),
        Some("user" | "human") => Some(Role::User),
        Some("assistant" | "ai" | "model") => Some(Role::Model),
        _ => None,
    };
    if role.is_none() {
        let message = format!("a message of the role `{}` is not imported", word.unwrap_or("none"));
        reader.refuse(file, at, &message, "keep system, user and assistant messages");
    }
    role
}

/// The words of a message: a text, or a list of text parts.
fn message_text(node: &YamlNode, file: SourceFile<'_>, reader: &mut ImportReader<'_>) -> Vec<TextPiece> {
    let mut text = String::new();
    content_fragments(node, file, reader).iter().for_each(|fragment| text.push_str(&fragment.text));
    if text.is_empty() { Vec::new() } else { vec![TextPiece::Text(text)] }
}

/// The texts of a message's content. Pictures and other parts are refused.
pub(super) fn content_fragments<'s>(
    node: &YamlNode,
    file: SourceFile<'s>,
    reader: &mut ImportReader<'_>,
) -> Vec<Fragment<'s>> {
    if let Some(fragment) = Fragment::of_node(file, node) {
        return vec![fragment];
    }
    let mut fragments = Vec::new();
    for part in items(Some(node)) {
        if let Some(key) = mapping_entries(Some(part)).iter().find(|(key, _)| key.name == "cache_control") {
            reader.leave_out(
                file,
                key.0.span.start,
                "`cache_control` is left out: boundaries follow from the sections",
            );
        }
        match part.get("text").and_then(|node| Fragment::of_node(file, node)) {
            Some(fragment) => fragments.push(fragment),
            None => {
                let kind = part.get("type").and_then(YamlNode::as_str).unwrap_or("unknown");
                let message = format!("a part of the type `{kind}` is not imported; only text is");
                reader.refuse(file, part.span.start, &message, "");
            }
        }
    }
    fragments
}
