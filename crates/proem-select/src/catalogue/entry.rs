//! The entry that a reader finds in a file, before it has a name in the catalogue.

use proem_guard::{Untrusted, show};
use proem_text::json;
use serde_json::{Value as Json, json};

use super::hash::{Sha256Hash, text_hash};
use super::modes::Modes;
use super::name::CatalogueName;
use super::problem::{CatalogueProblem, FilePosition};

/// Tool, skill, agent and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CatalogueEntryKind {
    /// A function that a model may ask to have called.
    Tool,
    /// Instructions that a model may ask to read.
    Skill,
}

proem_text::word_table! {
    /// The word used in files and on the command line.
    pub CatalogueEntryKind {
        Tool = "tool",
        Skill = "skill",
    }
}

/// The trust in a file's words, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceTrust {
    /// Somebody else's: each definition has to be approved.
    Outside,
    /// A project's, in exactly the bytes that this user trusts.
    Trusted,
    /// This user's own.
    Own,
}

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path as a person would name it, escaped. Problems and origins name it so.
    pub path: String,
    /// The trust in its words.
    pub standing: SourceTrust,
    /// The file's content, as it was read.
    pub text: String,
}

/// The place of an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryLocation {
    /// The file, as a person would name it.
    pub file: String,
    /// The place in it.
    pub at: FilePosition,
}

/// An entry's own definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its description. May be empty.
    pub description: Untrusted<String>,
    /// The JSON schema of its parameters.
    pub parameters: Option<Untrusted<Json>>,
    /// Requests that it fits, in any language.
    pub examples: Vec<Untrusted<String>>,
    /// The modes it may be used in.
    pub modes: Modes,
    /// Plain words to group it by, sorted.
    pub tags: Vec<CatalogueName>,
}

/// One entry as a file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueEntry {
    /// Tool, skill, agent and so on.
    pub kind: CatalogueEntryKind,
    /// The server it belongs to, as configured.
    pub server: Option<String>,
    /// Its name in the file, at most 200 bytes, of any characters.
    pub own_name: Untrusted<String>,
    /// The name it wants in the catalogue.
    pub name: CatalogueName,
    /// Its own definition.
    pub definition: Definition,
    /// Its place.
    pub origin: EntryLocation,
    /// The trust in its words.
    pub standing: SourceTrust,
    /// The hash of what belongs to it and is not part of the definition: a skill's body.
    pub body: Option<Sha256Hash>,
    /// The limits that cut it, in words.
    pub cut: Vec<&'static str>,
}

/// A file's additions to an entry of another file.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlay {
    /// The entry's name in the catalogue.
    pub name: String,
    /// The modes it may be used in, if they are named.
    pub modes: Option<Modes>,
    /// More tags.
    pub tags: Vec<CatalogueName>,
    /// More examples.
    pub examples: Vec<Untrusted<String>>,
    /// Its place.
    pub origin: EntryLocation,
    /// The trust in its words. Somebody else's may only restrict.
    pub standing: SourceTrust,
}

/// A configured server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct McpServer {
    /// Its name as configured, of any characters.
    pub name: String,
    /// The place of its configuration.
    pub origin: EntryLocation,
}

/// The contents that were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CatalogueContents {
    /// The entries in the order in which they were read.
    pub entries: Vec<CatalogueEntry>,
    /// The configured servers.
    pub servers: Vec<McpServer>,
    /// The additions to entries of other files.
    pub overlays: Vec<Overlay>,
    /// Everything that was wrong.
    pub problems: Vec<CatalogueProblem>,
}

impl CatalogueContents {
    /// Adds what another file held.
    pub fn add(&mut self, mut other: Self) {
        self.entries.append(&mut other.entries);
        self.servers.append(&mut other.servers);
        self.overlays.append(&mut other.overlays);
        self.problems.append(&mut other.problems);
    }
}

impl CatalogueEntry {
    /// All that it says under `name`, as canonical JSON on many lines. Its hash is the entry's.
    ///
    /// Overlays are not part of it: it is what the entry's author wrote.
    pub(super) fn written(&self, name: &str) -> Untrusted<String> {
        let definition = &self.definition;
        let examples: Vec<Json> = definition.examples.iter().map(show::exact_json).collect();
        let modes: Vec<&str> = definition.modes.iter().map(crate::mode::Mode::as_str).collect();
        let tags: Vec<&str> = definition.tags.iter().map(CatalogueName::as_str).collect();
        let all = json!({
            "kind": self.kind.as_str(),
            "name": name,
            "ownName": show::exact_json(&self.own_name),
            "description": show::exact_json(&definition.description),
            "examples": examples,
            "modes": modes,
            "tags": tags,
            "body": self.body.map(|body| body.to_string()),
        });
        // The schema goes in last, since its values have no door of their own.
        let parameters = definition.parameters.clone().unwrap_or_else(|| self.own_name.clone().map(|_| Json::Null));
        parameters.map(|parameters| {
            let mut all = all;
            if let Some(fields) = all.as_object_mut() {
                fields.insert("parameters".into(), parameters);
            }
            json::pretty(&all)
        })
    }

    /// The hash of all that it says under `name`.
    pub(super) fn hash(&self, name: &str) -> Sha256Hash {
        text_hash(&self.written(name))
    }
}
