//! LangChain's prompts as `save` and `dumps` write them, in JSON or YAML.
//!
//! Source: `langchain_core/prompts/loading.py` and `langchain_core/load/dump.py` of
//! <https://github.com/langchain-ai/langchain>.

mod few_shot;

use proem_text::OrderedMap;

use super::document::{items, mapping_entries, parse_document, scalar_text, text_values};
use super::placeholder::{PlaceholderStyle, scan_placeholders};
use super::request::content_fragments;
use super::source::{Fragment, ImportReader, SourceFile, text_as_prompt_name};
use super::{ImportedPrompt, ImportedTurn, TextPiece};
use crate::error::{Error, ErrorKind};
use crate::message::Role;
use crate::ordered_json::OrderedJson;
use crate::prompt::yaml::YamlNode;

/// The file that `template_path` names.
pub(super) fn langchain_files(file: SourceFile<'_>) -> Result<Vec<String>, Error> {
    let root = parse_document(file).map_err(|problem| Error::new(ErrorKind::InvalidFile, problem))?;
    let prompt = root.get("prompt").unwrap_or(&root);
    Ok(few_shot::wanted_files(prompt))
}

/// Reads a prompt, or the prompt of a chain.
pub(super) fn read_langchain(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let file = reader.file;
    let root = match parse_document(file) {
        Ok(root) => root,
        Err(problem) => {
            reader.refuse_whole(problem);
            return Vec::new();
        }
    };
    let base = file.base_name().split('.').next().unwrap_or_default();
    let folder = reader.folder;
    // Files of a hub are all called `prompt.json`. Their folder has the name.
    let name = if matches!(base, "prompt" | "chain" | "basic") && !folder.is_empty() { folder } else { base };
    let mut prompt = reader.prompt(&text_as_prompt_name(name));
    let node = root.get("prompt").filter(|_| root.get("template").is_none());
    if node.is_some() {
        for (key, _) in
            mapping_entries(Some(&root)).iter().filter(|(key, _)| key.name != "prompt" && key.name != "_type")
        {
            reader.leave_out(
                file,
                key.span.start,
                format!("`{}` of the chain is left out: only its prompt is imported", key.name),
            );
        }
    }
    let node = node.unwrap_or(&root);
    let kwargs = node.get("kwargs").unwrap_or(node);
    if let Some(messages) = kwargs.get("messages") {
        let partial = kwargs.get("partial_variables");
        for message in items(Some(messages)) {
            if class_of(message) == "FewShotChatMessagePromptTemplate" {
                prompt.turns.extend(few_shot::read_few_shot_chat(message, reader));
            } else {
                prompt.turns.extend(read_message(message, partial, reader));
            }
        }
    } else {
        let kind = node.get("_type").and_then(YamlNode::as_str).unwrap_or("prompt");
        if kind == "few_shot" {
            let pieces = few_shot::read_few_shot(kwargs, reader);
            prompt.turns.push(ImportedTurn { role: Role::User, pieces, line: file.line(node.span.start) });
            return vec![prompt];
        }
        if kind != "prompt" {
            let at = node.get("_type").map_or(0, |node| node.span.start);
            let message = format!("a prompt of the type `{kind}` is not imported");
            reader.refuse(file, at, &message, "known: prompt, few_shot, and chats that `dumps` wrote");
            return Vec::new();
        }
        let pieces = read_langchain_template(kwargs, None, reader);
        prompt.turns.push(ImportedTurn { role: Role::User, pieces, line: file.line(node.span.start) });
        leave_rest(kwargs, reader);
    }
    vec![prompt]
}

fn leave_rest(kwargs: &YamlNode, reader: &mut ImportReader<'_>) {
    const READ: [&str; 8] = [
        "template",
        "template_path",
        "template_format",
        "input_variables",
        "partial_variables",
        "_type",
        "validate_template",
        "input_types",
    ];
    for (key, value) in mapping_entries(Some(kwargs)) {
        let is_empty = value.to_json().is_null()
            || (mapping_entries(Some(value)).is_empty()
                && items(Some(value)).is_empty()
                && scalar_text(value).is_none());
        if !READ.contains(&key.name.as_str()) && !is_empty {
            reader.leave_out(reader.file, key.span.start, format!("`{}` is left out", key.name));
        }
    }
}

/// The class of an object that `dumps` wrote.
fn class_of(node: &YamlNode) -> &str {
    items(node.get("id")).last().and_then(YamlNode::as_str).unwrap_or("unknown")
}

/// One message of a chat: a template or final words.
fn read_message(node: &YamlNode, partial: Option<&YamlNode>, reader: &mut ImportReader<'_>) -> Option<ImportedTurn> {
    let file = reader.file;
    let role = match class_of(node) {
        "MessagesPlaceholder" => {
            let name = node.get("kwargs").and_then(|kwargs| kwargs.get("variable_name")?.as_str()).unwrap_or_default();
            let text = format!(
                "the messages of `{name}` are left out; write `{{{{history}}}}` in their place to send earlier turns"
            );
            reader.leave_out(file, node.span.start, text);
            return None;
        }
        "SystemMessagePromptTemplate" | "SystemMessage" => Role::System,
        "HumanMessagePromptTemplate" | "HumanMessage" => Role::User,
        "AIMessagePromptTemplate" | "AIMessage" => Role::Model,
        other => {
            let message = format!("a message of the class `{other}` is not imported");
            reader.refuse(file, node.span.start, &message, "known: system, human and AI messages with words");
            return None;
        }
    };
    let kwargs = node.get("kwargs").unwrap_or(node);
    let pieces = match kwargs.get("prompt") {
        Some(prompt) if items(Some(prompt)).is_empty() => {
            read_langchain_template(prompt.get("kwargs").unwrap_or(prompt), partial, reader)
        }
        Some(prompts) => {
            let mut pieces = Vec::new();
            for prompt in items(Some(prompts)) {
                pieces.extend(read_langchain_template(prompt.get("kwargs").unwrap_or(prompt), partial, reader));
            }
            pieces
        }
        None => {
            let content = kwargs.get("content")?;
            content_fragments(content, file, reader)
                .into_iter()
                .map(|fragment| TextPiece::Text(fragment.text))
                .collect()
        }
    };
    Some(ImportedTurn { role, pieces, line: file.line(node.span.start) })
}

/// A template with its language. Values that the source fixes become words.
fn read_langchain_template(
    kwargs: &YamlNode,
    outer: Option<&YamlNode>,
    reader: &mut ImportReader<'_>,
) -> Vec<TextPiece> {
    let file = reader.file;
    let Some(style) = read_style(kwargs, reader) else { return Vec::new() };
    let path = kwargs.get("template_path").and_then(YamlNode::as_str);
    let fragment = match (kwargs.get("template").and_then(|node| Fragment::of_node(file, node)), path) {
        (Some(fragment), _) => fragment,
        (None, Some(path)) => match reader.beside(path) {
            Some(beside) => Fragment { file: beside, start: 0, text: beside.text.to_owned() },
            None => {
                let message = format!("the template `{path}` is not there");
                reader.refuse(file, kwargs.span.start, &message, "put it beside the file");
                return Vec::new();
            }
        },
        (None, None) => {
            reader.refuse(file, kwargs.span.start, "`template` is missing or no text", "");
            return Vec::new();
        }
    };
    let mut fixed = text_values(kwargs.get("partial_variables"));
    for (name, value) in text_values(outer).iter() {
        fixed.insert(name, value.clone());
    }
    scan_placeholders(&fragment, style, reader).into_iter().map(|piece| fix_value(piece, &fixed)).collect()
}

/// How the template of an object writes placeholders.
fn read_style(kwargs: &YamlNode, reader: &mut ImportReader<'_>) -> Option<PlaceholderStyle> {
    match kwargs.get("template_format").and_then(YamlNode::as_str) {
        None | Some("f-string") => Some(PlaceholderStyle::FString),
        Some("jinja2") => Some(PlaceholderStyle::Jinja),
        Some("mustache") => Some(PlaceholderStyle::Mustache),
        Some(other) => {
            let message = format!("the template language `{other}` is not known");
            reader.refuse(reader.file, kwargs.span.start, &message, "known: f-string, jinja2, mustache");
            None
        }
    }
}

/// A piece with the value that the source fixes for it.
fn fix_value(piece: TextPiece, fixed: &OrderedMap<OrderedJson>) -> TextPiece {
    match &piece {
        TextPiece::Input(path) => match path.first().and_then(|name| fixed.get(name)) {
            Some(OrderedJson::Text(text)) if path.len() == 1 => TextPiece::Text(text.as_ref().to_owned()),
            _ => piece,
        },
        _ => piece,
    }
}
