//! A source with places, and what a reader notes on its way through it.

use std::collections::BTreeMap;

use proem_guard::credential;
use proem_text::{
    OrderedMap,
    diagnostic::{Diagnostic, DiagnosticSeverity, line_column},
    span::Span,
};
use serde_json::json;

use super::{
    ImportSource, ImportedCase, ImportedExpectation, ImportedInput, ImportedPrompt, ImportedSettings, ImportedTurn,
    LeftOut, TextPiece, UnknownChecks,
};
use crate::error::{Error, ErrorKind};
use crate::input::collect_ordered;
use crate::message::Role;
use crate::ordered_json::OrderedJson;
use crate::prompt::analyse::{HELPERS, MARKERS, RAW};
use crate::prompt::config::{config_key, is_config_value};
use crate::prompt::yaml::{MappingKey, YamlNode};

/// A file that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceFile<'s> {
    /// Its path, for messages.
    pub(super) name: &'s str,
    pub(super) text: &'s str,
}

impl SourceFile<'_> {
    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        line_column(self.text, at).0
    }

    /// The file's name without its folders.
    pub(super) fn base_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    /// A problem at a byte, with an excerpt and a remedy.
    pub(super) fn problem(&self, at: usize, message: &str, help: &str) -> String {
        let diagnostic = Diagnostic {
            severity: DiagnosticSeverity::Error,
            message: message.to_owned(),
            span: Some(Span::new(at, at.saturating_add(1))),
            help: (!help.is_empty()).then(|| help.to_owned()),
        };
        diagnostic.render(self.name, self.text)
    }
}

/// A text of the source, decoded, with the place where it begins.
#[derive(Debug, Clone)]
pub(super) struct Fragment<'s> {
    /// The file that holds it.
    pub(super) file: SourceFile<'s>,
    /// Its start there, in bytes.
    pub(super) start: usize,
    /// The text itself.
    pub(super) text: String,
}

impl<'s> Fragment<'s> {
    /// The text of a node. `None` if it is no text.
    pub(super) fn of_node(file: SourceFile<'s>, node: &YamlNode) -> Option<Self> {
        node.as_str().map(|text| Self { file, start: node.span.start, text: text.to_owned() })
    }

    /// The place in the file of a byte of the decoded text, if the file holds the text unchanged. Otherwise, the first
    /// place of the text behind that byte.
    pub(super) fn place_of_byte(&self, at: usize) -> usize {
        let written = self.file.text.get(self.start..).unwrap_or_default();
        if let Some(before) = written.find(&self.text) {
            return self.start.saturating_add(before).saturating_add(at);
        }
        let snippet: String = self.text.get(at..).unwrap_or_default().chars().take(60).collect();
        self.place_in_block(at, &snippet).unwrap_or_else(|| self.place(&snippet))
    }

    /// The same for a text whose lines the file has with an indentation, as YAML's blocks have them.
    fn place_in_block(&self, at: usize, snippet: &str) -> Option<usize> {
        let first = self.text.lines().next().filter(|line| !line.trim().is_empty())?;
        let start = self.start.saturating_add(self.file.text.get(self.start..)?.find(first)?);
        let below = self.text.get(..at)?.matches('\n').count();
        let mut lines = self.file.text.get(start..)?.split_inclusive('\n');
        let before: usize = lines.by_ref().take(below).map(str::len).sum();
        let found = lines.next()?.find(snippet.lines().next()?)?;
        Some(start.saturating_add(before).saturating_add(found))
    }

    /// The place of a decoded snippet in the file: the first one behind the fragment's beginning.
    ///
    /// A YAML or JSON string may write it with escapes. Then the beginning is the place.
    pub(super) fn place(&self, snippet: &str) -> usize {
        let line = snippet.lines().next().unwrap_or_default();
        let rest = self.file.text.get(self.start..).unwrap_or_default();
        rest.find(line).map_or(self.start, |at| self.start.saturating_add(at))
    }
}

/// The state of a reader.
#[derive(Debug)]
pub(super) struct ImportReader<'s> {
    /// The source.
    pub(super) file: SourceFile<'s>,
    /// The name of its folder.
    pub(super) folder: &'s str,
    beside: &'s BTreeMap<String, String>,
    unknown_checks: UnknownChecks,
    problems: Vec<String>,
    left_out: Vec<LeftOut>,
}

/// How many problems are listed.
const MAX_PROBLEMS: usize = 50;

impl<'s> ImportReader<'s> {
    pub(super) const fn new(file: SourceFile<'s>, source: &ImportSource<'s>) -> Self {
        let ImportSource { folder, beside, unknown_checks, .. } = *source;
        Self { file, folder, beside, unknown_checks, problems: Vec::new(), left_out: Vec::new() }
    }

    /// A file beside the source, by the path that the source wants it by.
    pub(super) fn beside(&self, path: &str) -> Option<SourceFile<'s>> {
        self.beside.get_key_value(path).map(|(name, text)| SourceFile { name, text })
    }

    /// Refuses the source for what is at a byte.
    pub(super) fn refuse(&mut self, file: SourceFile<'_>, at: usize, message: &str, help: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(file.problem(at, message, help));
        }
    }

    /// Refuses the source for what is at a byte of a decoded text.
    ///
    /// The place is looked for only if the problem is listed: a source may hold any number of them.
    pub(super) fn refuse_in(&mut self, fragment: &Fragment<'_>, at: usize, message: &str, help: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.refuse(fragment.file, fragment.place_of_byte(at), message, help);
        }
    }

    /// Refuses the source for a part of a test that no case can express, or lists it where the caller wants that.
    pub(super) fn refuse_check(&mut self, file: SourceFile<'_>, at: usize, message: &str) {
        const HELP: &str =
            "take it out, or import with `--known-checks-only` and say under `live` what the answer must be";
        match self.unknown_checks {
            UnknownChecks::Refused => self.refuse(file, at, message, HELP),
            UnknownChecks::LeftOut => self.leave_out(file, at, format!("left out: {message}")),
        }
    }

    /// Refuses the source for a problem that names its place.
    pub(super) fn refuse_whole(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Lists something that is not carried over.
    pub(super) fn leave_out(&mut self, file: SourceFile<'_>, at: usize, text: impl Into<String>) {
        self.left_out.push(LeftOut { file: file.name.to_owned(), line: file.line(at), text: text.into() });
    }

    /// Takes a setting of a model's, or lists that it is left out. `place` is before its name in messages.
    pub(super) fn take_setting(
        &mut self,
        file: SourceFile<'_>,
        (key, value): &(MappingKey, YamlNode),
        place: &str,
        settings: &mut ImportedSettings,
    ) {
        let shown = format!("{place}{}", key.name);
        let Some(name) = config_key(&key.name) else {
            return self.leave_out(file, key.span.start, format!("the setting `{shown}` is left out"));
        };
        if name == "maxOutputTokens" {
            settings.output_tokens = value.to_json().as_u64().filter(|tokens| *tokens > 0);
            if settings.output_tokens.is_some() {
                return;
            }
        } else if is_config_value(name, value) {
            // A single text may represent a list of one.
            let value = match value.to_ordered() {
                OrderedJson::Text(text) => OrderedJson::List(vec![OrderedJson::Text(text)].into()),
                value => value,
            };
            return settings.config.insert(name, value);
        }
        let text = format!("the setting `{shown}` has a value that a prompt file doesn't take, and is left out");
        self.leave_out(file, key.span.start, text);
    }

    /// The prompts with what was left out, unless something was refused.
    pub(super) fn finish(mut self, mut prompts: Vec<ImportedPrompt>) -> Result<Vec<ImportedPrompt>, Error> {
        for prompt in &mut prompts {
            self.complete(prompt);
        }
        if self.problems.is_empty() && prompts.is_empty() {
            let message = format!("{}: it holds no prompt", self.file.name);
            self.problems.push(message);
        }
        if !self.problems.is_empty() {
            self.problems.dedup();
            return Err(Error::all(ErrorKind::InvalidFile, self.problems));
        }
        if let Some(first) = prompts.first_mut() {
            first.left_out.append(&mut self.left_out);
        }
        prompts.iter_mut().for_each(|prompt| prompt.left_out.sort());
        Ok(prompts)
    }

    /// Declares the inputs that texts name, and looks for credentials.
    fn complete(&mut self, prompt: &mut ImportedPrompt) {
        let mut turns = core::mem::take(&mut prompt.turns);
        let mut written: BTreeMap<String, String> = BTreeMap::new();
        for piece in turns.iter_mut().flat_map(|turn| &mut turn.pieces) {
            if let TextPiece::Input(path) = piece {
                if let Some(name) = path.first_mut() {
                    let own = core::mem::replace(name, input_name(name));
                    let other = written.entry(name.clone()).or_insert_with(|| own.clone());
                    if *other != own {
                        let message = format!(
                            "{}: `{other}` and `{own}` would both be the input `{name}`; rename one",
                            self.file.name
                        );
                        self.problems.push(message);
                    }
                }
                declare(&mut prompt.inputs, path);
            }
        }
        if turns.iter().all(|turn| turn.pieces.is_empty()) && self.problems.is_empty() {
            self.problems.push(format!("{}:1: the prompt has no text", self.file.name));
            return;
        }
        let has_user = turns.iter().any(|turn| turn.role == Role::User);
        if !has_user {
            let text = "it has no user message and a model answers none; the input `input` was added as one";
            self.leave_out(self.file, 0, text);
            let pieces = vec![TextPiece::Input(vec!["input".to_owned()])];
            declare(&mut prompt.inputs, &["input".to_owned()]);
            turns.push(ImportedTurn { role: Role::User, pieces, line: 1 });
        }
        prompt.turns = turns;
        let mut texts: Vec<&str> = Vec::new();
        for piece in prompt.turns.iter().flat_map(|turn| &turn.pieces) {
            if let TextPiece::Text(text) | TextPiece::Template(text) = piece {
                texts.push(text);
            }
        }
        let rubrics = prompt.cases.iter().filter_map(|case| case.expected.judgement.as_ref());
        texts.extend(rubrics.map(|judgement| judgement.rubric.as_str()));
        let values = prompt.cases.iter().flat_map(|case| {
            let ImportedExpectation { answer, checks, .. } = &case.expected;
            case.inputs.iter().map(|(_, value)| value).chain(answer).chain(checks)
        });
        let defaults = prompt.inputs.iter().filter_map(|(_, input)| input.default.as_ref());
        values.chain(defaults).for_each(|value| collect_ordered(value, &mut texts));
        let found = texts.iter().find_map(|text| {
            let found = credential::find_credentials(text).first().map(|found| found.span);
            found.and_then(|span| text.get(span.start..span.end))
        });
        if let Some(secret) = found {
            let at = self.file.text.find(secret).unwrap_or(0);
            let message = format!(
                "{}:{}: the text holds what looks like a credential; take it out, since a prompt file is shared",
                self.file.name,
                self.file.line(at)
            );
            self.problems.push(message);
        }
    }

    /// An empty prompt with a name made of `name`.
    pub(super) fn prompt(&self, name: &str) -> ImportedPrompt {
        ImportedPrompt {
            name: text_as_prompt_name(name),
            source: self.file.base_name().to_owned(),
            purpose: None,
            turns: Vec::new(),
            inputs: OrderedMap::default(),
            answer: None,
            settings: ImportedSettings::default(),
            cases: Vec::<ImportedCase>::new(),
            left_out: Vec::new(),
        }
    }
}

/// A text as a prompt's name: lower-case letters, digits and `-`.
pub(super) fn text_as_prompt_name(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    let name: String = name.chars().take(64).collect();
    let name = name.trim_end_matches('-');
    if name.is_empty() { "prompt".to_owned() } else { name.to_owned() }
}

/// The input that a placeholder means. A name that a template reads as one of its own words gets a `_`.
pub(super) fn input_name(name: &str) -> String {
    const WORDS: [&str; 7] = ["this", "true", "false", "null", "undefined", "else", "log"];
    let is_taken = HELPERS.contains(&name) || MARKERS.contains(&name) || WORDS.contains(&name) || name == RAW;
    if is_taken { format!("{name}_") } else { name.to_owned() }
}

pub(super) fn text_schema() -> OrderedJson {
    json!({ "type": "string" }).into()
}

/// An input that is a text.
pub(super) fn text_input() -> ImportedInput {
    ImportedInput { schema: text_schema(), is_optional: false, default: None }
}

/// Declares what a path reads, unless it is declared.
pub(super) fn declare(inputs: &mut OrderedMap<ImportedInput>, path: &[String]) {
    let Some((name, fields)) = path.split_first() else { return };
    if inputs.get(name).is_none() {
        let schema = if fields.is_empty() { text_schema() } else { object_schema() };
        inputs.insert(name.as_str(), ImportedInput { schema, is_optional: false, default: None });
    }
    if let Some(input) = inputs.get_mut(name) {
        declare_fields(&mut input.schema, fields);
    }
}

fn object_schema() -> OrderedJson {
    json!({ "type": "object", "additionalProperties": false, "properties": {}, "required": [] }).into()
}

/// Adds a field to an object's schema. A schema of something else stays, and the prompt file's check says so.
fn declare_fields(schema: &mut OrderedJson, path: &[String]) {
    let Some((name, rest)) = path.split_first() else { return };
    let OrderedJson::Map(map) = schema else { return };
    let mut map = (**map).clone();
    let Some(OrderedJson::Map(properties)) = map.get("properties") else { return };
    let mut properties = (**properties).clone();
    let is_new = properties.get(name).is_none();
    if is_new {
        properties.insert(name.as_str(), if rest.is_empty() { text_schema() } else { object_schema() });
    }
    if let Some(inner) = properties.get_mut(name) {
        declare_fields(inner, rest);
    }
    if is_new && let Some(OrderedJson::List(required)) = map.get("required") {
        let mut required = (**required).clone();
        required.push(OrderedJson::Text(name.as_str().into()));
        map.insert("required", OrderedJson::List(required.into()));
    }
    map.insert("properties", properties.into());
    *schema = map.into();
}

/// Whether a setting's value may be a credential, by its key.
pub(super) fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let words = ["key", "secret", "password", "credential", "authorization", "header"];
    words.iter().any(|word| key.contains(word)) || (key.contains("token") && !key.contains("tokens"))
}
