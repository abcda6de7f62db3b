//! Plain dotprompt files, rendered as the dotprompt specification says.
//!
//! There is no trust here: every input is put in as it is. Agents use strict files. Unusable tags get an error with the
//! text to write instead. `cargo lab eval handlebars` measures how far templates agree with handlebars.js.
//!
//! Source: <https://google.github.io/dotprompt/reference/>.

use std::collections::BTreeMap;

use proem_text::OrderedMap;
use serde_json::{Map, Value as Json, json};

use super::file::{self, MAX_FILE_BYTES};
use super::picoschema::{self, NamedSchemas};
use super::template::evaluate::{Dialect, evaluate_template};
use super::template::scope::TemplateBindings;
use super::template::{Template, parse_template};
use super::{expansion, yaml};

use crate::error::{Error, ErrorKind, error_at};
use crate::input::{collect_ordered, unused_character};
use crate::message::{Message, Part};
use crate::ordered_json::OrderedJson;

const RESERVED: [&str; 12] = [
    "config",
    "description",
    "ext",
    "input",
    "model",
    "name",
    "output",
    "raw",
    "toolDefs",
    "tools",
    "variant",
    "version",
];

/// A plain dotprompt file with its partials.
#[derive(Debug, Clone)]
pub struct Dotprompt {
    metadata: Map<String, Json>,
    template: Template,
    /// The template's and the partials' text, for choosing a mark that doesn't occur in it.
    source: String,
    partials: BTreeMap<String, Template>,
    /// The inputs that the front matter gives, in its order.
    defaults: Option<OrderedJson>,
    notes: Vec<String>,
}

/// The data of a render.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RenderData {
    /// Values by name.
    pub input: OrderedMap<OrderedJson>,
    /// The values of `@name` paths.
    pub context: OrderedMap<OrderedJson>,
    /// Earlier messages, as the specification writes them.
    pub messages: Vec<Json>,
}

impl Dotprompt {
    /// Reads a plain file. `name` is used in messages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if front matter, schema, template or a partial is not well
    /// formed, or partials include each other in a circle.
    pub fn parse(
        name: &str,
        text: &str,
        partials: &BTreeMap<String, String>,
        schemas: &NamedSchemas,
    ) -> Result<Self, Error> {
        if text.len() > MAX_FILE_BYTES {
            let problem = format!("{name}: {} bytes; a prompt file has at most {MAX_FILE_BYTES}", text.len());
            return Err(Error::new(ErrorKind::InvalidFile, problem));
        }
        let split = file::split_front_matter(text);
        let (metadata, defaults, source) = match split.front {
            None => (Map::new(), None, text),
            Some((start, front)) => {
                let root = yaml::parse_yaml(front, start).map_err(|problem| Error::in_file(name, text, &[problem]))?;
                let default = root.as_ref().and_then(|root| root.get("input")?.get("default"));
                let default = default.map(yaml::YamlNode::to_ordered);
                let map = match root.map(|root| root.to_json()) {
                    Some(Json::Object(map)) => map,
                    None | Some(Json::Null) => Map::new(),
                    Some(_) => {
                        let problem = error_at(
                            "front matter is not a mapping of keys to values",
                            proem_text::span::Span::new(start, start.saturating_add(front.len())),
                        );
                        return Err(Error::in_file(name, text, &[problem]));
                    }
                };
                let metadata = plain_metadata(map, schemas)
                    .map_err(|e| Error::new(ErrorKind::InvalidFile, format!("{name}: {e}")))?;
                (metadata, default, split.body.trim())
            }
        };
        let template = compile_plain(name, source)?;
        if let Some((name, text)) = partials.iter().find(|(_, text)| text.len() > MAX_FILE_BYTES) {
            let problem = format!("partial `{name}`: {} bytes; a partial has at most {MAX_FILE_BYTES}", text.len());
            return Err(Error::new(ErrorKind::InvalidFile, problem));
        }
        let mut source = source.to_owned();
        partials.values().for_each(|text| source.push_str(text));
        let partials = partials
            .iter()
            .map(|(partial, text)| Ok((partial.clone(), compile_plain(partial, text)?)))
            .collect::<Result<BTreeMap<_, _>, Error>>()?;
        expansion::check_partials(&template, &partials)?;
        let files =
            core::iter::once((name, &template)).chain(partials.iter().map(|(name, file)| (name.as_str(), file)));
        let notes = files.flat_map(|(name, file)| foreign_notes(name, file)).collect();
        Ok(Self { metadata, template, source, partials, defaults, notes })
    }

    /// Text that may not be meant literally, with its places: tags of another template language.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The front matter's keys, schemas written out, extension keys under `ext`, all under `raw`.
    #[must_use]
    pub const fn metadata(&self) -> &Map<String, Json> {
        &self.metadata
    }

    /// Renders the messages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Render`] if a helper is given what it can't use.
    pub fn render(&self, data: &RenderData, defaults: Option<&OrderedMap<OrderedJson>>) -> Result<Vec<Message>, Error> {
        let mark = unused_mark(&[&data.input, &data.context], &[self.defaults(), defaults], &self.source)?;
        let text = self.evaluate(data, defaults, mark)?;
        Ok(split_messages(&text, mark, &data.messages))
    }

    /// The template's text before it is cut into messages: for comparing it with another engine's.
    ///
    /// The output of `role`, `section`, `history` and `media` is enclosed by two copies of a character that occurs
    /// nowhere else.
    ///
    /// # Errors
    ///
    /// As [`Self::render`].
    pub fn text(&self, data: &RenderData) -> Result<String, Error> {
        let mark = unused_mark(&[&data.input, &data.context], &[self.defaults()], &self.source)?;
        self.evaluate(data, None, mark)
    }

    fn defaults(&self) -> Option<&OrderedMap<OrderedJson>> {
        self.defaults.as_ref().and_then(OrderedJson::fields)
    }

    /// The template's text, with `mark` around what markers say.
    fn evaluate(
        &self,
        data: &RenderData,
        defaults: Option<&OrderedMap<OrderedJson>>,
        mark: char,
    ) -> Result<String, Error> {
        let sources = [self.defaults(), defaults, Some(&data.input)].into_iter().flatten();
        let root: OrderedMap<OrderedJson> =
            sources.flat_map(OrderedMap::iter).map(|(name, value)| (name, value.clone())).collect();
        let values = TemplateBindings { partials: &self.partials, root: &root.into(), context: &data.context };
        evaluate_template(&self.template, &values, Dialect::Plain(mark))
            .map_err(|problem| Error::new(ErrorKind::Render, problem.into_text()))
    }
}

/// Notes on a file's tags of another template language.
fn foreign_notes(name: &str, template: &Template) -> Vec<String> {
    let note = |at: &super::template::LineColumn| format!("{name}:{}:{}: {FOREIGN}", at.line, at.column);
    template.foreign.iter().map(note).collect()
}

/// The message about `{% … %}`.
pub(super) const FOREIGN: &str = "`{% … %}` is not a Handlebars tag and is printed unchanged; write {{#if …}}, {{#each \
                                  …}}, or, if it is meant as text, {{{{raw}}}}{% … %}{{{{/raw}}}}";

fn compile_plain(name: &str, text: &str) -> Result<Template, Error> {
    parse_template(text).map_err(|e| {
        let problem = format!("{name}:{}:{}: {}", e.at.line, e.at.column, e.message);
        Error::new(ErrorKind::InvalidFile, problem)
    })
}

fn plain_metadata(raw: Map<String, Json>, schemas: &NamedSchemas) -> Result<Map<String, Json>, String> {
    let mut out = Map::new();
    let mut ext = Map::new();
    for (key, value) in &raw {
        if RESERVED.contains(&key.as_str()) {
            out.insert(key.clone(), value.clone());
        } else if let Some((space, field)) = key.rsplit_once('.') {
            let entry = ext.entry(space).or_insert_with(|| json!({}));
            if let Some(fields) = entry.as_object_mut() {
                fields.insert(field.to_owned(), value.clone());
            }
        }
    }
    for part in ["input", "output"] {
        if let Some(holder) = out.get_mut(part).and_then(Json::as_object_mut)
            && let Some(schema) = holder.get("schema")
        {
            let full = picoschema::expand_picoschema(&schema.clone().into(), schemas)
                .map_err(|e| format!("{part}.schema: {e}"))?;
            holder.insert("schema".into(), full);
        }
    }
    out.insert("ext".into(), Json::Object(ext));
    out.insert("raw".into(), Json::Object(raw));
    Ok(out)
}

/// A character that none of the texts contains.
fn unused_mark(
    inputs: &[&OrderedMap<OrderedJson>],
    defaults: &[Option<&OrderedMap<OrderedJson>>],
    template: &str,
) -> Result<char, Error> {
    let mut texts = vec![template];
    for (name, value) in inputs.iter().chain(defaults.iter().flatten()).flat_map(|fields| fields.iter()) {
        texts.push(name);
        collect_ordered(value, &mut texts);
    }
    let mark = unused_character(|see| texts.iter().for_each(|text| see(text)));
    mark.ok_or_else(|| Error::new(ErrorKind::Render, "the inputs hold every character that could be a mark"))
}

/// One message being collected.
struct Collected {
    role: String,
    parts: Vec<Part>,
    text: String,
}

impl Collected {
    const fn new(role: String) -> Self {
        Self { role, parts: Vec::new(), text: String::new() }
    }

    fn flush(&mut self) {
        let text = core::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            self.parts.push(Part::Text(text));
        }
    }

    fn message(mut self) -> Option<Message> {
        self.flush();
        let filled = !self.parts.is_empty();
        filled.then(|| Message { role: self.role, content: self.parts, metadata: Map::new() })
    }
}

fn split_messages(text: &str, mark: char, history: &[Json]) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    let mut current = Collected::new("user".into());
    for (index, piece) in text.split(mark).enumerate() {
        if index % 2 == 0 {
            current.text.push_str(piece);
            continue;
        }
        let (name, argument) = piece.split_once(' ').unwrap_or((piece, "{}"));
        let argument: Json = serde_json::from_str(argument).unwrap_or(Json::Null);
        let field = |key: &str| argument.get(key).and_then(Json::as_str).map(str::to_owned);
        match name {
            "role" => {
                let done = core::mem::replace(&mut current, Collected::new(field("role").unwrap_or_default()));
                out.extend(done.message());
            }
            "history" => {
                let done = core::mem::replace(&mut current, Collected::new("model".into()));
                out.extend(done.message());
                out.extend(history.iter().map(|message| past(message, true)));
            }
            "media" => {
                current.flush();
                let url = field("url").unwrap_or_default();
                current.parts.push(Part::Media { url, content_type: field("contentType") });
            }
            _ => {
                current.flush();
                current.parts.push(Part::Pending { purpose: field("section").unwrap_or_default() });
            }
        }
    }
    out.extend(current.message());
    with_history(out, history)
}

fn past(message: &Json, marked: bool) -> Message {
    let mut metadata = message.get("metadata").and_then(Json::as_object).cloned().unwrap_or_default();
    if marked {
        metadata.insert("purpose".into(), json!("history"));
    }
    let content = message.get("content").and_then(Json::as_array).cloned().unwrap_or_default();
    Message {
        role: message.get("role").and_then(Json::as_str).unwrap_or("user").to_owned(),
        content: content
            .into_iter()
            .map(|part| match part.get("text").and_then(Json::as_str) {
                Some(text) => Part::Text(text.to_owned()),
                None => Part::Other(part),
            })
            .collect(),
        metadata,
    }
}

/// Puts the history before a last user message, unless the template placed it.
fn with_history(mut messages: Vec<Message>, history: &[Json]) -> Vec<Message> {
    let placed = messages.iter().any(|m| m.metadata.get("purpose").is_some_and(|p| p == "history"));
    if history.is_empty() || placed {
        return messages;
    }
    let last = match messages.last() {
        Some(message) if message.role == "user" => messages.pop(),
        _ => None,
    };
    messages.extend(history.iter().map(|message| past(message, false)));
    messages.extend(last);
    messages
}
