//! The book: prompts as versioned files, laid over each other file by file.
//!
//! A layer is a set of files by path, `agent/name/version.prompt` with its partials (`_partial.prompt`) and schemas
//! beside it, `book.toml` and `book.lock` at its root. Upper layers replace single files of lower ones. A partial may
//! have a file for a version and later ones, `_partial@1.6.0.prompt`. Older versions keep the file that they were
//! written with. A version's *closure* is its file with all partials and schemas it uses. Its hash is what `book.lock`
//! holds and what every run records.

pub mod experiment;
mod lock;
mod loose;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::experiment::{ExperimentDeclaration, VersionAssignment};
use self::lock::BookLock;
pub use self::lock::pinned_files;
pub use self::loose::{LoosePrompt, loose_prompt};
use super::compiled_prompt::Prompt;
use super::file::{MAX_FILE_BYTES, PartialText, PromptFile};
use super::header::is_version;
use super::origin::Origin;
use super::walk::partial_names;
use super::yaml::{YamlNode, YamlValue};
use crate::assembly::PromptId;
use crate::error::{Error, ErrorKind};

/// How many digits of the closure's hash an unlocked version carries.
const SHORT_HASH: usize = 12;

/// One layer of a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookLayer {
    /// The author.
    pub origin: Origin,
    /// Its files by path, `/` between folders.
    pub files: BTreeMap<String, PartialText>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BookManifest {
    #[serde(default)]
    current: BTreeMap<String, String>,
    #[serde(default)]
    approval: ApprovalRule,
    #[serde(default)]
    experiments: BTreeMap<String, ExperimentDeclaration>,
}

/// A book's rule for approving proposals.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalRule {
    /// How many persons a change takes, its proposer included.
    persons: Option<u8>,
}

/// Layers laid over each other.
#[derive(Debug)]
pub struct Book {
    layers: Vec<BookLayer>,
    manifests: Vec<BookManifest>,
    locks: Vec<BookLock>,
    /// The versions that experiments chose, by prompt.
    assigned: BTreeMap<String, VersionAssignment>,
}

/// Whether a version's closure is what its lock says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LockState {
    /// It is.
    Locked,
    /// No lock names this version with these overrides: it is being written.
    Unlocked,
    /// A file of it was changed after the file's layer had locked it.
    Edited,
}

proem_text::word_table! {
    /// The word used in listings.
    pub LockState {
        Locked = "locked",
        Unlocked = "unlocked",
        Edited = "edited",
    }
}

/// One version of one prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptVersion {
    /// `agent/name`.
    pub prompt: String,
    /// Three numbers.
    pub version: String,
    /// Whether it is the one that is used.
    pub current: bool,
    /// Whether it is what its lock says.
    pub state: LockState,
    /// The closure's hash.
    pub closure: String,
    /// The files of its closure and who wrote each.
    pub files: Vec<(String, Origin)>,
}

/// A closure: file, partials and schemas, with the hash over all of them.
#[derive(Debug, Clone)]
pub(crate) struct Closure {
    pub(crate) hash: String,
    pub(crate) files: Vec<(String, Origin)>,
    pub(crate) partials: BTreeMap<String, PartialText>,
    /// The schemas that the file names and that aren't there: the key and the name.
    pub(crate) missing_schemas: Vec<(&'static str, String)>,
    top: usize,
}

impl Book {
    /// Lays layers over each other, lowest first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if a `book.toml` or `book.lock` can't be read.
    pub fn new(layers: Vec<BookLayer>) -> Result<Self, Error> {
        let manifests = layers.iter().map(|layer| toml_file(layer, "book.toml")).collect::<Result<_, _>>()?;
        let locks = layers.iter().map(|layer| toml_file(layer, "book.lock")).collect::<Result<_, _>>()?;
        Ok(Self { layers, manifests, locks, assigned: BTreeMap::new() })
    }

    /// The layers, lowest first.
    #[must_use]
    pub fn layers(&self) -> &[BookLayer] {
        &self.layers
    }

    /// The uppermost file of this path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<(&PartialText, Origin)> {
        self.found(path).map(|(_, text, origin)| (text, origin))
    }

    fn found(&self, path: &str) -> Option<(usize, &PartialText, Origin)> {
        let mut layers = self.layers.iter().enumerate().rev();
        layers.find_map(|(index, layer)| layer.files.get(path).map(|text| (index, text, layer.origin)))
    }

    /// The file of a partial for a version: of the uppermost layer that has one, the newest that is not for later versions.
    fn partial(&self, prompt: &str, name: &str, version: &str) -> Option<(String, (usize, &PartialText, Origin))> {
        let plain = format!("{prompt}/_{name}.prompt");
        let start = format!("{prompt}/_{name}@");
        let since = |path: &str| {
            let since = path.strip_prefix(&start)?.strip_suffix(".prompt").filter(|since| is_version(since))?;
            Some(version_numbers(since))
        };
        self.layers.iter().enumerate().rev().find_map(|(index, layer)| {
            let of_versions = layer.files.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
            let of_versions = of_versions.filter_map(|(path, text)| Some((since(path)?, path, text)));
            let newest = of_versions
                .filter(|(since, ..)| *since <= version_numbers(version))
                .max_by_key(|(since, ..)| since.clone());
            let file = newest.map(|(_, path, text)| (path, text)).or_else(|| layer.files.get_key_value(&plain));
            file.map(|(path, text)| (path.clone(), (index, text, layer.origin)))
        })
    }

    /// The names of all prompts, `agent/name`.
    #[must_use]
    pub fn prompts(&self) -> BTreeSet<String> {
        self.version_paths().into_iter().map(|(prompt, _)| prompt).collect()
    }

    fn version_paths(&self) -> BTreeSet<(String, String)> {
        let paths = self.layers.iter().flat_map(|layer| layer.files.keys());
        paths
            .filter_map(|path| {
                let (prompt, file) = path.rsplit_once('/')?;
                let version = file.strip_suffix(".prompt").filter(|version| is_version(version))?;
                (prompt.split('/').count() == 2).then(|| (prompt.to_owned(), version.to_owned()))
            })
            .collect()
    }

    /// All versions of all prompts. The newest of each prompt last.
    ///
    /// # Errors
    ///
    /// As [`Book::current`].
    pub fn versions(&self) -> Result<Vec<PromptVersion>, Error> {
        let mut versions = Vec::new();
        for (prompt, version) in self.version_paths() {
            let closure = self.closure(&prompt, &version)?;
            versions.push(PromptVersion {
                current: self.current(&prompt)? == version,
                state: self.state(&prompt, &version, &closure),
                closure: closure.hash,
                files: closure.files,
                prompt,
                version,
            });
        }
        versions.sort_by(|a, b| {
            a.prompt.cmp(&b.prompt).then(version_numbers(&a.version).cmp(&version_numbers(&b.version)))
        });
        Ok(versions)
    }

    /// The version that is used: the one that the uppermost `book.toml` names, else the newest.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] with the names there are.
    pub fn current(&self, prompt: &str) -> Result<String, Error> {
        if let Some(version) = self.manifests.iter().rev().find_map(|manifest| manifest.current.get(prompt)) {
            return Ok(version.clone());
        }
        let versions = self.version_paths().into_iter().filter(|(name, _)| name == prompt).map(|(_, version)| version);
        versions.max_by_key(|version| version_numbers(version)).ok_or_else(|| {
            let known: Vec<String> = self.prompts().into_iter().collect();
            Error::new(ErrorKind::NotFound, format!("no prompt `{prompt}`; the book has {}", known.join(", ")))
        })
    }

    /// How many persons a proposal takes, its proposer included: the most that any layer asks for.
    #[must_use]
    pub fn approving_persons(&self) -> u8 {
        self.manifests.iter().filter_map(|manifest| manifest.approval.persons).max().unwrap_or(1)
    }

    /// Reads one version, or the current one, with all it uses, to make requests with it.
    /// Reads one version, or without its name the one that an experiment assigned, or else the current one, with all it
    /// uses, to make requests with it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] with what there is, [`ErrorKind::InvalidFile`] with all problems, or
    /// [`ErrorKind::Edited`] if the version is locked and not what was locked.
    pub fn prompt(&self, prompt: &str, version: Option<&str>) -> Result<Prompt, Error> {
        let version = match version {
            Some(version) => version.to_owned(),
            None => match self.assigned.get(prompt) {
                Some(assigned) => assigned.version.clone(),
                None => self.current(prompt)?,
            },
        };
        let closure = self.closure(prompt, &version)?;
        match self.edited(prompt, &version, &closure) {
            Some(problem) => Err(Error::new(ErrorKind::Edited, problem)),
            None => {
                let is_locked = self.state(prompt, &version, &closure) == LockState::Locked;
                let read = self.of_closure(prompt, &version, closure);
                read.map_err(|error| if is_locked { self.in_locked(prompt, &version, &error) } else { error })
            }
        }
    }

    /// Reads one version with all it uses as it is, locked or not: to list and check it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] with what there is, or [`ErrorKind::InvalidFile`] with all problems.
    pub fn as_it_is(&self, prompt: &str, version: &str) -> Result<Prompt, Error> {
        self.of_closure(prompt, version, self.closure(prompt, version)?)
    }

    fn of_closure(&self, prompt: &str, version: &str, closure: Closure) -> Result<Prompt, Error> {
        let path = format!("{prompt}/{version}.prompt");
        let Some((text, _)) = self.file(&path) else { return Err(self.no_version(prompt, version)) };
        let file = PromptFile::parse(&path, text.as_str(), &closure.partials)?;
        let state = self.state(prompt, version, &closure);
        let (agent, name) = prompt.split_once('/').unwrap_or((prompt, ""));
        let short: String = closure.hash.chars().take(SHORT_HASH).collect();
        let recorded = if state == LockState::Locked { version.to_owned() } else { format!("{version}+{short}") };
        let id = PromptId {
            agent: agent.to_owned(),
            name: name.to_owned(),
            version: recorded,
            closure: closure.hash.clone(),
        };
        let named = file.strict.output_schema.iter().chain(&file.strict.tools);
        let text = |name: &String| {
            let (text, _) = self.file(&format!("{prompt}/{name}"))?;
            Some((name.clone(), text.as_str().to_owned()))
        };
        let schemas = named.filter_map(text).collect();
        Prompt::new(id, file, closure.files, schemas)
    }

    fn no_version(&self, prompt: &str, version: &str) -> Error {
        let mut known: Vec<String> =
            self.version_paths().into_iter().filter(|(name, _)| name == prompt).map(|(_, version)| version).collect();
        known.sort_by_key(|version| version_numbers(version));
        let problem = if known.is_empty() {
            let known: Vec<String> = self.prompts().into_iter().collect();
            format!("no prompt `{prompt}`; the book has {}", known.join(", "))
        } else {
            format!("`{prompt}` has no version `{version}`; there are {}", known.join(", "))
        };
        Error::new(ErrorKind::NotFound, problem)
    }

    /// The files that a version uses, and the hash over them.
    pub(crate) fn closure(&self, prompt: &str, version: &str) -> Result<Closure, Error> {
        let path = format!("{prompt}/{version}.prompt");
        let Some((top, text, origin)) = self.found(&path) else { return Err(self.no_version(prompt, version)) };
        let mut closure = Closure {
            hash: String::new(),
            files: vec![(path, origin)],
            partials: BTreeMap::new(),
            missing_schemas: Vec::new(),
            top,
        };
        let mut seen = BTreeSet::new();
        let mut wanted = names_in(super::file::split_front_matter(text.as_str()).body);
        while let Some(name) = wanted.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            // Reading the prompt says which partials are missing, with their place.
            if let Some((path, (layer, text, origin))) = self.partial(prompt, &name, version) {
                if let PartialText::Template(text) = text {
                    wanted.extend(names_in(text));
                }
                closure.top = closure.top.max(layer);
                closure.files.push((path, origin));
                closure.partials.insert(name, text.clone());
            }
        }
        for (key, schema) in named_schemas(text.as_str()) {
            let path = format!("{prompt}/{schema}");
            match self.found(&path) {
                Some((layer, _, origin)) => {
                    closure.top = closure.top.max(layer);
                    closure.files.push((path, origin));
                }
                None => closure.missing_schemas.push((key, schema)),
            }
        }
        closure.files.sort();
        closure.files.dedup();
        closure.hash = self.hash(&closure.files);
        Ok(closure)
    }

    /// SHA-256 over each file's path, length and bytes, in the order of the paths.
    fn hash(&self, files: &[(String, Origin)]) -> String {
        let mut hasher = Sha256::new();
        for (path, _) in files {
            let text = self.file(path).map_or("", |(text, _)| text.as_str());
            hasher.update(format!("{path}\0{}\0", text.len()).as_bytes());
            hasher.update(text.as_bytes());
        }
        proem_text::hex::encode_hex(hasher.finalize())
    }
}

fn toml_file<T: Default + for<'d> Deserialize<'d>>(layer: &BookLayer, path: &str) -> Result<T, Error> {
    let Some(text) = layer.files.get(path) else { return Ok(T::default()) };
    toml::from_str(text.as_str()).map_err(|e| {
        // The excerpt is below its first line.
        let excerpt = e.to_string().trim_end().replace('\n', "\n  ");
        Error::new(ErrorKind::InvalidFile, format!("{} book, {path}: {excerpt}", layer.origin.as_str()))
    })
}

fn names_in(template: &str) -> Vec<String> {
    if template.len() > MAX_FILE_BYTES {
        return Vec::new();
    }
    super::template::parse_template(template).map(|template| partial_names(&template)).unwrap_or_default()
}

/// The schema files that a prompt file names, each with the key that names it.
fn named_schemas(text: &str) -> Vec<(&'static str, String)> {
    let Some((start, front)) = super::file::split_front_matter(text).front.filter(|_| text.len() <= MAX_FILE_BYTES)
    else {
        return Vec::new();
    };
    let Ok(Some(root)) = super::yaml::parse_yaml(front, start) else { return Vec::new() };
    let Some(proem) = root.get("proem") else { return Vec::new() };
    let named = |key: &'static str, node: &YamlNode| Some((key, node.as_str()?.to_owned()));
    let value = proem.get("output_schema").and_then(|node| named("output_schema", node));
    let tools = match proem.get("tools").map(|node| &node.data) {
        Some(YamlValue::List(items)) => items.iter().filter_map(|item| named("tools", item)).collect(),
        _ => Vec::new(),
    };
    value.into_iter().chain(tools).collect()
}

fn version_numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}
