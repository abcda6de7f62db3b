//! Names in an agent's file that lead nowhere: the file can be read, but probably does not do what its author meant.
//!
//! A source that only an agent which calls this one has is no finding if the caller's sources are known.

use std::collections::BTreeSet;
use std::ops::Range;

use proem_engine::toml_reader::{PlacedValue, TableSyntax, read_tables};
use proem_lisp::documentation::nearest_of;
use proem_text::diagnostic::{Diagnostic, DiagnosticSeverity};
use toml::de::DeTable;

use super::super::definition::{AgentDefinition, ToolKind, fold_name, source};
use super::super::prompt::mission_placeholders;
use super::{AgentReader, placed_diagnostic};

/// The families of sources that an agent's own file names.
const FAMILIES: [&str; 4] = ["ctx", "tool", "model", "agent"];

/// The sources of an agent's own data: its inputs, its tools, and the memory that it keeps.
#[must_use]
pub fn agent_sources(agent: &AgentDefinition) -> BTreeSet<String> {
    let inputs = agent.signature.parameters().map(|name| source("ctx", name));
    let tools = agent.tools.iter().map(|(name, tool)| match tool.kind {
        ToolKind::Model(_) => source("model", name),
        ToolKind::Agent { .. } => source("agent", name),
        _ => source("tool", name),
    });
    let named = inputs.chain(tools).map(|source| source.as_str().to_owned());
    named.chain(std::iter::once("memory/kept".to_owned())).collect()
}

/// The names in an agent's file that lead nowhere, each as a warning with its place. `name` and `text` are those that
/// the agent was read from. `others` are sources of agents that may call it.
#[must_use]
pub fn agent_findings(name: &str, text: &str, agent: &AgentDefinition, others: &BTreeSet<String>) -> Vec<String> {
    let syntax = if name.ends_with(".json") { TableSyntax::Json } else { TableSyntax::Toml };
    let own = agent_sources(agent);
    let read = read_tables(name, text, syntax, |reader, root| {
        let mut finder = NameFinder { reader: AgentReader { reader, text }, agent, own: &own, others };
        finder.sources(root.get("shows"));
        let tools = root.get("tools").and_then(|value| value.get_ref().as_table());
        for (_, tool) in tools.into_iter().flat_map(DeTable::iter) {
            let Some(tool) = tool.get_ref().as_table() else { continue };
            finder.sources(tool.get("triggered_by"));
            let parameters = tool.get("parameters").and_then(|value| value.get_ref().as_table());
            for (_, parameter) in parameters.into_iter().flat_map(DeTable::iter) {
                finder.sources(parameter.get_ref().as_table().and_then(|of| of.get("accepts")));
            }
        }
        root.get("mission").into_iter().for_each(|mission| finder.mission(mission));
    });
    read.map_or_else(|found| found.problems().to_vec(), |()| Vec::new())
}

/// Finds names that lead nowhere.
struct NameFinder<'f> {
    reader: AgentReader<'f>,
    agent: &'f AgentDefinition,
    own: &'f BTreeSet<String>,
    others: &'f BTreeSet<String>,
}

impl NameFinder<'_> {
    fn warn(&mut self, message: String, help: String, place: Range<usize>) {
        let warning = placed_diagnostic(DiagnosticSeverity::Warning, message, place);
        self.reader.reader.diagnostic(Diagnostic { help: Some(help), ..warning });
    }

    /// Sources that neither this agent has nor a caller that is known.
    fn sources(&mut self, value: Option<PlacedValue<'_>>) {
        let items = value.and_then(|value| value.get_ref().as_array());
        for item in items.into_iter().flatten() {
            let Some(named) = item.get_ref().as_str() else { continue };
            if self.own.contains(named) || self.others.contains(named) {
                continue;
            }
            // A caller of programs may give any other source.
            let Some((family, name)) = named.split_once('/') else { continue };
            let of_name = self.own.iter().find(|known| known.split_once('/').is_some_and(|(_, other)| other == name));
            let near = of_name.map(String::as_str).or_else(|| nearest_of(named, self.own.iter().map(String::as_str)));
            if near.is_none() && !FAMILIES.contains(&family) {
                continue;
            }
            let known = self.own.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
            let help =
                near.map_or_else(|| format!("its sources are {known}"), |near| format!("did you mean `{near}`?"));
            self.warn(format!("this agent has no source `{named}`"), help, item.span());
        }
    }

    /// Tools that the mission names and inputs that may be missing from it.
    fn mission(&mut self, value: PlacedValue<'_>) {
        let whole = value.span();
        let raw = self.reader.text.get(whole.clone()).unwrap_or_default();
        for (at, name) in named_tools(raw) {
            let is_meant = |known: &&String| fold_name(known) == fold_name(name);
            let known = || self.agent.tools.keys().chain(self.agent.catalogue.keys());
            if known().find(is_meant).is_some() {
                continue;
            }
            let list = known().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
            let help = match nearest_of(name, known().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None if list.is_empty() => "this agent has no tools; add one under `[tools]`".to_owned(),
                None => format!("its tools are {list}"),
            };
            let start = whole.start.saturating_add(at);
            let place = start..start.saturating_add(name.len());
            self.warn(format!("the mission names the tool `{name}`, which this agent doesn't have"), help, place);
        }
        let places = self.reader.placeholder_places(value);
        for (number, path) in mission_placeholders(&self.agent.mission).into_iter().enumerate() {
            let first = path.split('.').next().unwrap_or_default();
            if self.agent.signature.parameter_type(first).is_some_and(|of| of.ends_with('?')) {
                let message = format!("the mission has `{{{{{path}}}}}`, and `{first}` may be missing");
                let help = format!("a mission without it is refused; make `{first}` required, or leave it out");
                self.warn(message, help, places.get(number).cloned().unwrap_or(value.span()));
            }
        }
    }
}

/// The tools that a text names, each with its place: behind `(call "` and behind `tool/`.
fn named_tools(text: &str) -> Vec<(usize, &str)> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut found = Vec::new();
    // A basic text of TOML and JSON writes the quote as `\"`.
    for before in ["(call \"", "(call \\\"", "(tool/", "`tool/"] {
        for (at, _) in text.match_indices(before) {
            let start = at.saturating_add(before.len());
            let rest = text.get(start..).unwrap_or_default();
            let name = rest.get(..rest.find(|c| !is_letter(c)).unwrap_or(rest.len())).unwrap_or_default();
            if !name.is_empty() {
                found.push((start, name));
            }
        }
    }
    found.sort_unstable();
    found
}
