//! The common steps of every reader for an entry: check it, cut it to the limits, label it.

use proem_guard::Untrusted;
use proem_text::{Label, Source, json};
use serde_json::{Map, Value as Json};

use super::entry::{
    CatalogueContents, CatalogueEntry, CatalogueEntryKind, Definition, EntryLocation, SourceFile, SourceTrust,
};
use super::hash::Sha256Hash;
use super::modes::Modes;
use super::name::CatalogueName;
use super::problem::{FilePosition, FileProblems, quote_foreign};
use super::{
    MAX_DESCRIPTION_BYTES, MAX_ENTRIES, MAX_EXAMPLE_BYTES, MAX_EXAMPLES, MAX_OWN_NAME_BYTES, MAX_PARAMETERS_BYTES,
    MAX_TAGS,
};

/// An entry in the making: plain values of one file, not yet checked.
#[derive(Debug, Default)]
pub(super) struct EntryDraft {
    pub(super) description: String,
    pub(super) parameters: Option<Json>,
    pub(super) examples: Vec<String>,
    pub(super) modes: Modes,
    pub(super) tags: Vec<String>,
    pub(super) body: Option<Sha256Hash>,
}

/// The common part of all entries of one file.
pub(super) struct EntryCollector<'f> {
    pub(super) file: &'f SourceFile,
    pub(super) server: Option<&'f str>,
    pub(super) problems: FileProblems,
    pub(super) entries: Vec<CatalogueEntry>,
    /// How many entries were left out because there are too many.
    pub(super) over: usize,
}

impl<'f> EntryCollector<'f> {
    pub(super) fn new(file: &'f SourceFile, server: Option<&'f str>) -> Self {
        Self { file, server, problems: FileProblems::of(&file.path), entries: Vec::new(), over: 0 }
    }

    /// The label of what this file says.
    pub(super) fn label(&self) -> Label {
        match self.file.standing {
            SourceTrust::Own | SourceTrust::Trusted => Label::trusted(),
            SourceTrust::Outside => {
                let server = self.server.map(|server| CatalogueName::server(server).as_str().to_ascii_lowercase());
                let source = server.and_then(|server| Source::parse(&format!("catalogue/{server}")));
                Label::from_source(source.unwrap_or(Source::named("catalogue")))
            }
        }
    }

    /// Checks an entry and adds it. Limits cut, and every cut is a problem.
    pub(super) fn add(&mut self, kind: CatalogueEntryKind, own_name: &str, draft: EntryDraft, at: FilePosition) {
        if self.entries.len() >= MAX_ENTRIES {
            self.over = self.over.saturating_add(1);
            return;
        }
        if own_name.trim().is_empty() {
            self.problems.add(at, "an entry without a name", "give it a `name`");
            return;
        }
        if own_name.len() > MAX_OWN_NAME_BYTES {
            let message = format!("the name {} is longer than {MAX_OWN_NAME_BYTES} bytes", quote_foreign(own_name));
            self.problems.add(at, message, "shorten it; the entry is left out");
            return;
        }
        let mut cut = Vec::new();
        let label = self.label();
        let description = self.description(own_name, draft.description, &at, &mut cut);
        let parameters = self.parameters(own_name, draft.parameters, &at, &mut cut);
        let examples = self.examples(own_name, draft.examples, &at, &mut cut);
        let tags = self.tags(own_name, &draft.tags, &at, &mut cut);
        let outside = |text: String| Untrusted::new(text, label.clone());
        let definition = Definition {
            description: outside(description),
            parameters: parameters.map(|schema| Untrusted::new(schema, label.clone())),
            examples: examples.into_iter().map(outside).collect(),
            modes: draft.modes,
            tags,
        };
        self.entries.push(CatalogueEntry {
            kind,
            server: self.server.map(str::to_owned),
            own_name: Untrusted::new(own_name.to_owned(), label.clone()),
            name: CatalogueName::joined(self.server, own_name),
            definition,
            origin: EntryLocation { file: self.file.path.clone(), at },
            standing: self.file.standing,
            body: draft.body,
            cut,
        });
    }

    fn description(&mut self, name: &str, mut text: String, at: &FilePosition, cut: &mut Vec<&'static str>) -> String {
        if text.len() > MAX_DESCRIPTION_BYTES {
            let bytes = text.len();
            text.truncate(text.floor_char_boundary(MAX_DESCRIPTION_BYTES));
            cut.push("description");
            let message = format!("the description of {} has {bytes} bytes and is cut", quote_foreign(name));
            self.problems.add(at.clone(), message, format!("keep it below {MAX_DESCRIPTION_BYTES} bytes"));
        }
        text
    }

    fn parameters(
        &mut self,
        name: &str,
        schema: Option<Json>,
        at: &FilePosition,
        cut: &mut Vec<&'static str>,
    ) -> Option<Json> {
        match schema {
            None | Some(Json::Null) => None,
            Some(schema @ Json::Object(_)) => {
                let bytes = json::compact(&schema).len();
                if bytes <= MAX_PARAMETERS_BYTES {
                    return Some(schema);
                }
                cut.push("parameters");
                let message = format!("the parameters of {} take {bytes} bytes and are left out", quote_foreign(name));
                self.problems.add(at.clone(), message, format!("keep the schema below {MAX_PARAMETERS_BYTES} bytes"));
                None
            }
            Some(_) => {
                let message =
                    format!("the parameters of {} are not a JSON schema and are left out", quote_foreign(name));
                self.problems.add(at.clone(), message, "write an object with `type` and `properties`");
                None
            }
        }
    }

    pub(super) fn examples(
        &mut self,
        name: &str,
        examples: Vec<String>,
        at: &FilePosition,
        cut: &mut Vec<&'static str>,
    ) -> Vec<String> {
        let all = examples.len();
        let mut kept: Vec<String> = examples.into_iter().filter(|text| text.len() <= MAX_EXAMPLE_BYTES).collect();
        kept.truncate(MAX_EXAMPLES);
        let lost = all.saturating_sub(kept.len());
        if lost > 0 {
            cut.push("examples");
            let message = format!("{lost} examples of {} are left out", quote_foreign(name));
            let remedy = format!("keep at most {MAX_EXAMPLES}, each below {MAX_EXAMPLE_BYTES} bytes");
            self.problems.add(at.clone(), message, remedy);
        }
        kept
    }

    pub(super) fn tags(
        &mut self,
        name: &str,
        tags: &[String],
        at: &FilePosition,
        cut: &mut Vec<&'static str>,
    ) -> Vec<CatalogueName> {
        let mut kept: Vec<CatalogueName> = tags.iter().filter_map(|tag| CatalogueName::new(tag)).collect();
        let odd = tags.len().saturating_sub(kept.len());
        kept.sort();
        kept.dedup();
        let over = kept.len().saturating_sub(MAX_TAGS);
        kept.truncate(MAX_TAGS);
        if odd.saturating_add(over) > 0 {
            cut.push("tags");
            let message = format!("{} tags of {} are left out", odd.saturating_add(over), quote_foreign(name));
            let remedy = format!("keep at most {MAX_TAGS}, each of letters, digits, `_` and `-`");
            self.problems.add(at.clone(), message, remedy);
        }
        kept
    }

    /// All that was read.
    pub(super) fn finish(mut self) -> CatalogueContents {
        if self.over > 0 {
            let message = format!("{} entries beyond the first {} are left out", self.over, MAX_ENTRIES);
            self.problems.add(FilePosition::Whole, message, "split the catalogue by project, or remove unused entries");
        }
        CatalogueContents { entries: self.entries, problems: self.problems.into_list(), ..CatalogueContents::default() }
    }
}

/// The texts of a JSON array; what else it holds is counted.
pub(super) fn texts_of_array(value: Option<&Json>) -> (Vec<String>, usize) {
    let items = match value {
        None | Some(Json::Null) => return (Vec::new(), 0),
        Some(Json::Array(items)) => items,
        Some(_) => return (Vec::new(), 1),
    };
    let texts: Vec<String> = items.iter().filter_map(Json::as_str).map(str::to_owned).collect();
    let odd = items.len().saturating_sub(texts.len());
    (texts, odd)
}

/// The fields that our own formats share, in JSON.
pub(super) fn entry_draft(fields: &Map<String, Json>, at: &FilePosition, problems: &mut FileProblems) -> EntryDraft {
    let description = match fields.get("description") {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(_) => {
            problems.add(at.clone(), "`description` is not a string and is ignored", "write it as a string");
            String::new()
        }
    };
    let (examples, odd_examples) = texts_of_array(fields.get("examples"));
    let (tags, odd_tags) = texts_of_array(fields.get("tags"));
    for (key, odd) in [("examples", odd_examples), ("tags", odd_tags)] {
        if odd > 0 {
            problems.add(
                at.clone(),
                format!("`{key}` contains a value that is not a string"),
                "write a list of strings",
            );
        }
    }
    let modes = modes_of_list(fields.get("modes"), at, problems).unwrap_or_default();
    EntryDraft { description, parameters: fields.get("parameters").cloned(), examples, modes, tags, body: None }
}

/// The modes that a list names. One that is unknown restricts to those that are known.
pub(super) fn modes_of_list(value: Option<&Json>, at: &FilePosition, problems: &mut FileProblems) -> Option<Modes> {
    let (names, odd) = texts_of_array(value);
    let known: Vec<_> = names.iter().filter_map(|name| Modes::named(name)).collect();
    if odd > 0 || known.len() < names.len() {
        problems.add(at.clone(), "`modes` names something that is not a mode", "use plan, review and act");
        return Some(if known.is_empty() { Modes::NONE } else { Modes::of(&known) });
    }
    value.filter(|value| !value.is_null()).map(|_| Modes::of(&known))
}
