//! LangChain's prompts with examples: texts (`FewShotPromptTemplate`) and chats (`FewShotChatMessagePromptTemplate`).
//!
//! Source: `langchain_core/prompts/few_shot.py` of <https://github.com/langchain-ai/langchain>.

use proem_text::OrderedMap;

use super::super::document::{items, mapping_entries, parse_document, text_values};
use super::super::placeholder::scan_placeholders;
use super::super::source::{Fragment, ImportReader, SourceFile};
use super::super::{ImportedTurn, TextPiece};
use super::{class_of, fix_value, read_langchain_template, read_message, read_style};
use crate::ordered_json::OrderedJson;
use crate::prompt::yaml::YamlNode;

/// What is between examples where a file doesn't say.
const SEPARATOR: &str = "\n\n";

/// The most examples of one prompt.
const MAX_EXAMPLES: usize = 500;

/// The files that a prompt names.
pub(super) fn wanted_files(prompt: &YamlNode) -> Vec<String> {
    let named = ["template_path", "examples", "prefix_path", "suffix_path", "example_prompt_path"];
    let own = named.iter().filter_map(|key| prompt.get(key)?.as_str().map(str::to_owned));
    let inner = prompt.get("example_prompt").and_then(|inner| inner.get("template_path")?.as_str().map(str::to_owned));
    own.chain(inner).collect()
}

/// Reads a text with examples.
///
/// LangChain joins prefix, examples and suffix, and then fills the whole, so that placeholders in examples count too.
pub(super) fn read_few_shot(kwargs: &YamlNode, reader: &mut ImportReader<'_>) -> Vec<TextPiece> {
    let file = reader.file;
    let Some(style) = read_style(kwargs, reader) else { return Vec::new() };
    if let Some(selector) = kwargs.get("example_selector").filter(|node| !node.to_json().is_null()) {
        let help = "write the examples into `examples`";
        reader.refuse(file, selector.span.start, "a selector of examples is code, which is not imported", help);
        return Vec::new();
    }
    let (Some(prefix), Some(suffix)) = (read_end("prefix", kwargs, reader), read_end("suffix", kwargs, reader)) else {
        return Vec::new();
    };
    let mut parts = vec![prefix];
    for example in examples_of(kwargs, reader) {
        let Some(template) = example_template(kwargs, reader) else { return Vec::new() };
        let pieces = fill_example(read_langchain_template(template.node(), None, reader), &example, reader);
        parts.push(
            pieces.iter().map(|piece| if let TextPiece::Text(text) = piece { text.as_str() } else { "" }).collect(),
        );
    }
    parts.push(suffix);
    let separator = kwargs.get("example_separator").and_then(YamlNode::as_str).unwrap_or(SEPARATOR);
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let fragment = Fragment { file, start: kwargs.span.start, text: parts.join(separator) };
    leave_rest(kwargs, reader);
    let fixed = text_values(kwargs.get("partial_variables"));
    scan_placeholders(&fragment, style, reader).into_iter().map(|piece| fix_value(piece, &fixed)).collect()
}

/// Reads the messages of a chat's examples.
pub(super) fn read_few_shot_chat(node: &YamlNode, reader: &mut ImportReader<'_>) -> Vec<ImportedTurn> {
    let file = reader.file;
    let kwargs = node.get("kwargs").unwrap_or(node);
    if node.get("type").and_then(YamlNode::as_str) == Some("not_implemented") || kwargs.get("examples").is_none() {
        let help = "LangChain doesn't save them: write each as a human and an AI message";
        reader.refuse(file, node.span.start, "the examples of this chat are not in the file", help);
        return Vec::new();
    }
    let template = kwargs.get("example_prompt").cloned();
    let messages: Vec<YamlNode> = match &template {
        Some(template) if class_of(template) == "ChatPromptTemplate" => {
            items(template.get("kwargs").and_then(|kwargs| kwargs.get("messages"))).to_vec()
        }
        Some(template) => vec![template.clone()],
        None => Vec::new(),
    };
    if messages.is_empty() {
        reader.refuse(file, node.span.start, "`example_prompt` is missing or holds no message", "");
        return Vec::new();
    }
    let mut turns = Vec::new();
    for example in examples_of(kwargs, reader) {
        for message in &messages {
            let Some(mut turn) = read_message(message, None, reader) else { continue };
            turn.pieces = fill_example(turn.pieces, &example, reader);
            turns.push(turn);
        }
    }
    turns
}

/// An example with the place where it begins.
struct Example {
    values: OrderedMap<OrderedJson>,
    at: usize,
}

/// The examples, written out or in a file beside the prompt.
fn examples_of(kwargs: &YamlNode, reader: &mut ImportReader<'_>) -> Vec<Example> {
    let file = reader.file;
    let Some(node) = kwargs.get("examples") else { return Vec::new() };
    let (read, at_file) = match node.as_str() {
        None => (None, true),
        Some(path) => match reader.beside(path) {
            None => {
                let message = format!("the examples `{path}` are not there");
                reader.refuse(file, node.span.start, &message, "put them beside the file");
                return Vec::new();
            }
            Some(beside) => match parse_document(beside) {
                Ok(root) => (Some(root), false),
                Err(problem) => {
                    reader.refuse_whole(problem);
                    return Vec::new();
                }
            },
        },
    };
    let list = items(Some(read.as_ref().unwrap_or(node)));
    if list.len() > MAX_EXAMPLES {
        let message = format!("{} examples; a prompt takes {MAX_EXAMPLES}", list.len());
        reader.refuse(file, node.span.start, &message, "choose some of them");
        return Vec::new();
    }
    let example = |item: &YamlNode| Example {
        values: text_values(Some(item)),
        at: if at_file { item.span.start } else { node.span.start },
    };
    list.iter().map(example).collect()
}

/// The template of an example, in the file or beside it.
enum ExampleTemplate<'n> {
    Here(&'n YamlNode),
    Beside(YamlNode),
}

impl ExampleTemplate<'_> {
    fn node(&self) -> &YamlNode {
        match self {
            Self::Here(node) => node.get("kwargs").unwrap_or(node),
            Self::Beside(node) => node,
        }
    }
}

fn example_template<'n>(kwargs: &'n YamlNode, reader: &mut ImportReader<'_>) -> Option<ExampleTemplate<'n>> {
    let file = reader.file;
    if let Some(node) = kwargs.get("example_prompt") {
        return Some(ExampleTemplate::Here(node));
    }
    let path = kwargs.get("example_prompt_path").and_then(YamlNode::as_str);
    let Some(beside) = path.and_then(|path| reader.beside(path)) else {
        let message = match path {
            Some(path) => format!("the template of examples `{path}` is not there"),
            None => "`example_prompt` is missing".to_owned(),
        };
        reader.refuse(file, kwargs.span.start, &message, "put it beside the file");
        return None;
    };
    match parse_document(beside) {
        Ok(root) => Some(ExampleTemplate::Beside(root)),
        Err(problem) => {
            reader.refuse_whole(problem);
            None
        }
    }
}

/// The template of an example with its values. A name without a value is refused.
fn fill_example(pieces: Vec<TextPiece>, example: &Example, reader: &mut ImportReader<'_>) -> Vec<TextPiece> {
    let mut filled = Vec::new();
    for piece in pieces {
        let piece = fix_value(piece, &example.values);
        if let TextPiece::Input(path) = &piece {
            let message = format!("the example has no value for `{}`", path.join("."));
            reader.refuse(reader.file, example.at, &message, "add it to the example");
        }
        filled.push(piece);
    }
    filled
}

/// What is before or behind the examples, as it is written.
fn read_end(name: &str, kwargs: &YamlNode, reader: &mut ImportReader<'_>) -> Option<String> {
    let file = reader.file;
    let path = kwargs.get(&format!("{name}_path")).and_then(YamlNode::as_str);
    let text = |beside: SourceFile<'_>| beside.text.to_owned();
    match (kwargs.get(name), path) {
        (Some(node), _) if node.to_json().is_null() => Some(String::new()),
        (Some(node), _) => match node.as_str() {
            Some(text) => Some(text.to_owned()),
            None => {
                reader.refuse(file, node.span.start, &format!("`{name}` is no text"), "save it as a text");
                None
            }
        },
        (None, Some(path)) => {
            let beside = reader.beside(path).map(text);
            if beside.is_none() {
                let message = format!("the text `{path}` is not there");
                reader.refuse(file, kwargs.span.start, &message, "put it beside the file");
            }
            beside
        }
        (None, None) => Some(String::new()),
    }
}

fn leave_rest(kwargs: &YamlNode, reader: &mut ImportReader<'_>) {
    const READ: [&str; 15] = [
        "_type",
        "example_prompt",
        "example_prompt_path",
        "example_selector",
        "example_separator",
        "examples",
        "input_types",
        "input_variables",
        "partial_variables",
        "prefix",
        "prefix_path",
        "suffix",
        "suffix_path",
        "template_format",
        "validate_template",
    ];
    for (key, value) in mapping_entries(Some(kwargs)).iter().filter(|(key, _)| !READ.contains(&key.name.as_str())) {
        let is_empty =
            value.to_json().is_null() || (mapping_entries(Some(value)).is_empty() && value.as_str().is_none());
        if !is_empty {
            reader.leave_out(reader.file, key.span.start, format!("`{}` is left out", key.name));
        }
    }
}
