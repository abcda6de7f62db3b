//! The catalogue as documents for programs.

use proem_app::catalogue::{LoadedCatalogue, definition_tokens, exact_text};
use proem_guard::show;
use proem_select::catalogue::manifest::Changes;
use proem_select::catalogue::{Capability, CatalogueName, EmbeddingTally, EntryConcern, signature};
use proem_select::mode::Mode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::{approval_word, concerns_about, entry_place};

/// The entries of a catalogue.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogueListOutput {
    entries: Vec<EntrySummaryOutput>,
    servers: Vec<ServerOutput>,
    /// The problems with the catalogue's files.
    problems: Vec<String>,
}

/// A server of tools.
#[derive(Debug, Serialize, JsonSchema)]
struct ServerOutput {
    /// The name that configuration gives it.
    name: String,
    /// The files that configure it.
    configured: Vec<String>,
    /// The file that its tools were read from. Null without one.
    manifest: Option<String>,
}

/// A tool or a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EntrySummaryOutput {
    #[serde(flatten)]
    identity: EntryIdentity,
    #[serde(flatten)]
    words: EntryWords,
    origin: EntryOriginOutput,
    /// The tokens of its definition, by the vocabulary `o200k`.
    tokens: usize,
    /// The findings about it.
    findings: Vec<ConcernOutput>,
}

/// The approved or open definition of a tool or skill.
#[derive(Debug, Serialize, JsonSchema)]
struct EntryIdentity {
    /// Its name in the catalogue.
    name: String,
    /// `tool` or `skill`.
    kind: &'static str,
    /// Its server. Null without one.
    server: Option<String>,
    /// `approved`, `changed` or `not approved`.
    state: &'static str,
    /// The hash of its definition.
    hash: String,
}

/// The words by which an entry is found.
#[derive(Debug, Serialize, JsonSchema)]
struct EntryWords {
    /// The modes that it is for.
    modes: Vec<&'static str>,
    tags: Vec<String>,
    /// Its name with its parameters.
    #[schemars(with = "String")]
    signature: Json,
}

/// The place of a definition.
#[derive(Debug, Serialize, JsonSchema)]
struct EntryOriginOutput {
    file: String,
    /// The line and column, or a JSON pointer. Empty for a whole file.
    place: String,
}

/// A finding about an entry.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConcernOutput {
    /// The entry's name.
    name: String,
    /// The kind of finding.
    kind: &'static str,
    /// The finding in words.
    text: String,
}

/// A tool or a skill with its author's texts.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryOutput {
    #[serde(flatten)]
    summary: EntrySummaryOutput,
    /// The name that its author gave it.
    #[schemars(with = "String")]
    own_name: Json,
    /// The author's description.
    #[schemars(with = "String")]
    description: Json,
    /// Tasks that it is for.
    #[schemars(with = "Vec<String>")]
    examples: Vec<Json>,
    /// The JSON Schema of its parameters. Null without one.
    parameters: Option<Json>,
}

/// The findings about a catalogue.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogueCheckOutput {
    pub(super) findings: Vec<ConcernOutput>,
    /// The problems with the catalogue's files.
    pub(super) problems: Vec<String>,
}

/// The changes since the catalogue was last read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogueRefreshOutput {
    /// The number of entries.
    entries: usize,
    /// The names of new entries.
    new: Vec<String>,
    /// The names of entries whose definition changed.
    changed: Vec<String>,
    /// The names of entries that are gone.
    gone: Vec<String>,
    /// The vectors for searching by meaning. Null if none could be made.
    vectors: Option<VectorCounts>,
    /// Why there are no vectors. Absent if there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
}

/// The number of vectors.
#[derive(Debug, Serialize, JsonSchema)]
struct VectorCounts {
    /// Texts that were embedded.
    made: usize,
    /// Texts whose vector was there.
    kept: usize,
    /// Texts that say nothing to the model.
    silent: usize,
    /// Vectors of texts that are gone.
    removed: usize,
}

impl CatalogueListOutput {
    pub(super) fn new(loaded: &LoadedCatalogue, entries: &[&Capability], findings: &[EntryConcern]) -> Self {
        let servers = loaded.servers.iter().map(|server| ServerOutput {
            name: server.name.as_str().to_owned(),
            configured: server.configured.clone(),
            manifest: server.manifest.clone(),
        });
        Self {
            entries: entries.iter().map(|entry| EntrySummaryOutput::new(entry, findings)).collect(),
            servers: servers.collect(),
            problems: loaded.catalogue.problems().iter().map(ToString::to_string).collect(),
        }
    }
}

impl EntrySummaryOutput {
    fn new(entry: &Capability, findings: &[EntryConcern]) -> Self {
        let definition = entry.definition();
        Self {
            identity: EntryIdentity {
                name: entry.name().as_str().to_owned(),
                kind: entry.kind().as_str(),
                server: entry.server().map(|server| server.as_str().to_owned()),
                state: approval_word(entry),
                hash: entry.hash().to_string(),
            },
            words: EntryWords {
                modes: definition.modes.iter().map(Mode::as_str).collect(),
                tags: names(&definition.tags),
                signature: show::exact_json(&signature(entry)),
            },
            origin: EntryOriginOutput { file: entry.origin().file.clone(), place: entry_place(entry) },
            tokens: definition_tokens(entry),
            findings: concerns_about(findings, entry).iter().map(ConcernOutput::new).collect(),
        }
    }
}

impl ConcernOutput {
    pub(super) fn new(finding: &EntryConcern) -> Self {
        Self {
            name: finding.name.as_str().to_owned(),
            kind: finding.kind.as_str(),
            text: finding.kind.in_words().to_string(),
        }
    }
}

impl EntryOutput {
    pub(super) fn new(entry: &Capability, findings: &[EntryConcern]) -> Self {
        let definition = entry.definition();
        Self {
            summary: EntrySummaryOutput::new(entry, findings),
            own_name: show::exact_json(entry.own_name()),
            description: show::exact_json(&definition.description),
            examples: definition.examples.iter().map(show::exact_json).collect(),
            parameters: entry.parameters_text().and_then(|text| serde_json::from_str(&exact_text(&text)).ok()),
        }
    }
}

impl CatalogueRefreshOutput {
    /// `vectors` is the reason if nothing could be embedded.
    pub(super) fn new(changes: &Changes, vectors: &Result<EmbeddingTally, String>, entries: usize) -> Self {
        let counts = |tally: &EmbeddingTally| VectorCounts {
            made: tally.made,
            kept: tally.kept,
            silent: tally.silent,
            removed: tally.removed,
        };
        Self {
            entries,
            new: names(&changes.new),
            changed: names(&changes.changed),
            gone: names(&changes.gone),
            vectors: vectors.as_ref().ok().map(counts),
            degraded: vectors.as_ref().err().cloned(),
        }
    }
}

fn names<'n>(names: impl IntoIterator<Item = &'n CatalogueName>) -> Vec<String> {
    names.into_iter().map(|name| name.as_str().to_owned()).collect()
}
