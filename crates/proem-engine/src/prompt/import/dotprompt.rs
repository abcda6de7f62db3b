//! Plain dotprompt files: their Handlebars is ours, so that blocks stay as they are.
//!
//! Source: <https://google.github.io/dotprompt/reference/>.

use proem_text::{OrderedMap, json};
use serde_json::Value as Json;

use super::document::{mapping_entries, parse_front_matter};
use super::placeholder::is_placeholder_name;
use super::source::{ImportReader, SourceFile, input_name, text_input};
use super::{ImportedInput, ImportedPrompt, ImportedTurn, TextPiece};
use crate::message::Role;
use crate::ordered_json::OrderedJson;
use crate::prompt::picoschema::{self, NamedSchemas};
use crate::prompt::yaml::YamlNode;

/// Reads a dotprompt file.
pub(super) fn read_dotprompt(reader: &mut ImportReader<'_>) -> Vec<ImportedPrompt> {
    let file = reader.file;
    let front = match parse_front_matter(file) {
        Ok(front) => front,
        Err(problem) => {
            reader.refuse_whole(problem);
            return Vec::new();
        }
    };
    let base = file.base_name();
    let mut prompt = reader.prompt(base.strip_suffix(".prompt").unwrap_or(base));
    for (key, value) in mapping_entries(front.root.as_ref()) {
        let at = key.span.start;
        match key.name.as_str() {
            "name" | "version" | "variant" => {}
            "description" => prompt.purpose = value.as_str().map(str::to_owned),
            "model" => prompt.settings.model = value.as_str().map(bare_model),
            "config" => {
                for entry in mapping_entries(Some(value)) {
                    reader.take_setting(file, entry, "config.", &mut prompt.settings);
                }
            }
            "input" => read_dotprompt_inputs(value, &mut prompt, reader),
            "output" => {
                prompt.answer =
                    value.get("schema").and_then(|schema| expand_input_schema(schema, reader)).map(OrderedJson::from);
            }
            "tools" | "toolDefs" => reader.leave_out(file, at, "`tools` is left out: name tools under `proem.tools`"),
            other => reader.leave_out(file, at, format!("`{other}` is left out: a prompt file has no such key")),
        }
    }
    let body = if front.root.is_some() { front.body.trim() } else { front.body };
    let start = front.body_start.saturating_add(front.body.find(body).unwrap_or(0));
    let mut cutter = BodyCutter {
        file,
        role: Role::User,
        pieces: Vec::new(),
        raw: String::new(),
        turns: Vec::new(),
        is_plain: true,
        line: file.line(start),
    };
    cutter.cut(body, start, reader);
    prompt.turns = cutter.turns;
    let has_schema =
        front.root.as_ref().is_some_and(|root| root.get("input").and_then(|input| input.get("schema")).is_some());
    if !has_schema {
        declare_conditions(&mut prompt);
    }
    vec![prompt]
}

/// The model without the plug-in that a dotprompt runtime finds it by.
fn bare_model(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

fn expand_input_schema(schema: &YamlNode, reader: &mut ImportReader<'_>) -> Option<Json> {
    let expanded = picoschema::expand_picoschema(&schema.to_ordered(), &NamedSchemas::new());
    expanded.map_err(|message| reader.refuse(reader.file, schema.span.start, &message, "")).ok()
}

/// A schema with its properties in the order in which they were written.
fn in_written_order(schema: &Json) -> OrderedJson {
    serde_json::from_str(&json::compact_in_order(schema)).unwrap_or_else(|_| schema.clone().into())
}

fn read_dotprompt_inputs(node: &YamlNode, prompt: &mut ImportedPrompt, reader: &mut ImportReader<'_>) {
    let defaults = node.get("default").map(YamlNode::to_ordered);
    let default_of = |name: &str| defaults.as_ref().and_then(|defaults| defaults.get(name)).cloned();
    let Some(schema) = node.get("schema").and_then(|schema| expand_input_schema(schema, reader)) else {
        for (name, value) in defaults.iter().filter_map(OrderedJson::fields).flat_map(OrderedMap::iter) {
            prompt.inputs.insert(name, ImportedInput { default: Some(value.clone()), ..text_input() });
        }
        return;
    };
    let required = schema.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
    // The schema's own order is the file's.
    let written = node.get("schema").map(|schema| schema.get("properties").unwrap_or(schema));
    let properties = schema.get("properties").and_then(Json::as_object);
    for (key, _) in mapping_entries(written) {
        let name = key.name.split(['?', '(']).next().unwrap_or_default().trim();
        let Some(schema) = properties.and_then(|properties| properties.get(name)) else { continue };
        let is_optional = !required.iter().any(|required| required == name);
        let input = ImportedInput { schema: in_written_order(schema), is_optional, default: default_of(name) };
        prompt.inputs.insert(name, input);
    }
}

/// Declares the names that `{{#if name}}` reads in a file without a schema: texts that may be missing.
fn declare_conditions(prompt: &mut ImportedPrompt) {
    let turns = core::mem::take(&mut prompt.turns);
    for piece in turns.iter().flat_map(|turn| &turn.pieces) {
        let TextPiece::Template(text) = piece else { continue };
        for tag in text.split("{{").skip(1) {
            let inner = tag.split("}}").next().unwrap_or_default().trim_matches('~').trim();
            let (name, is_optional) = match inner.split_once(' ') {
                Some(("#if" | "#unless", name)) => (name.trim(), true),
                Some(_) => continue,
                None => (inner, false),
            };
            if is_placeholder_name(name) && input_name(name) == name && prompt.inputs.get(name).is_none() {
                prompt.inputs.insert(name, ImportedInput { is_optional, ..text_input() });
            }
        }
    }
    prompt.turns = turns;
}

struct BodyCutter<'s> {
    file: SourceFile<'s>,
    role: Role,
    pieces: Vec<TextPiece>,
    /// The turn as it is written.
    raw: String,
    turns: Vec<ImportedTurn>,
    /// Whether the turn holds only names.
    is_plain: bool,
    line: usize,
}

impl BodyCutter<'_> {
    fn cut(&mut self, body: &str, start: usize, reader: &mut ImportReader<'_>) {
        let mut rest = body;
        while let Some(at) = rest.find("{{") {
            let (text, tag) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.text(text);
            // A backslash before a tag, or a raw block, makes text of what follows: the engine reads that itself.
            self.is_plain &= !text.ends_with('\\') && !tag.starts_with("{{{{");
            let close = if tag.starts_with("{{{") { "}}}" } else { "}}" };
            let Some(end) = tag.find(close) else {
                let at = start.saturating_add(body.len().saturating_sub(tag.len()));
                return reader.refuse(self.file, at, "this tag has no end", "");
            };
            let (written, behind) = tag.split_at_checked(end.saturating_add(close.len())).unwrap_or((tag, ""));
            let at = start.saturating_add(body.len().saturating_sub(tag.len()));
            self.tag(written, at, reader);
            rest = behind;
        }
        self.text(rest);
        self.end_turn();
    }

    fn text(&mut self, text: &str) {
        self.raw.push_str(text);
        if !text.is_empty() {
            self.pieces.push(TextPiece::Text(text.to_owned()));
        }
    }

    fn tag(&mut self, written: &str, at: usize, reader: &mut ImportReader<'_>) {
        let inner = written.trim_matches(['{', '}']).trim();
        let word = inner.split_whitespace().next().unwrap_or_default();
        match word {
            "role" => {
                let role = inner.strip_prefix("role").unwrap_or_default().trim().trim_matches(['"', '\'']);
                let Some(role) = Role::parse(role) else {
                    return reader.refuse(self.file, at, "this role is none of system, user and model", "");
                };
                self.end_turn();
                (self.role, self.line) = (role, self.file.line(at));
            }
            "history" => {
                // If nobody passes earlier messages, dotprompt puts nothing here and begins a message of the model's.
                self.end_turn();
                self.role = Role::Model;
                reader.leave_out(
                    self.file,
                    at,
                    "`{{history}}` is left out; write it into the prompt file to send earlier turns",
                );
            }
            "media" | "section" => {
                let message = format!("`{word}` is not imported");
                reader.refuse(self.file, at, &message, "take it out, or give its text as an input");
            }
            "#role" | "/role" | "#history" | "#section" => {
                reader.refuse(
                    self.file,
                    at,
                    "a role in a block is no dotprompt",
                    "write {{role \"user\"}} before the text",
                );
            }
            _ if word.starts_with('>') || word.starts_with("#>") => {
                reader.refuse(self.file, at, "a partial is not imported", "put its text in its place");
            }
            _ => {
                self.raw.push_str(written);
                let path: Vec<String> = inner.split('.').map(str::to_owned).collect();
                if path.iter().all(|name| is_placeholder_name(name)) {
                    self.pieces.push(TextPiece::Input(path));
                } else {
                    self.is_plain = false;
                }
            }
        }
    }

    fn end_turn(&mut self) {
        let raw = core::mem::take(&mut self.raw);
        let pieces = core::mem::take(&mut self.pieces);
        let is_plain = core::mem::replace(&mut self.is_plain, true);
        // dotprompt sends no message of white space.
        if raw.trim().is_empty() {
            return;
        }
        let pieces = if is_plain { pieces } else { vec![TextPiece::Template(raw)] };
        self.turns.push(ImportedTurn { role: self.role, pieces, line: self.line });
    }
}
