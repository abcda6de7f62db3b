//! Functions of Semantic Kernel: `skprompt.txt` with `config.json`, or one YAML file.
//!
//! Sources: <https://learn.microsoft.com/semantic-kernel/concepts/prompts/prompt-template-syntax>,
//! <https://learn.microsoft.com/semantic-kernel/concepts/prompts/yaml-schema>.

use serde_json::Value as Json;

use super::chat_xml::{is_chat, read_chat};
use super::document::{items, mapping_entries, parse_document, scalar_text};
use super::placeholder::{PlaceholderStyle, scan_placeholders};
use super::source::{Fragment, ImportReader, SourceFile, input_name, text_input};
use super::{ImportedPrompt, ImportedTurn};
use crate::message::Role;
use crate::ordered_json::OrderedJson;
use crate::prompt::yaml::YamlNode;

/// Reads a function: its text is the user's message.
pub(super) fn read_semantic_kernel(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let file = reader.file;
    if file.base_name() != "skprompt.txt" {
        return read_yaml(reader).into_iter().collect();
    }
    let folder = reader.folder.to_owned();
    let mut prompt = reader.prompt(&folder);
    let mut style = PlaceholderStyle::SemanticKernel;
    if let Some(config) = reader.beside("config.json") {
        match parse_document(config) {
            Ok(root) => style = read_kernel_config(&root, config, &mut prompt, reader),
            Err(problem) => reader.refuse_whole(problem),
        }
    }
    let fragment = Fragment { file, start: 0, text: file.text.to_owned() };
    push_turn(&fragment, style, &mut prompt, reader);
    vec![prompt]
}

fn read_yaml(reader: &mut ImportReader<'_>) -> Option<ImportedPrompt> {
    let file = reader.file;
    let root = parse_document(file).map_err(|problem| reader.refuse_whole(problem)).ok()?;
    let stem = file.base_name().split('.').next().unwrap_or_default().to_owned();
    let name = root.get("name").and_then(YamlNode::as_str).unwrap_or(&stem).to_owned();
    let mut prompt = reader.prompt(&name);
    let style = read_kernel_config(&root, file, &mut prompt, reader);
    let Some(fragment) = root.get("template").and_then(|node| Fragment::of_node(file, node)) else {
        reader.refuse(file, root.span.start, "`template` is missing or no text", "");
        return None;
    };
    push_turn(&fragment, style, &mut prompt, reader);
    Some(prompt)
}

fn push_turn(
    fragment: &Fragment<'_>,
    style: PlaceholderStyle,
    prompt: &mut ImportedPrompt,
    reader: &mut ImportReader<'_>,
) {
    if is_chat(&fragment.text) {
        for message in read_chat(fragment, reader) {
            let pieces = scan_placeholders(&message.fragment, style, reader);
            let line = fragment.file.line(message.fragment.start);
            prompt.turns.push(ImportedTurn { role: message.role, pieces, line });
        }
        return;
    }
    let pieces = scan_placeholders(fragment, style, reader);
    prompt.turns.push(ImportedTurn { role: Role::User, pieces, line: fragment.file.line(fragment.start) });
}

/// Reads what both forms call alike, and says in which language the template is.
fn read_kernel_config(
    root: &YamlNode,
    file: SourceFile<'_>,
    prompt: &mut ImportedPrompt,
    reader: &mut ImportReader<'_>,
) -> PlaceholderStyle {
    let mut style = PlaceholderStyle::SemanticKernel;
    for (key, value) in mapping_entries(Some(root)) {
        let at = key.span.start;
        match key.name.as_str() {
            "name" | "template" | "schema" | "type" => {}
            "description" => prompt.purpose = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned),
            "input_variables" => items(Some(value)).iter().for_each(|item| read_variable(item, prompt)),
            "input" => items(value.get("parameters")).iter().for_each(|item| read_variable(item, prompt)),
            "execution_settings" | "completion" => read_kernel_settings(value, file, prompt, reader),
            "template_format" => match value.as_str() {
                Some("semantic-kernel") | None => {}
                Some("jinja2") => style = PlaceholderStyle::Jinja,
                Some("handlebars") => style = PlaceholderStyle::Mustache,
                Some(other) => {
                    let message = format!("the template language `{other}` is not imported");
                    reader.refuse(file, at, &message, "known: semantic-kernel, jinja2, handlebars");
                }
            },
            other => reader.leave_out(file, at, format!("`{other}` is left out: a prompt file has no such key")),
        }
    }
    style
}

fn read_variable(node: &YamlNode, prompt: &mut ImportedPrompt) {
    let Some(name) = node.get("name").and_then(YamlNode::as_str).map(input_name) else { return };
    let mut input = text_input();
    if let Some(about) = node.get("description").and_then(YamlNode::as_str).filter(|text| !text.is_empty()) {
        input.schema = serde_json::json!({ "type": "string", "description": about }).into();
    }
    let default = node.get("default").or_else(|| node.get("defaultValue")).and_then(scalar_text);
    let is_required = node.get("is_required").is_some_and(|node| node.to_json() == Json::Bool(true));
    input.default = default.filter(|_| !is_required).map(|text| OrderedJson::Text(text.into()));
    prompt.inputs.insert(name, input);
}

/// Settings of the service `default`, or of the only one.
fn read_kernel_settings(
    node: &YamlNode,
    file: SourceFile<'_>,
    prompt: &mut ImportedPrompt,
    reader: &mut ImportReader<'_>,
) {
    let services: Vec<&YamlNode> = mapping_entries(Some(node))
        .iter()
        .filter(|(_, v)| !mapping_entries(Some(v)).is_empty())
        .map(|(_, v)| v)
        .collect();
    let settings = node.get("default").or_else(|| services.first().copied()).unwrap_or(node);
    for entry in mapping_entries(Some(settings)) {
        if entry.0.name == "function_choice_behavior" {
            let text = "`function_choice_behavior` is left out: name tools under `proem.tools`";
            reader.leave_out(file, entry.0.span.start, text);
        } else {
            reader.take_setting(file, entry, "", &mut prompt.settings);
        }
    }
}
