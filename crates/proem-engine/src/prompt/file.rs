//! A prompt file: front matter and template, read and checked but not rendered.
//!
//! A file with the key `proem` is *strict*: its template is taken apart into sections and checked
//! against its input schema. A file without is plain dotprompt: what stands under each role is a section of its own,
//! which is checked the same way.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use proem_text::span::Span;
use serde_json::{Value as Json, json};

use super::analyse::{Analysis, AnalysisFault, HELPERS, MARKERS, RAW};
use super::header::{self, Diagnostics, Header, StrictHeader};
use super::infer;
use super::layout::{Layout, trim_marker_breaks, turn_fault};
use super::picoschema::NamedSchemas;
use super::remarks::remarks;
pub(crate) use super::split::{Split, split_front_matter};
use super::template::{Expression, HelperCall, LineColumn, Statement, Template, TemplateNode, parse_template};
use super::yaml;
use crate::error::{Error, ErrorKind, error_at};
use crate::message::Role;
use crate::ordered::OrderedJson;
use crate::schema::{self, ValueKind};
use crate::section::{Climber, SectionGroup, SectionSpec, Trust};

/// The most bytes that a prompt file may have.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

/// How many problems of one file are listed one by one.
const MAX_LISTED: usize = 100;

/// One section of a strict prompt, ready to render.
#[derive(Debug, Clone)]
pub struct Section {
    /// What the file declares of it.
    pub spec: SectionSpec,
    /// Whose message it stands in.
    pub role: Role,
    /// The inputs that its template reads.
    pub inputs: BTreeSet<String>,
    pub(crate) template: Template,
}

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
    /// What it says that has no effect, each with its line.
    pub remarks: Vec<String>,
    pub(crate) partials: BTreeMap<String, Template>,
}

/// The text of a partial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartialText {
    /// A Handlebars template.
    Template(String),
    /// Plain text, put in as it stands.
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

/// Where a problem in a strict file was found.
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
    /// Reads a strict prompt file; `name` is used in messages only.
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
        let mut sections = self.body(&strict, &header);
        if self.is_plain {
            strict.sections.retain(|spec| sections.iter().any(|section| section.spec.name == spec.name));
            header.strict = Some(strict.clone());
        }
        self.schema(&header, &strict);
        // What templates read can be judged only if the inputs and all partials are known.
        if header.places.inputs_known && self.elsewhere.is_empty() {
            self.analyse(&header, &strict, &mut sections, &partials);
        }
        if self.problems.is_empty() && self.elsewhere.is_empty() {
            let remarks = remarks(self.text, &self.split, &header.places.remarks);
            Ok(PromptFile { is_plain: self.is_plain, header, strict, sections, remarks, partials })
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

    fn body(&mut self, strict: &StrictHeader, header: &Header) -> Vec<Section> {
        let template = match parse_template(self.split.body) {
            Ok(template) => template,
            Err(fault) => {
                let span = self.span(fault.at);
                self.problems.push(error_at(fault.message, span));
                return Vec::new();
            }
        };
        for at in &template.foreign {
            let span = self.span(*at);
            self.problems.push(error_at(FOREIGN, span));
        }
        let mut cutter = SectionCutter {
            reader: self,
            strict,
            header,
            role: RoleSeen::None,
            current: Current::None,
            cut: Vec::new(),
            seen: BTreeSet::new(),
        };
        template.nodes.into_iter().for_each(|node| cutter.node(node));
        let (sections, seen) = cutter.finish();
        for spec in strict.sections.iter().filter(|_| !self.is_plain) {
            if !seen.contains(&spec.name) {
                let span = header.places.sections.get(&spec.name).copied().unwrap_or_default();
                self.problems
                    .push(error_at(format!("section `{}` is declared but has no marker in the body", spec.name), span));
            }
        }
        sections
    }

    fn schema(&mut self, header: &Header, strict: &StrictHeader) {
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
        if !header.places.inputs_known {
            return;
        }
        for (name, _) in &strict.inputs {
            if !declared(name) {
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
                let kind = properties.and_then(|properties| properties.get(&ladder.input)).map(schema::kind_of_schema);
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
        let schema = header.input_schema.clone().unwrap_or(Json::Null);
        let analysis = Analysis { schema: &schema, trust: &strict.inputs, partials, elements: Cell::new(0) };
        for section in sections {
            let (faults, inputs) = analysis.section(&section.spec, &section.template);
            section.inputs = inputs;
            faults.into_iter().for_each(|fault| self.fault(fault));
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

    /// The byte that a line and column of the body stand for.
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

/// Cuts a parsed body at its markers.
struct SectionCutter<'c, 't> {
    reader: &'c mut StrictFileReader<'t>,
    strict: &'c StrictHeader,
    header: &'c Header,
    role: RoleSeen,
    current: Current,
    cut: Vec<Section>,
    /// The sections that have a marker, one with a problem too.
    seen: BTreeSet<String>,
}

/// The role marker that holds.
#[derive(Clone, Copy)]
enum RoleSeen {
    None,
    /// One with a problem, which has been told.
    Broken,
    Is(Role),
}

/// Where the text that is being read belongs.
enum Current {
    None,
    /// Behind a marker with a problem, which has been told.
    Broken,
    In(Section),
}

impl SectionCutter<'_, '_> {
    fn fault(&mut self, at: LineColumn, message: String) {
        let span = self.reader.span(at);
        self.reader.problems.push(error_at(message, span));
    }

    fn node(&mut self, node: TemplateNode) {
        let at = node.at;
        if let Statement::Print(call, _) = &node.element {
            match call.path.simple() {
                Some("role") => return self.role(call, at),
                Some("section") => return self.section(call, at),
                Some(name @ ("history" | "media")) => {
                    return self.fault(at, format!("`{name}` is not supported; leave it out"));
                }
                _ => {}
            }
        }
        // In plain dotprompt, what stands before any role is the user's.
        let is_blank = matches!(&node.element, Statement::Text(text) if text.written.trim().is_empty());
        if self.reader.is_plain && matches!(self.current, Current::None) && !is_blank {
            self.role = RoleSeen::Is(Role::User);
            self.open_plain(Role::User, at);
        }
        match &mut self.current {
            Current::In(section) => section.template.nodes.push(node),
            Current::Broken => {}
            Current::None => match node.element {
                Statement::Text(text) if text.written.trim().is_empty() => {}
                Statement::Comment(_) => {}
                Statement::Block(_) => {
                    self.fault(
                        at,
                        "this block is outside any section; put a section marker before the block, not inside it"
                            .into(),
                    );
                    self.current = Current::Broken;
                }
                element => {
                    let at = match &element {
                        Statement::Text(text) => {
                            let behind = text.written.trim_start();
                            at.behind(text.written.strip_suffix(behind).unwrap_or_default())
                        }
                        _ => at,
                    };
                    self.fault(at, "text outside any section; put a {{section \"…\"}} marker before it".into());
                    // Once is enough for all that stands before the next marker.
                    self.current = Current::Broken;
                }
            },
        }
    }

    fn close(&mut self) {
        if let Current::In(mut section) = core::mem::replace(&mut self.current, Current::None) {
            if self.strict.layout == Layout::Exact {
                trim_marker_breaks(&mut section.template);
            }
            self.cut.push(section);
        }
    }

    fn role(&mut self, call: &HelperCall, at: LineColumn) {
        self.close();
        let problem = match literal_argument(call).and_then(Role::parse) {
            Some(role) if role != Role::Model || !self.reader.is_plain => {
                self.role = RoleSeen::Is(role);
                if self.reader.is_plain {
                    self.open_plain(role, at);
                }
                return;
            }
            Some(_) => "role \"model\" needs `proem:` with `sections`; a plain dotprompt file has system and user",
            None => "role takes a literal, \"system\", \"user\" or \"model\"",
        };
        self.role = RoleSeen::Broken;
        self.fault(at, problem.into());
    }

    /// Opens the section that stands for a role of a plain file.
    fn open_plain(&mut self, role: Role, at: LineColumn) {
        let name = if role == Role::System { "system" } else { "user" };
        if self.seen.contains(name) {
            let message = format!(
                "a second `{name}` role; a plain dotprompt file has one of each, add `proem:` with `sections` for more"
            );
            self.current = Current::Broken;
            return self.fault(at, message);
        }
        self.open(name, at);
    }

    fn section(&mut self, call: &HelperCall, at: LineColumn) {
        self.close();
        self.current = Current::Broken;
        let Some(name) = literal_argument(call) else {
            return self.fault(at, "section takes a literal name".into());
        };
        if self.reader.is_plain {
            let message = "a section marker in a plain dotprompt file; declare it under `proem:`, `sections`";
            return self.fault(at, message.into());
        }
        self.open(name, at);
    }

    /// Opens a declared section.
    fn open(&mut self, name: &str, at: LineColumn) {
        let Some(spec) = self.strict.sections.iter().find(|spec| spec.name == name).cloned() else {
            if self.header.places.sections_known {
                let known: Vec<&str> = self.strict.sections.iter().map(|spec| spec.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                self.fault(at, format!("section `{name}` is not declared under proem.sections; declared: {known}"));
            }
            return;
        };
        if !self.seen.insert(spec.name.clone()) {
            return self.fault(at, format!("section `{name}` has two markers; remove one"));
        }
        let role = match self.role {
            RoleSeen::Is(role) => role,
            RoleSeen::Broken => return,
            RoleSeen::None => {
                return self.fault(at, format!("section `{name}` comes before the first {{{{role}}}}"));
            }
        };
        if let Some(before) = self.cut.last()
            && !self.strict.layout.allows(before.spec.rank(), spec.rank())
        {
            let message = format!(
                "section `{name}` must come before `{}`, because sections are ordered by trust",
                before.spec.name
            );
            self.fault(at, message);
        }
        self.roles(&spec, role, at);
        self.current = Current::In(Section { spec, role, inputs: BTreeSet::new(), template: Template::default() });
    }

    fn roles(&mut self, spec: &SectionSpec, role: Role, at: LineColumn) {
        let name = &spec.name;
        match (role, spec.trust) {
            (Role::System, Trust::Untrusted) => {
                let before = self.cut.last().map(|section| format!("`{}` in ", section.spec.name)).unwrap_or_default();
                self.fault(
                    at,
                    format!(
                        "section `{name}` is untrusted and is in the same message as {before}the system role; untrusted text is \
                         allowed only in user messages"
                    ),
                );
            }
            (Role::System, Trust::Task) => {
                self.fault(at, format!("section `{name}` is the task; put it into a user message"));
            }
            (Role::User | Role::Model, _) if spec.rank() <= SectionGroup::TrustedStatic => {
                self.fault(
                    at,
                    format!(
                        "section `{name}` ({}) is under the {} role; move it under the system role",
                        spec.rank().as_str(),
                        role.as_str()
                    ),
                );
            }
            (Role::System, _) if self.cut.iter().any(|section| section.role != Role::System) => {
                self.fault(at, format!("section `{name}` is under a second system role; use only one, at the start"));
            }
            _ => turn_fault(spec, role, &self.cut).into_iter().for_each(|message| self.fault(at, message)),
        }
    }

    fn finish(mut self) -> (Vec<Section>, BTreeSet<String>) {
        self.close();
        (self.cut, self.seen)
    }
}

fn literal_argument(call: &HelperCall) -> Option<&str> {
    match call.arguments.as_slice() {
        [Expression::Literal(Some(OrderedJson::Text(text)))] if call.named.is_empty() => Some(text),
        _ => None,
    }
}

/// What is said of `{% … %}`.
const FOREIGN: &str = "`{% … %}` is not a Handlebars tag; write {{#if …}}, {{#each …}}, or, if it is meant as text, \
                       {{{{raw}}}}{% … %}{{{{/raw}}}}";

fn problem_in_partial(name: &str, at: LineColumn, message: &str) -> String {
    format!("error: {message}\n --> partial `{name}`:{}:{}", at.line, at.column)
}

/// Parses a partial, or wraps plain text so that it renders as it stands.
fn parse_partial(name: &str, text: &PartialText) -> Result<Template, String> {
    match text {
        PartialText::Template(text) if text.len() > MAX_FILE_BYTES => {
            Err(format!("error: {} bytes; a partial has at most {MAX_FILE_BYTES}\n --> partial `{name}`", text.len()))
        }
        PartialText::Template(text) => parse_template(text).map_err(|e| problem_in_partial(name, e.at, &e.message)),
        PartialText::Literal(text) => Ok(Template::literal(text)),
    }
}
