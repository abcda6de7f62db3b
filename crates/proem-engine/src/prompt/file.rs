//! A prompt file: front matter and template, read and checked but not rendered.
//!
//! A file with the key `proem` is *strict*: its template is taken apart into sections and checked against its input
//! schema. A file without is plain dotprompt: what is under each role is a section of its own, which is checked the
//! same way.

mod markers;
pub(super) mod section;
mod sections;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use proem_text::span::Span;
use serde_json::{Value as Json, json};

pub(crate) use self::markers::{MarkerSource, MediaMarker};
pub use self::section::Section;
use self::sections::CutBody;
use super::analyse::{Analysis, AnalysisFault, HELPERS, MARKERS, RAW};
use super::header::{self, Diagnostics, Header, StrictHeader};
use super::infer;
use super::picoschema::NamedSchemas;
use super::remarks::remarks;
pub(crate) use super::split::{Split, split_front_matter};
use super::template::{LineColumn, Template, parse_template};
use super::yaml;
use crate::error::{Error, ErrorKind, error_at};
use crate::history::shape;
use crate::message::Role;
use crate::schema::{self, ValueKind};
use crate::section::Climber;

/// The most bytes that a prompt file may have.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

/// How many problems of one file are listed one by one.
const MAX_LISTED: usize = 100;

/// A strict prompt, parsed and checked.
#[derive(Debug, Clone)]
pub struct PromptFile {
    /// Decoded front matter.
    pub header: Header,
    /// Proem's part of it.
    pub strict: StrictHeader,
    /// Its sections in order.
    pub sections: Vec<Section>,
    /// Whether it is plain dotprompt, which has no version of its own.
    pub is_plain: bool,
    /// How many sections are before the turns of a history. `None` if the file takes none.
    pub history: Option<usize>,
    /// Settings without effect, each with its line.
    pub remarks: Vec<String>,
    pub(crate) partials: BTreeMap<String, Template>,
}

/// The source of a partial's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartialText {
    /// A Handlebars template.
    Template(String),
    /// Plain text, put in as it is.
    Literal(String),
}

impl PartialText {
    /// Its bytes, for hashing.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Template(text) | Self::Literal(text) => text,
        }
    }
}

/// The place of a problem in a strict file.
struct StrictFileReader<'t> {
    name: &'t str,
    text: &'t str,
    split: Split<'t>,
    /// The bytes that the body's lines start at, once one was asked for.
    lines: Vec<usize>,
    problems: Diagnostics,
    elsewhere: Vec<String>,
    /// Problems that are only counted.
    more: usize,
    /// Whether the file is plain dotprompt.
    is_plain: bool,
}

impl PromptFile {
    /// Reads a strict prompt file. `name` is used in messages only.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] with every problem found.
    pub fn parse(name: &str, text: &str, partials: &BTreeMap<String, PartialText>) -> Result<Self, Error> {
        if text.len() > MAX_FILE_BYTES {
            let problem =
                format!("error: {} bytes; a prompt file has at most {MAX_FILE_BYTES}\n --> {name}", text.len());
            return Err(Error::new(ErrorKind::InvalidFile, problem));
        }
        let reader = StrictFileReader {
            name,
            text,
            split: split_front_matter(text),
            lines: Vec::new(),
            problems: Diagnostics::new(),
            elsewhere: Vec::new(),
            more: 0,
            is_plain: false,
        };
        reader.read(partials)
    }

    /// Whether `text` has Proem's key in its front matter.
    #[must_use]
    pub fn is_strict(text: &str) -> bool {
        let Some((start, front)) = split_front_matter(text).front else { return false };
        yaml::parse_yaml(front, start).ok().flatten().is_some_and(|root| root.get("proem").is_some())
    }

    /// Whether its schema has an input of this name.
    #[must_use]
    pub fn has_input(&self, name: &str) -> bool {
        let schema = self.header.input_schema.as_ref();
        schema.and_then(|schema| schema.get("properties")?.get(name)).is_some()
    }

    /// Whether an input of this name is the turns before this one.
    #[must_use]
    pub fn is_history(&self, name: &str) -> bool {
        self.history.is_some() && name == shape::INPUT
    }

    /// Whether an input of this name is a picture or file, which no template prints.
    #[must_use]
    pub fn is_media(&self, name: &str) -> bool {
        let mut markers = self.sections.iter().flat_map(|section| &section.media);
        markers.any(|marker| marker.input() == Some(name))
    }

    /// JSON Schema of the inputs; without one, nothing may be given.
    #[must_use]
    pub fn input_schema(&self) -> Json {
        self.header.input_schema.clone().unwrap_or_else(|| json!({ "type": "object", "additionalProperties": false }))
    }
}

impl StrictFileReader<'_> {
    fn read(mut self, texts: &BTreeMap<String, PartialText>) -> Result<PromptFile, Error> {
        let root = match self.split.front.map(|(start, front)| yaml::parse_yaml(front, start)) {
            Some(Ok(root)) => root,
            Some(Err(problem)) => {
                self.problems.push(problem);
                None
            }
            None => {
                let mut lines = self.text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
                let message = match lines.next() {
                    Some(line) if line.trim_end() == "---" => {
                        Some("the front matter has no end; a second `---` closes it")
                    }
                    // In dotprompt a file may be nothing but its template.
                    _ if self.text.contains("{{") => None,
                    _ => Some("no front matter; a prompt file starts with `---`"),
                };
                self.problems.extend(message.map(|message| error_at(message, Span::new(0, 0))));
                None
            }
        };
        let mut header = header::decode_header(root.as_ref(), &NamedSchemas::new(), &mut self.problems);
        self.is_plain = root.as_ref().is_none_or(|root| root.get("proem").is_none());
        if self.is_plain && self.problems.is_empty() {
            header.strict = header::plain_file_header(header.places.output_tokens);
            header.input_schema = header.input_schema.take().or_else(|| infer::input_schema(self.split.body));
            header.places.sections_known = true;
            // A file without front matter has the inputs that its template prints.
            header.places.inputs_known |= root.is_none();
        }
        let Some(mut strict) = header.strict.clone() else {
            return Err(self.failure());
        };
        let partials = self.partials(texts);
        let (mut sections, mut history) = self.body(&strict, &header);
        if self.is_plain {
            strict.sections = sections.iter().map(|section| section.spec.clone()).collect();
            header.strict = Some(strict.clone());
            // In dotprompt a history without a marker is before the last user message, and here there is one.
            let user = || sections.iter().position(|section| section.role == Role::User);
            history = history.or_else(user);
        }
        self.schema(&header, &strict, history.is_some());
        // The paths of templates can be judged only if the inputs and all partials are known.
        if header.places.inputs_known && self.elsewhere.is_empty() {
            self.analyse(&header, &strict, &mut sections, &partials);
        }
        if self.problems.is_empty() && self.elsewhere.is_empty() {
            let remarks = remarks(self.text, &self.split, &header.places.remarks);
            Ok(PromptFile { is_plain: self.is_plain, history, header, strict, sections, remarks, partials })
        } else {
            Err(self.failure())
        }
    }

    fn failure(mut self) -> Error {
        self.problems.sort_by_key(|problem| problem.span.map_or(0, |span| span.start));
        self.problems.dedup();
        let all = self.problems.len().saturating_add(self.elsewhere.len()).saturating_add(self.more);
        let here = self.problems.iter().take(MAX_LISTED).map(|problem| problem.render(self.name, self.text));
        let mut problems: Vec<String> = here.chain(self.elsewhere).take(MAX_LISTED).collect();
        let more = all.saturating_sub(problems.len());
        if more > 0 {
            problems.push(format!("and {more} more problems"));
        }
        Error::all(ErrorKind::InvalidFile, problems)
    }

    fn partials(&mut self, texts: &BTreeMap<String, PartialText>) -> BTreeMap<String, Template> {
        let mut partials = BTreeMap::new();
        for (name, text) in texts {
            match parse_partial(name, text) {
                Ok(template) => {
                    let foreign = template.foreign.iter().map(|at| problem_in_partial(name, *at, FOREIGN));
                    self.elsewhere.extend(foreign);
                    partials.insert(name.clone(), template);
                }
                Err(message) => self.elsewhere.push(message),
            }
        }
        partials
    }

    fn body(&mut self, strict: &StrictHeader, header: &Header) -> (Vec<Section>, Option<usize>) {
        let template = match parse_template(self.split.body) {
            Ok(template) => template,
            Err(fault) => {
                let span = self.span(fault.at);
                self.problems.push(error_at(fault.message, span));
                return (Vec::new(), None);
            }
        };
        for at in &template.foreign {
            let span = self.span(*at);
            self.problems.push(error_at(FOREIGN, span));
        }
        let CutBody { sections, seen, history } = CutBody::of(template.nodes, self, strict, header);
        for spec in strict.sections.iter().filter(|_| !self.is_plain) {
            if !seen.contains(&spec.name) {
                let span = header.places.sections.get(&spec.name).copied().unwrap_or_default();
                self.problems
                    .push(error_at(format!("section `{}` is declared but has no marker in the body", spec.name), span));
            }
        }
        (sections, history)
    }

    fn schema(&mut self, header: &Header, strict: &StrictHeader, takes_history: bool) {
        let properties = header.input_schema.as_ref().and_then(|schema| schema.get("properties"));
        let properties = properties.and_then(Json::as_object);
        let declared = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
        let start = self.split.front.map_or(0, |(start, _)| start);
        let whole = header.places.schema.unwrap_or(Span::new(start, start));
        let mut say = |message: String, span: Option<&Span>| {
            self.problems.push(error_at(message, span.copied().unwrap_or(whole)));
        };
        if let Some(schema) = &header.input_schema
            && let Err(message) = schema::compile_schema(schema)
        {
            say(format!("input.schema does not compile: {message}"), None);
        }
        for name in properties.into_iter().flatten().map(|(name, _)| name.as_str()) {
            if HELPERS.contains(&name) || MARKERS.contains(&name) || name == RAW {
                say(format!("input `{name}` has the name of a helper; rename the input"), None);
            }
        }
        // If the inputs could not be read, each name below would be undeclared: one error would become twenty.
        if !header.places.inputs_known {
            return;
        }
        for (name, _) in &strict.inputs {
            if !(declared(name) || takes_history && name == shape::INPUT) {
                let message = format!("proem.inputs names `{name}`, which input.schema does not declare");
                say(message, header.places.inputs.get(name));
            }
        }
        for spec in &strict.sections {
            for ladder in spec.ladders.iter().filter(|ladder| !declared(&ladder.input)) {
                let message = format!(
                    "section `{}` has a ladder (list of shortening steps) for `{}`, which input.schema does not declare",
                    spec.name, ladder.input
                );
                say(message, header.places.sections.get(&spec.name));
            }
            for ladder in &spec.ladders {
                let field = properties.and_then(|properties| properties.get(&ladder.input));
                if let (Climber::Version(names), Some(field)) = (&ladder.climber, field) {
                    let fields = field.get("properties").and_then(Json::as_object);
                    let has = |name: &str| fields.is_some_and(|fields| fields.contains_key(name));
                    for name in names.iter().map(String::as_str).chain(["shown"]).filter(|name| !has(name)) {
                        let message = format!(
                            "section `{}` has a ladder of versions for `{}`, whose schema has no field `{name}`",
                            spec.name, ladder.input
                        );
                        say(message, header.places.sections.get(&spec.name));
                    }
                    continue;
                }
                let kind = field.map(schema::kind_of_schema);
                if matches!(kind, Some(ValueKind::Object | ValueKind::Unknown)) {
                    let message = format!(
                        "section `{}` has a ladder for `{}`, which is neither a list nor a text",
                        spec.name, ladder.input
                    );
                    say(message, header.places.sections.get(&spec.name));
                }
                if ladder.climber == Climber::Item && matches!(kind, Some(ValueKind::Scalar)) {
                    let message = format!(
                        "section `{}` has a ladder for each item of `{}`, which is no list",
                        spec.name, ladder.input
                    );
                    say(message, header.places.sections.get(&spec.name));
                }
            }
        }
    }

    fn analyse(
        &mut self,
        header: &Header,
        strict: &StrictHeader,
        sections: &mut [Section],
        partials: &BTreeMap<String, Template>,
    ) {
        let files: BTreeSet<String> = sections
            .iter()
            .flat_map(|section| &section.media)
            .filter_map(MediaMarker::input)
            .map(str::to_owned)
            .collect();
        for spec in &strict.sections {
            if let Some(ladder) = spec.ladders.iter().find(|ladder| files.contains(&ladder.input)) {
                let span = header.places.sections.get(&spec.name).copied().unwrap_or_default();
                let message =
                    format!("section `{}` has a ladder for `{}`, which is a picture or file", spec.name, ladder.input);
                self.problems.push(error_at(message, span));
            }
        }
        let schema = header.input_schema.clone().unwrap_or(Json::Null);
        let analysis = Analysis { schema: &schema, trust: &strict.inputs, partials, elements: Cell::new(0) };
        for section in sections {
            let (faults, inputs) = analysis.section(&section.spec, &section.template);
            section.inputs.extend(inputs);
            faults.into_iter().for_each(|fault| self.fault(fault));
            let inputs = section.media.iter().filter_map(|marker| Some((marker.input()?, marker.at)));
            for (input, at) in inputs {
                let declared = schema.get("properties").and_then(|properties| properties.get(input));
                let message = match declared {
                    None => format!("media names the input `{input}`, which input.schema does not declare"),
                    Some(schema) if !takes_addresses(schema) => {
                        format!("media needs a text, or a list of texts; the input `{input}` is neither")
                    }
                    Some(_) => continue,
                };
                self.fault(AnalysisFault { partial: None, at, message });
            }
        }
    }

    fn fault(&mut self, fault: AnalysisFault) {
        // Finding the place of one takes as long as its line.
        if self.problems.len().saturating_add(self.elsewhere.len()) >= MAX_LISTED {
            self.more = self.more.saturating_add(1);
            return;
        }
        match fault.partial {
            None => {
                let span = self.span(fault.at);
                self.problems.push(error_at(fault.message, span));
            }
            Some(name) => {
                let problem = problem_in_partial(&name, fault.at, &fault.message);
                if !self.elsewhere.contains(&problem) {
                    self.elsewhere.push(problem);
                }
            }
        }
    }

    /// The byte that a line and column of the body represent.
    fn span(&mut self, at: LineColumn) -> Span {
        if self.lines.is_empty() {
            let mut start = self.split.body_start;
            for text in self.split.body.split_inclusive('\n') {
                self.lines.push(start);
                start = start.saturating_add(text.len());
            }
        }
        let end = self.text.len();
        let start = self.lines.get(at.line.saturating_sub(1)).copied().unwrap_or(end);
        let text = self.text.get(start..).unwrap_or_default();
        let within =
            text.chars().take(at.column.saturating_sub(1)).fold(0usize, |sum, c| sum.saturating_add(c.len_utf8()));
        let at = start.saturating_add(within);
        Span::new(at, at.saturating_add(1).min(end.max(at)))
    }
}

/// Whether a schema takes the address of a file, or a list of such.
fn takes_addresses(schema: &Json) -> bool {
    let names = |wanted: &str| match schema.get("type") {
        Some(Json::String(kind)) => kind == wanted,
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    };
    names("string") || (names("array") && schema.get("items").is_some_and(takes_addresses))
}

/// The message about `{% … %}`.
const FOREIGN: &str = "`{% … %}` is not a Handlebars tag; write {{#if …}}, {{#each …}}, or, if it is meant as text, \
                       {{{{raw}}}}{% … %}{{{{/raw}}}}";

fn problem_in_partial(name: &str, at: LineColumn, message: &str) -> String {
    format!("error: {message}\n --> partial `{name}`:{}:{}", at.line, at.column)
}

/// Parses a partial, or wraps plain text so that it renders as it is.
fn parse_partial(name: &str, text: &PartialText) -> Result<Template, String> {
    match text {
        PartialText::Template(text) if text.len() > MAX_FILE_BYTES => {
            Err(format!("error: {} bytes; a partial has at most {MAX_FILE_BYTES}\n --> partial `{name}`", text.len()))
        }
        PartialText::Template(text) => parse_template(text).map_err(|e| problem_in_partial(name, e.at, &e.message)),
        PartialText::Literal(text) => Ok(Template::literal(text)),
    }
}
