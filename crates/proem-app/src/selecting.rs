//! The inputs of selection for one assembly: the catalogue, the task's vector, those of memories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proem_agents::assemble::memory::EntryMeaning;
use proem_agents::assemble::place_facts::PlaceFacts;
use proem_agents::assemble::selecting::SelectionTask;
use proem_agents::assemble::{Task, leaves_mode_open, mode_examples};
use proem_guard::{Untrusted, show};
use proem_runtime::files::{self, FileAccess, FileContent};
use proem_runtime::task_vectors::TaskVectors;
use proem_select::catalogue::manifest::MAX_MANIFEST_BYTES;
use proem_select::catalogue::{Catalogue, EmbeddingScope, Manifest, Sha256Hash, text_hash, vectorise_texts};
use proem_select::embedding::{Embedder, Vector};
use proem_select::mode::{Hints, ModeExamples};
use proem_select::select::{CatalogueIndex, Query, Selector, TaskEmbedding, UsageHistory};
use proem_text::Label;

use crate::catalogue::{embedded_manifest, load_catalogue};
use crate::embedding::{EmbeddingModel, EmbeddingSetup};
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::places::Places;
use crate::project::OpenProject;

/// The tasks' vectors, below the cache folder.
const TASKS: &str = "task-vectors.json";
/// The vectors of the modes' examples, below the cache folder.
const MODES: &str = "entries/modes.json";

/// Everything that selection needs, held for one assembly.
#[derive(Debug)]
pub struct SelectionInputs {
    catalogue: Catalogue,
    index: CatalogueIndex,
    selector: Selector,
    query: Query,
    /// The model. `None` if it could not be used.
    embedder: Option<EmbeddingModel>,
    task: Vec<Option<Vector>>,
    entries: BTreeMap<Sha256Hash, Option<Vector>>,
    examples: Option<ModeExamples>,
    /// Whether meaning is to choose the mode.
    mode_is_open: bool,
    /// Calls of the model for this assembly: of the built-in one for the task, of another one all
    /// requests.
    pub calls: usize,
    /// Why something is done with less than it needs.
    pub degraded: Vec<String>,
    /// For the user, one line each.
    pub notes: Vec<Note>,
}

impl SelectionInputs {
    /// Reads the catalogue and embeds what is new. Nothing that goes wrong with the model fails the
    /// assembly: words decide then, and the reason is kept.
    ///
    /// # Errors
    ///
    /// If the catalogue's approvals or the shipped data can't be read.
    pub fn new(project: &OpenProject, task: &Task, hints: &Hints, gathered: &PlaceFacts) -> Result<Self, Error> {
        let loaded = load_catalogue(project)?;
        let (model, selector, notes) = EmbeddingSetup::new(&project.config, &project.places)?.calibrated();
        let text = match task {
            Task::Caller(text) => text.trim().to_owned(),
            Task::Outside(text) => show::exact_json(text).as_str().unwrap_or_default().trim().to_owned(),
        };
        let catalogue = loaded.catalogue;
        let usage = if catalogue.entries().is_empty() { UsageHistory::default() } else { Selector::shipped_usage()? };
        let index = CatalogueIndex::new(catalogue.entries(), &usage, &selector);
        let query = selector.query(&text);
        let mut prepared = Self {
            catalogue,
            index,
            selector,
            query,
            embedder: None,
            task: Vec::new(),
            entries: BTreeMap::new(),
            examples: None,
            mode_is_open: leaves_mode_open(task, hints)?,
            calls: 0,
            degraded: Vec::new(),
            notes: loaded
                .notes
                .into_iter()
                .chain(notes.into_iter().map(|words| Note::new(NoteKind::Catalogue, words)))
                .collect(),
        };
        let embedded = model.and_then(|model| {
            let embedded = prepared.embed(project, &text, gathered, &model);
            prepared.calls = model.requests().unwrap_or(prepared.calls);
            embedded.map(|()| model)
        });
        match embedded {
            Ok(model) => prepared.embedder = Some(model),
            Err(reason) => {
                prepared
                    .degraded
                    .push(format!("no embedding model: tools and skills are selected by shared words ({reason})"));
            }
        }
        Ok(prepared)
    }

    fn embed(
        &mut self,
        project: &OpenProject,
        text: &str,
        gathered: &PlaceFacts,
        model: &EmbeddingModel,
    ) -> Result<(), String> {
        let (mut tasks, note) = TaskVectors::open(project.places.cache.join(TASKS));
        self.notes.extend(note.map(|words| Note::new(NoteKind::Catalogue, words)));
        self.embed_catalogue(project, model)?;
        let (task, calls) = tasks.embed_task(model, &self.query.texts(), text).map_err(|error| error.to_string())?;
        (self.task, self.calls) = (task, calls);
        if let Err(error) = tasks.save() {
            self.notes.push(Note::new(NoteKind::Catalogue, format!("the task's vector could not be stored: {error}")));
        }
        self.embed_entries(project, gathered, model)?;
        if self.mode_is_open && project.config.assemble.semantic_mode {
            self.examples = Some(self.embed_examples(&project.places, model)?);
        }
        Ok(())
    }

    /// Takes the stored vectors, and makes those that are missing.
    fn embed_catalogue(&mut self, project: &OpenProject, model: &EmbeddingModel) -> Result<(), String> {
        let manifest = embedded_manifest(project, &self.catalogue, model, &mut self.notes);
        let manifest = manifest.map_err(|error| error.to_string())?;
        let vectors = manifest.vectors(model.model());
        self.index.embed(self.catalogue.entries(), model, vectors).map_err(|error| error.to_string())
    }

    /// Memories and events keep their vectors. Those that are new are embedded once.
    fn embed_entries(
        &mut self,
        project: &OpenProject,
        gathered: &PlaceFacts,
        embedder: &dyn Embedder,
    ) -> Result<(), String> {
        let texts = || gathered.memories.iter().chain(&gathered.activity).map(|entry| entry.text.clone());
        if texts().next().is_none() {
            return Ok(());
        }
        let vectors = self.kept(&project.places, &entries_file(project), texts(), embedder)?;
        self.entries = vectors;
        Ok(())
    }

    /// The examples of the modes. Those that a server embedded are kept.
    fn embed_examples(&mut self, places: &Places, model: &EmbeddingModel) -> Result<ModeExamples, String> {
        let sentences = mode_examples().map_err(|error| error.to_string())?;
        let vectors = if let Some(model) = model.built_in() {
            let texts: Vec<&str> = sentences.iter().map(|(_, text)| text.as_str()).collect();
            model.embed(&texts).map_err(|error| error.to_string())?
        } else {
            let text = |(_, text): &(_, String)| Untrusted::new(text.clone(), Label::trusted());
            let texts: Vec<Untrusted<String>> = sentences.iter().map(text).collect();
            let kept = self.kept(places, Path::new(MODES), texts.iter().cloned(), model)?;
            texts.iter().map(|text| kept.get(&text_hash(text)).cloned().flatten()).collect()
        };
        let mut examples = ModeExamples::default();
        for ((mode, _), vector) in sentences.iter().zip(vectors) {
            vector.into_iter().for_each(|vector| examples.add(*mode, vector));
        }
        Ok(examples)
    }

    /// The vectors of texts, of which those that are new are made and kept at `path` below the cache.
    fn kept(
        &mut self,
        places: &Places,
        path: &Path,
        texts: impl Iterator<Item = Untrusted<String>>,
        embedder: &dyn Embedder,
    ) -> Result<BTreeMap<Sha256Hash, Option<Vector>>, String> {
        let mut stored = read_entries(&places.cache, path);
        let done = vectorise_texts(&mut stored, texts, embedder, EmbeddingScope::Missing, &mut |_, _| {});
        let done = done.map_err(|error| error.to_string())?;
        if done.made > 0 || done.removed > 0 {
            let kept = std::fs::create_dir_all(&places.cache).map_err(|error| error.to_string()).and_then(|()| {
                files::replace_file(&places.cache, path, stored.write().as_bytes(), FileAccess::Private)
                    .map_err(|error| error.to_string())
            });
            if let Err(error) = kept {
                self.notes.push(Note::new(NoteKind::Catalogue, format!("vectors could not be stored: {error}")));
            }
        }
        let mut vectors = BTreeMap::new();
        for (hash, vector) in stored.vectors(embedder.model()).into_iter().flatten() {
            let vector = vector.as_ref().map(|vector| Vector::new(embedder.model(), vector.coordinates()));
            vectors.insert(*hash, vector.transpose().map_err(|error| error.to_string())?);
        }
        Ok(vectors)
    }

    /// All tools, skills and agents that there are to choose from.
    pub const fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The tools and skills to select from. `None` without a catalogue.
    pub fn selecting(&self) -> Option<SelectionTask<'_>> {
        let meant = self.embedder.as_ref().map(|embedder| TaskEmbedding {
            model: embedder.model(),
            vectors: &self.task,
            pieces: embedder.pieces(),
        });
        (!self.catalogue.entries().is_empty()).then_some(SelectionTask {
            catalogue: &self.catalogue,
            index: &self.index,
            selector: &self.selector,
            query: &self.query,
            meant,
        })
    }

    /// The model's view of memories and events.
    pub fn entries(&self) -> Option<EntryMeaning<'_>> {
        let embedder = self.embedder.as_ref()?;
        let related = *self.selector.calibrations().related.get(embedder.model().as_str())?;
        let task = self.task.first().and_then(Option::as_ref);
        Some(EntryMeaning { task, vectors: &self.entries, related })
    }

    /// The examples of each mode, if meaning may choose it.
    pub const fn mode_examples(&self) -> Option<&ModeExamples> {
        self.examples.as_ref()
    }
}

/// Below the cache folder. One for each project's root.
fn entries_file(project: &OpenProject) -> PathBuf {
    let root = project.root.as_deref().unwrap_or_else(|| Path::new(&project.key));
    PathBuf::from("entries").join(format!("{}.json", Sha256Hash::of(root.as_os_str().as_encoded_bytes()).short(32)))
}

/// The stored vectors. Nothing if they are unreadable, because they can be rebuilt.
fn read_entries(cache: &Path, path: &Path) -> Manifest {
    match files::read_beneath(cache, path, MAX_MANIFEST_BYTES) {
        Ok(Some(FileContent::Whole(bytes))) => Manifest::read(&String::from_utf8_lossy(&bytes)).unwrap_or_default(),
        _ => Manifest::default(),
    }
}
