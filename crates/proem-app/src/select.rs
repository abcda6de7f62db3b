//! The likeliest tools and skills of a catalogue, for one task or for many.

pub mod lines;

use std::collections::BTreeSet;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use proem_embed::StaticModel;
use proem_guard::show;
use proem_select::catalogue::{
    Approvals, Capability, Catalogue, CatalogueContents, MAX_FILE_BYTES, Sha256Hash, SourceFile, SourceTrust,
    parse_lines, tools_list,
};
use proem_select::embedding::Embedder as _;
use proem_select::select::{CatalogueIndex, Query, Ranking, Selector, TaskEmbedding, UsageHistory};
use serde_json::Value;

use self::lines::{QueryLine, QueryLines, RankedQuery};
use crate::catalogue::{embedded_manifest, open_with_catalogue};
use crate::config::Config;
use crate::embedding::{EmbeddingModel, EmbeddingSetup};
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::places::Places;
use crate::words::group_thousands;

/// How many problems of one file are told as notes.
const MAX_NOTES: usize = 5;

/// The origin of a catalogue, which decides the names of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogueFrom {
    /// A file that the user named: entries have the names in it, and nobody was asked about them.
    File,
    /// The project: names are unique, and some definitions are approved.
    Project,
}

/// The entries to rank, and the means.
#[derive(Debug, Clone)]
pub struct SelectOptions {
    /// JSON lines, or a saved answer to `tools/list`, instead of the project's catalogue.
    pub catalogue: Option<PathBuf>,
    /// The folder whose project's catalogue is meant.
    pub root: PathBuf,
    /// The usage of earlier tasks.
    pub usage: Option<PathBuf>,
    /// Why only shared words are to count, in the caller's words. `None` where meaning counts too.
    pub words_only: Option<String>,
}

/// All that ranking needs.
#[derive(Debug)]
pub struct Ranker {
    catalogue: Catalogue,
    from: CatalogueFrom,
    selector: Selector,
    index: CatalogueIndex,
    embedder: Option<EmbeddingModel>,
    /// Why there is no embedder.
    degraded: Option<String>,
    notes: Vec<Note>,
}

/// A ranking with the query that it is for.
#[derive(Debug)]
pub struct QueryRanking {
    /// The words that were ranked by, with their vectors.
    pub query: Query,
    /// All entries, the likeliest first.
    pub ranking: Ranking,
}

impl Ranker {
    /// Reads the catalogue and makes it ready. Notes about the project go to `said`, also on failure.
    ///
    /// # Errors
    ///
    /// If the catalogue, the usage or the configuration can't be read.
    pub fn new(options: &SelectOptions, places: &Places, said: &mut Vec<Note>) -> Result<Self, Error> {
        let by_meaning = options.words_only.is_none();
        let (catalogue, from, project, mut notes, configured) = match &options.catalogue {
            Some(path) => {
                let (catalogue, notes) = from_file(path)?;
                // No project is looked at, so the user's own configuration counts.
                let configured = by_meaning.then(|| configured_embedding(places)).transpose()?;
                (
                    catalogue,
                    CatalogueFrom::File,
                    None,
                    notes.into_iter().map(|words| Note::new(NoteKind::Catalogue, words)).collect(),
                    configured,
                )
            }
            None => {
                let (project, loaded) = open_with_catalogue(&options.root, places, said)?;
                let configured = by_meaning.then(|| EmbeddingSetup::new(&project.config, places)).transpose()?;
                (loaded.catalogue, CatalogueFrom::Project, Some(project), loaded.notes, configured)
            }
        };
        let (embedder, selector, mut degraded) = match configured.map(EmbeddingSetup::calibrated) {
            None => (None, Selector::shipped()?, options.words_only.clone()),
            Some((model, selector, own)) => {
                notes.extend(own.into_iter().map(|words| Note::new(NoteKind::Catalogue, words)));
                match model {
                    Ok(model) => (Some(model), selector, None),
                    Err(why) => (
                        None,
                        selector,
                        Some(format!("no embedding model is available, so ranking is by shared words ({why})")),
                    ),
                }
            }
        };
        if catalogue.entries().is_empty() {
            notes.push(Note::new(NoteKind::Catalogue, "the catalogue is empty"));
        }
        let mut usage = Selector::shipped_usage()?;
        if let Some(path) = &options.usage {
            // A server isn't asked line by line: its weights count words of earlier requests only.
            let embedder = embedder.as_ref().and_then(EmbeddingModel::built_in);
            let added = add_usage(&mut usage, path, &selector, embedder, &catalogue)?;
            notes.extend(added.into_iter().map(|words| Note::new(NoteKind::Catalogue, words)));
        }
        let mut index = CatalogueIndex::new(catalogue.entries(), &usage, &selector);
        let embedder = embedder.filter(|embedder| {
            let manifest = project
                .as_ref()
                .map(|project| embedded_manifest(project, &catalogue, embedder, &mut notes))
                .transpose();
            let embedded = manifest.and_then(|manifest| {
                let vectors = manifest.as_ref().and_then(|manifest| manifest.vectors(embedder.model()));
                index.embed(catalogue.entries(), embedder, vectors)
            });
            match embedded {
                Ok(()) => true,
                Err(error) => {
                    degraded = Some(format!("ranked by shared words: {error}"));
                    false
                }
            }
        });
        Ok(Self { catalogue, from, selector, index, embedder, degraded, notes })
    }

    /// Notes for the user, one line each.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The ranked entries.
    #[must_use]
    pub fn entries(&self) -> &[Capability] {
        self.catalogue.entries()
    }

    /// The origin of the catalogue.
    #[must_use]
    pub const fn from(&self) -> CatalogueFrom {
        self.from
    }

    /// The ranking part, without the catalogue's files.
    #[must_use]
    pub const fn selector(&self) -> &Selector {
        &self.selector
    }

    /// The words of what is ranked.
    #[must_use]
    pub const fn index(&self) -> &CatalogueIndex {
        &self.index
    }

    /// Ranks all entries. If the model fails, words decide alone.
    ///
    /// # Errors
    ///
    /// Never, but for a bug.
    pub fn rank(&self, task: &str) -> Result<QueryRanking, Error> {
        let query = self.selector.query(task);
        let mut degraded = self.degraded.clone();
        if let Some(embedder) = &self.embedder {
            let ranked = self.selector.embed(&query, embedder).and_then(|vectors| {
                let meant = TaskEmbedding { model: embedder.model(), vectors: &vectors, pieces: embedder.pieces() };
                self.selector.rank(self.entries(), &self.index, &query, Some(&meant))
            });
            match ranked {
                Ok(ranking) => return Ok(QueryRanking { query, ranking }),
                Err(error) => degraded = Some(format!("ranked by shared words: {error}")),
            }
        }
        let mut ranking = self.selector.rank(self.entries(), &self.index, &query, None)?;
        ranking.degraded = degraded.or(ranking.degraded);
        Ok(QueryRanking { query, ranking })
    }
}

/// The user's configured model, for any project.
fn configured_embedding(places: &Places) -> Result<EmbeddingSetup, Error> {
    EmbeddingSetup::new(&Config::of_user(&places.config_file())?, places)
}

/// Reads a catalogue of the user's choice. Broken entries are notes, a file of nothing else an error.
fn from_file(path: &Path) -> Result<(Catalogue, Vec<String>), Error> {
    let (name, mut bytes) = (lines::lines_path(path), Vec::new());
    let most = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
    lines::open_named_file(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Error::invalid(format!("could not read {name}: {error}")))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(Error::invalid(format!(
            "{name} has more than {} bytes; split it",
            group_thousands(MAX_FILE_BYTES)
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::invalid(format!("{name} is not UTF-8 from byte {at} on; save it as UTF-8"))
    })?;
    let blank = text.trim().is_empty();
    let catalogue = Catalogue::new(parse_catalogue(path, text), &Approvals::default());
    let problems = catalogue.problems();
    if catalogue.entries().is_empty() && !blank && !problems.is_empty() {
        return Err(Error::invalid(
            problem_summary(problems.iter().map(ToString::to_string), problems.len()).join("\n"),
        ));
    }
    let notes = problem_summary(problems.iter().map(ToString::to_string), problems.len());
    Ok((catalogue, notes))
}

/// A saved answer to `tools/list` if it looks like one, else JSON lines.
fn parse_catalogue(path: &Path, text: String) -> CatalogueContents {
    let shown = show::terminal_str(&path.display().to_string()).into_string();
    if !is_tools_list(&text) {
        return parse_lines(&shown, &text);
    }
    let server = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    tools_list::parse_tools_list(&SourceFile { path: shown, standing: SourceTrust::Outside, text }, &server)
}

/// Whether it is one list, or one object that holds one. A line of a catalogue has a `name`.
fn is_tools_list(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('[') {
        return true;
    }
    let first = text.strip_prefix('{').map(str::trim_start).unwrap_or_default();
    if ["\"tools\"", "\"jsonrpc\"", "\"result\""].iter().any(|key| first.starts_with(key)) {
        return true;
    }
    // Stops at the second line of a catalogue.
    serde_json::from_str::<Value>(text).is_ok_and(|value| {
        value.get("name").is_none() && (value.get("tools").is_some() || value.get("result").is_some())
    })
}

/// Adds what earlier requests used. Says what is wrong with the file.
fn add_usage(
    usage: &mut UsageHistory,
    path: &Path,
    selector: &Selector,
    embedder: Option<&StaticModel<'_>>,
    catalogue: &Catalogue,
) -> Result<Vec<String>, Error> {
    let name = lines::lines_path(path);
    let known: BTreeSet<Sha256Hash> = catalogue.entries().iter().flat_map(usage_hashes).collect();
    let mut lines = QueryLines::new(BufReader::new(lines::open_named_file(path)?));
    let (mut problems, mut wrong, mut unknown) = (Vec::new(), 0_usize, 0_usize);
    loop {
        let next = lines.next_line().map_err(|error| Error::outside(format!("could not read {name}: {error}")))?;
        let Some((number, line)) = next else { break };
        let asked = match line {
            QueryLine::Blank => continue,
            QueryLine::Text(text) => RankedQuery::parse(&text),
            QueryLine::Unreadable(why) => Err(why),
        };
        let asked = match asked {
            Ok(asked) => asked,
            Err(why) => {
                wrong = wrong.saturating_add(1);
                if problems.len() < MAX_NOTES {
                    problems.push(format!("{name}, line {number}: {why}"));
                }
                continue;
            }
        };
        let query = selector.query(&asked.query);
        let texts = query.texts();
        let vector = match (embedder, texts.first()) {
            (Some(embedder), Some(text)) => embedder.embed(&[text])?.into_iter().next().flatten(),
            _ => None,
        };
        for tool in &asked.tools {
            unknown = unknown.saturating_add(usize::from(!known.contains(&Sha256Hash::of(tool.as_bytes()))));
            usage.add_request(tool, &query, vector.as_ref());
        }
    }
    let mut notes = problem_summary(problems.into_iter(), wrong);
    if unknown > 0 {
        notes.push(format!("{name} names tools that are not in the catalogue ({} ×)", group_thousands(unknown)));
    }
    Ok(notes)
}

/// The names that usage may have for an entry.
fn usage_hashes(capability: &Capability) -> [Sha256Hash; 2] {
    let own = show::exact_json(capability.own_name());
    [Sha256Hash::of(capability.name().as_str().as_bytes()), Sha256Hash::of(own.as_str().unwrap_or_default().as_bytes())]
}

/// The first problems, and how many more there are.
fn problem_summary(problems: impl Iterator<Item = String>, all: usize) -> Vec<String> {
    let mut notes: Vec<String> = problems.take(MAX_NOTES).collect();
    let more = all.saturating_sub(notes.len());
    if more > 0 {
        notes.push(format!("and {} more problems of this kind", group_thousands(more)));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_answer_is_told_from_lines() {
        for (text, expected) in [
            ("", false),
            ("\u{feff}\n [", true),
            ("{\"tools\": [", true),
            ("{\n  \"jsonrpc\": \"2.0\"", true),
            ("{\"id\": 1, \"result\": {\"tools\": []}}", true),
            ("{\"nextCursor\": null,\n \"tools\": []}", true),
            ("{\"name\": \"a\"}", false),
            ("{\"name\": \"a\", \"tools\": 1}", false),
            ("{\"id\": 1, \"name\": \"a\"}\n{\"id\": 2, \"name\": \"b\"}", false),
            ("{\"query\": \"a\", \"tools\": []}\n{\"query\": \"b\", \"tools\": []}", false),
            ("name: a", false),
        ] {
            assert_eq!(is_tools_list(text), expected, "{text}");
        }
    }
}
