//! An agent's file: how it is written, and everything that is wrong with it.

pub(super) mod findings;
mod tools;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use proem_engine::Error;
use proem_engine::toml_reader::{PlacedValue, TableSyntax, TomlReader, read_tables, too_long};
use proem_lisp::documentation::nearest_of;
use proem_lisp::{Limits, Signature};
use proem_text::Span;
use proem_text::diagnostic::{Diagnostic, DiagnosticSeverity};
use toml::de::DeTable;

use super::definition::{AgentDefinition, LIMITS, PromptLimits, TurnLimits};
use super::prompt::mission_placeholders;

/// The schema of an agent's file.
pub const AGENT_SCHEMA: &str = include_str!("../../data/agent.schema.json");

/// The most bytes of an agent's file.
pub const MAX_AGENT_FILE: usize = 256 << 10;

/// The form of the file.
const VERSION: u32 = 1;
/// The most bytes of a description.
const MAX_DESCRIPTION: usize = 1_024;
/// The most characters of a name, as providers have it for tools.
const NAME_CHARACTERS: usize = 64;

const ROOT: [&str; 12] = [
    "version",
    "name",
    "purpose",
    "mission",
    "signature",
    "trusted_inputs",
    "shows",
    "turns",
    "prompt",
    "limits",
    "catalogue",
    "tools",
];
const TURNS: [&str; 5] = ["max_turns", "retry_turns", "mission_seconds", "max_depth", "turn_budget"];
const PROMPT: [&str; 4] = ["list_sample", "string_truncate", "omit_reference", "full_reference"];

/// Reads an agent's file. `name` is what messages call it. A name that ends in `.json` means JSON of the same form.
///
/// # Errors
///
/// [`proem_engine::ErrorKind::InvalidFile`] with every problem: its line, column and excerpt.
pub fn parse_agent(name: &str, text: &str) -> Result<AgentDefinition, Error> {
    if text.len() > MAX_AGENT_FILE {
        return Err(too_long(name, MAX_AGENT_FILE, "an agent's file"));
    }
    let syntax = if name.ends_with(".json") { TableSyntax::Json } else { TableSyntax::Toml };
    let read = read_tables(name, text, syntax, |reader, root| AgentReader { reader, text }.agent(root))?;
    read.ok_or_else(|| Error::new(proem_engine::ErrorKind::InvalidFile, format!("`{name}` is no agent's file")))
}

/// A message about a place in an agent's file.
fn placed_diagnostic(severity: DiagnosticSeverity, message: String, place: Range<usize>) -> Diagnostic {
    Diagnostic { severity, message, span: Some(Span::new(place.start, place.end)), help: None }
}

/// Reads the parts of an agent's file.
struct AgentReader<'r> {
    reader: &'r mut TomlReader,
    /// The file, for places within signatures.
    text: &'r str,
}

impl AgentReader<'_> {
    /// The agent. `None` only where a problem says why.
    fn agent(&mut self, root: &DeTable<'_>) -> Option<AgentDefinition> {
        self.reader.only(root, &ROOT);
        match root.get("version") {
            None => self.reader.problem(format!("no version; begin with `version = {VERSION}`"), 0..0),
            Some(version) if self.reader.number(version, VERSION) != Some(VERSION) => {
                let message = format!("only version {VERSION} can be read; write `version = {VERSION}`");
                self.reader.problem(message, version.span());
            }
            Some(_) => {}
        }
        let name = self.needed_text(root, "name", 0..0);
        let mission = root.get("mission").and_then(|value| self.reader.text(value)).unwrap_or_default().to_owned();
        let signature = match root.get("signature") {
            Some(value) => self.signature(value),
            None => Signature::parse("()", &Limits::default()).ok(),
        };
        let tools = self.tools(root);
        let definition = AgentDefinition {
            name: name.unwrap_or_default().to_owned(),
            purpose: self.description_text(root, "purpose"),
            mission,
            signature: signature?,
            trusted_inputs: Default::default(),
            shows: self.sources(root.get("shows")),
            turns: self.turns(root),
            prompt: self.prompt(root),
            limits: self.limits(root),
            catalogue: self.catalogue(root),
            tools,
            passed: BTreeMap::new(),
        };
        Some(self.inputs(root, definition))
    }

    /// The inputs that are trusted and those that the mission names: each is a parameter.
    fn inputs(&mut self, root: &DeTable<'_>, mut definition: AgentDefinition) -> AgentDefinition {
        let known: Vec<String> = definition.signature.parameters().map(str::to_owned).collect();
        if let Some(value) = root.get("trusted_inputs") {
            for (name, place) in self.reader.texts(value) {
                if !known.iter().any(|known| known == name) {
                    self.reader.problem(format!("`{name}` is no parameter of the signature"), place.span());
                }
                definition.trusted_inputs.insert(name.to_owned());
            }
        }
        let Some(value) = root.get("mission") else { return definition };
        let places = self.placeholder_places(value);
        for (number, path) in mission_placeholders(&definition.mission).into_iter().enumerate() {
            if !definition.signature.has_path(path.split('.')) {
                let first = path.split('.').next().unwrap_or_default();
                let remedy = match nearest_of(first, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if path.is_empty() || path.contains('\n') => "write `{{NAME}}`".to_owned(),
                    None => format!("add `{first} :string` to it, or write one of its parameters"),
                };
                let message = format!("the mission has `{{{{{path}}}}}`, which is no parameter of the signature");
                let place = places.get(number).cloned().unwrap_or(value.span());
                self.reader.diagnostic(Diagnostic {
                    help: Some(remedy),
                    ..placed_diagnostic(DiagnosticSeverity::Error, message, place)
                });
            }
        }
        definition
    }

    /// The places of a mission's placeholders in the file, in order.
    fn placeholder_places(&self, value: PlacedValue<'_>) -> Vec<Range<usize>> {
        let mut from = value.span().start;
        let end = value.span().end;
        let find = |from: usize, what: &str| {
            self.text.get(from..end).and_then(|rest| rest.find(what)).map(|at| from.saturating_add(at))
        };
        std::iter::from_fn(|| {
            let open = find(from, "{{")?;
            let close = find(open.saturating_add(2), "}}").map_or(end, |close| close.saturating_add(2));
            from = close;
            Some(open..close)
        })
        .collect()
    }

    /// A description, which has a limit.
    fn description_text(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        let value = table.get(key)?;
        let text = self.reader.text(value)?;
        if text.len() > MAX_DESCRIPTION {
            self.reader.problem(format!("a {key} has at most {MAX_DESCRIPTION} bytes"), value.span());
        }
        Some(text.to_owned())
    }

    fn needed_text<'t>(&mut self, table: &'t DeTable<'t>, key: &str, place: Range<usize>) -> Option<&'t str> {
        match table.get(key) {
            Some(value) => self.reader.text(value),
            None => {
                self.reader.problem(format!("no `{key}`; write `{key} = \"…\"`"), place);
                None
            }
        }
    }

    /// The signature that a value is. Its problems have their places in the file.
    fn signature(&mut self, value: PlacedValue<'_>) -> Option<Signature> {
        let text = self.reader.text(value)?;
        let problems = match Signature::parse(text, &Limits::default()) {
            Ok(signature) => return Some(signature),
            Err(problems) => problems,
        };
        // Behind its quote, where the file has the text as it is. The whole value where it is escaped.
        let whole = value.span();
        let inner = whole.start.saturating_add(1);
        let is_plain = self.text.get(inner..).is_some_and(|rest| rest.starts_with(text));
        for problem in problems {
            let mut diagnostic = problem.diagnostic;
            let span = diagnostic.span.filter(|_| is_plain);
            let shift = |at: usize| inner.saturating_add(at).min(whole.end);
            diagnostic.span = Some(
                span.map_or(Span::new(whole.start, whole.end), |span| Span::new(shift(span.start), shift(span.end))),
            );
            self.reader.diagnostic(diagnostic);
        }
        None
    }

    /// The numbers of a table, by the keys that it may have.
    fn numbers(&mut self, root: &DeTable<'_>, name: &str, keys: &[&str]) -> BTreeMap<String, u32> {
        let Some(table) = root.get(name).and_then(|value| self.reader.table(value)) else { return BTreeMap::new() };
        self.reader.only(table, keys);
        let mut numbers = BTreeMap::new();
        for (key, value) in table.iter().filter(|(key, _)| keys.contains(&key.get_ref().as_ref())) {
            if value.get_ref().is_bool() && key.get_ref().ends_with("_reference") {
                numbers.insert(key.get_ref().to_string(), u32::from(value.get_ref().as_bool() == Some(true)));
            } else if let Some(number) = self.reader.number(value, u32::MAX) {
                numbers.insert(key.get_ref().to_string(), number);
            }
        }
        numbers
    }

    fn turns(&mut self, root: &DeTable<'_>) -> TurnLimits {
        let numbers = self.numbers(root, "turns", &TURNS);
        let usual = TurnLimits::default();
        let of = |key: &str, usual: u32| numbers.get(key).copied().unwrap_or(usual);
        TurnLimits {
            max_turns: of("max_turns", usual.max_turns),
            retry_turns: of("retry_turns", usual.retry_turns),
            mission_seconds: of("mission_seconds", usual.mission_seconds),
            max_depth: of("max_depth", usual.max_depth).min(usual.max_depth),
            turn_budget: of("turn_budget", usual.turn_budget),
        }
    }

    fn prompt(&mut self, root: &DeTable<'_>) -> PromptLimits {
        let numbers = self.numbers(root, "prompt", &PROMPT);
        let usual = PromptLimits::default();
        let of = |key: &str, usual: u32| numbers.get(key).copied().unwrap_or(usual);
        PromptLimits {
            list_sample: of("list_sample", usual.list_sample),
            string_truncate: of("string_truncate", usual.string_truncate),
            omit_reference: of("omit_reference", 0) == 1,
            full_reference: of("full_reference", 0) == 1,
        }
    }

    fn limits(&mut self, root: &DeTable<'_>) -> BTreeMap<String, u64> {
        let numbers = self.numbers(root, "limits", &LIMITS);
        numbers.into_iter().map(|(key, number)| (key, u64::from(number))).collect()
    }

    fn catalogue(&mut self, root: &DeTable<'_>) -> BTreeMap<String, Arc<Signature>> {
        let mut catalogue = BTreeMap::new();
        let Some(table) = root.get("catalogue").and_then(|value| self.reader.table(value)) else { return catalogue };
        for (key, value) in table.iter() {
            self.check_name(key.get_ref(), key.span());
            if let Some(signature) = self.signature(value) {
                catalogue.insert(key.get_ref().to_string(), Arc::new(signature));
            }
        }
        catalogue
    }

    /// Refuses a name that no tool can have.
    fn check_name(&mut self, name: &str, place: Range<usize>) {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > NAME_CHARACTERS || !name.chars().all(is_letter) {
            let rule = format!("use 1 to {NAME_CHARACTERS} letters, digits, `_` and `-`");
            self.reader.problem(format!("`{}` is no name of a tool; {rule}", name.escape_debug()), place);
        }
    }
}
