//! `catalogue.toml`: entries of one's own, and what is to be said about entries found elsewhere.
//!
//! ```toml
//! [[tool]]
//! name = "deploy"
//! description = "Deploys a branch to staging."
//! modes = ["act"]
//! tags = ["release"]
//! examples = ["ship it", "mets en ligne"]
//! [tool.parameters]
//! type = "object"
//! properties.branch = { type = "string" }
//!
//! [capability."github__create_issue"]
//! modes = ["act"]
//! examples = ["abre um chamado"]
//! ```

use std::collections::BTreeMap;

use proem_guard::Untrusted;
use proem_text::line_column;
use serde_json::{Map, Value as Json};
use toml::Value as Toml;

use super::capability::Capability;
use super::entry::{CatalogueContents, CatalogueEntryKind, EntryLocation, Overlay, SourceFile, SourceTrust};
use super::name::CatalogueName;
use super::problem::{CatalogueProblem, FilePosition, quote_foreign};
use super::reading::{EntryCollector, entry_draft, modes_of_list, texts_of_array};

/// The file's name.
pub const FILE: &str = "catalogue.toml";

const ENTRY_KEYS: [&str; 6] = ["description", "examples", "modes", "name", "parameters", "tags"];
const OVERLAY_KEYS: [&str; 3] = ["examples", "modes", "tags"];

/// Reads one file.
#[must_use]
pub fn parse_own_catalogue(file: &SourceFile) -> CatalogueContents {
    let mut reading = EntryCollector::new(file, None);
    let mut overlays = Vec::new();
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
    match text.parse::<toml::Table>() {
        Ok(table) => {
            for (key, value) in table {
                match (key.as_str(), value) {
                    ("tool", Toml::Array(items)) => collect_own_entries(CatalogueEntryKind::Tool, items, &mut reading),
                    ("skill", Toml::Array(items)) => {
                        collect_own_entries(CatalogueEntryKind::Skill, items, &mut reading);
                    }
                    ("capability", Toml::Table(table)) => overlays = read_overlays(table, &mut reading),
                    (key @ ("tool" | "skill"), _) => {
                        let at = FilePosition::Pointer(format!("/{key}"));
                        reading.problems.add(at, format!("`{key}` is not a list"), format!("write `[[{key}]]`"));
                    }
                    (key, _) => {
                        let remedy = "use `[[tool]]`, `[[skill]]` and `[capability.\"NAME\"]`";
                        reading.problems.add(
                            FilePosition::Whole,
                            format!("{} is not a known key", quote_foreign(key)),
                            remedy,
                        );
                    }
                }
            }
        }
        Err(error) => {
            let at = error.span().map_or(FilePosition::Whole, |span| {
                let (line, column) = line_column(text, span.start);
                FilePosition::Line { line, column }
            });
            let why = error.message().lines().next().unwrap_or_default();
            reading.problems.add(at, format!("not valid TOML: {why}"), "correct it; nothing of the file is used");
        }
    }
    CatalogueContents { overlays, ..reading.finish() }
}

fn collect_own_entries(kind: CatalogueEntryKind, items: Vec<Toml>, reading: &mut EntryCollector<'_>) {
    for (index, item) in items.into_iter().enumerate() {
        let at = FilePosition::Pointer(format!("/{}/{index}", kind.as_str()));
        let Json::Object(fields) = toml_to_json(item) else {
            reading.problems.add(at, "not a table", format!("write `[[{}]]`", kind.as_str()));
            continue;
        };
        report_unknown_keys(&fields, &ENTRY_KEYS, &at, reading);
        let Some(name) = fields.get("name").and_then(Json::as_str) else {
            reading.problems.add(at, "no `name`, or one that is not a string", "give the entry a name");
            continue;
        };
        let draft = entry_draft(&fields, &at, &mut reading.problems);
        reading.add(kind, name, draft, at);
    }
}

fn read_overlays(table: toml::Table, reading: &mut EntryCollector<'_>) -> Vec<Overlay> {
    let mut overlays = Vec::new();
    for (name, value) in table.into_iter().take(super::MAX_ENTRIES) {
        let at = FilePosition::Pointer(format!("/capability/{}", pointer_token(&name)));
        let Json::Object(fields) = toml_to_json(value) else {
            reading.problems.add(at, "not a table", "write `[capability.\"NAME\"]`");
            continue;
        };
        report_unknown_keys(&fields, &OVERLAY_KEYS, &at, reading);
        let label = reading.label();
        let (examples, _) = texts_of_array(fields.get("examples"));
        let (tags, _) = texts_of_array(fields.get("tags"));
        let mut cut = Vec::new();
        let examples = reading.examples(&name, examples, &at, &mut cut);
        let tags = reading.tags(&name, &tags, &at, &mut cut);
        overlays.push(Overlay {
            modes: modes_of_list(fields.get("modes"), &at, &mut reading.problems),
            tags,
            examples: examples.into_iter().map(|text| Untrusted::new(text, label.clone())).collect(),
            origin: EntryLocation { file: reading.file.path.clone(), at },
            standing: reading.file.standing,
            name,
        });
    }
    overlays
}

fn report_unknown_keys(
    fields: &Map<String, Json>,
    known: &[&str],
    at: &FilePosition,
    reading: &mut EntryCollector<'_>,
) {
    for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
        let remedy = format!("the keys are {}", known.join(", "));
        reading.problems.add(at.clone(), format!("{} is not a known key and is ignored", quote_foreign(key)), remedy);
    }
}

/// A key as a step of a JSON pointer, escaped for a screen.
fn pointer_token(key: &str) -> String {
    quote_foreign(&key.replace('~', "~0").replace('/', "~1")).trim_matches('`').to_owned()
}

fn toml_to_json(value: Toml) -> Json {
    match value {
        Toml::String(text) => Json::String(text),
        Toml::Integer(number) => number.into(),
        Toml::Float(number) => number.into(),
        Toml::Boolean(value) => value.into(),
        Toml::Datetime(time) => Json::String(time.to_string()),
        Toml::Array(items) => items.into_iter().map(toml_to_json).collect(),
        Toml::Table(table) => table.into_iter().map(|(key, value)| (key, toml_to_json(value))).collect(),
    }
}

/// Lays overlays over the entries: what is trusted first, then the user's own, then what others
/// wrote, which may only restrict.
pub(super) fn overlay(
    entries: &mut BTreeMap<CatalogueName, Capability>,
    mut overlays: Vec<Overlay>,
    problems: &mut Vec<CatalogueProblem>,
) {
    let rank = |standing: SourceTrust| match standing {
        SourceTrust::Trusted => 0,
        SourceTrust::Own => 1,
        SourceTrust::Outside => 2,
    };
    overlays.sort_by(|a, b| rank(a.standing).cmp(&rank(b.standing)).then_with(|| a.origin.cmp(&b.origin)));
    for overlay in overlays {
        let mut problem = |message: String, remedy: &str| {
            let EntryLocation { file, at } = overlay.origin.clone();
            problems.push(CatalogueProblem { file, at, message, remedy: remedy.to_owned() });
        };
        let adds = !overlay.tags.is_empty() || !overlay.examples.is_empty();
        match CatalogueName::new(&overlay.name).and_then(|name| entries.get_mut(&name)) {
            None => problem(
                format!("there is no entry called {}", quote_foreign(&overlay.name)),
                "use the name of one that the catalogue has",
            ),
            Some(capability) => {
                if overlay.standing == SourceTrust::Outside && adds {
                    problem(
                        format!("tags and examples for {} are ignored", quote_foreign(&overlay.name)),
                        "trust the file; until then it may only restrict modes",
                    );
                }
                capability.apply(overlay);
            }
        }
    }
}
