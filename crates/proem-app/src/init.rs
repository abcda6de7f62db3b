//! Writes what a project lacks.
//!
//! Invariants: existing files stay as they are and links are not followed. Everything that could be in the way is
//! looked at before the first file is written; what was written is trusted, and what was there already is not.

pub mod import;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proem_guard::show;
use proem_runtime::files::{self, FileAccess, FileContent};
use proem_runtime::git::GitProgram;

use self::import::{PromptImport, import_prompt};
use crate::config::document::{self, KeyValues};
use crate::error::Error;
use crate::message::{Hint, Message};
use crate::places::Places;
use crate::project::{BOOK, CONFIG, find_git, head_commit, locate_project, unix_seconds};
use crate::trust::candidates::{Candidates, TrustCandidate};
use crate::trust::{MAX_FILE_BYTES, TrustStore};

const QUESTION: &str = include_str!("init/question.prompt");
const QUESTION_PATH: &str = "project/question/1.0.0.prompt";
const MANIFEST: &str = "\
# The version of each prompt that is used; without an entry, the newest.
[current]
\"project/question\" = \"1.0.0\"
";
const PRIVATE: &str = include_str!("init/private.md");

/// A file that may be written.
#[derive(Debug)]
pub struct PlannedFile {
    /// Its path, relative to the project's root.
    pub path: String,
    /// Its purpose.
    pub why: Message,
    /// Whether it is among what is read as trusted.
    pub read_as_trusted: bool,
    text: String,
    access: FileAccess,
}

impl PlannedFile {
    pub(crate) fn trusted(path: impl Into<String>, text: impl Into<String>, why: impl Into<Message>) -> Self {
        Self { read_as_trusted: true, ..Self::plain(path, text, why) }
    }

    pub(crate) fn plain(path: impl Into<String>, text: impl Into<String>, why: impl Into<Message>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            why: why.into(),
            access: FileAccess::Shared,
            read_as_trusted: false,
        }
    }

    fn private(path: &str, text: &str, why: &'static str) -> Self {
        Self { access: FileAccess::Private, ..Self::plain(path, text, why) }
    }
}

/// The outcome for the files.
#[derive(Debug, Default)]
pub struct InitOutcome {
    /// Those that were written.
    pub written: Vec<PlannedFile>,
    /// Those that were there.
    pub kept: Vec<PlannedFile>,
    /// Those of `kept` that hold something else.
    pub other: BTreeSet<String>,
}

/// A project that was set up.
#[derive(Debug)]
pub struct Initialisation {
    /// The folder that became a project.
    pub root: PathBuf,
    /// The outcome for the files.
    pub outcome: InitOutcome,
    /// The existing prompt that was split, with the paths of its parts.
    pub import: Option<(PromptImport, BTreeSet<String>)>,
    /// The values for its configuration.
    values: KeyValues,
    store: TrustStore,
    git: GitProgram,
    key: String,
}

/// Sets up the project around `folder`, and splits the prompt at `from` into its parts.
///
/// # Errors
///
/// If there is no place for files, if something is in the way, or if a file can't be written.
pub fn init(folder: &Path, from: Option<&Path>, places: &Places) -> Result<Initialisation, Error> {
    let git = find_git(places)?;
    let (root, key) = locate_project(folder, &git)?;
    let shown = show::terminal_str(&folder.display().to_string()).into_string();
    let Some(root) = root else {
        let problem =
            format!("`{shown}` is in a bare repository, which has no work tree; run this in a clone that has one");
        return Err(Error::invalid(problem));
    };
    // The store is opened first: if it is unreadable, nothing should have been written.
    let store = TrustStore::new(places.state.clone());
    store.check()?;
    let mut import = from.map(import_prompt).transpose()?;
    let values = import.as_ref().map(|import| import.values.clone()).unwrap_or_default();
    let why = Message { text: "the most common settings".to_owned(), hint: Some(Hint::SeeEveryKey) };
    let mut planned = vec![PlannedFile::trusted(CONFIG, document::new_config_text(&values), why)];
    planned.extend(book_files(&root)?);
    let mut parts = BTreeSet::new();
    if let Some(import) = &mut import {
        let files = std::mem::take(&mut import.planned);
        parts.extend(files.iter().map(|file| file.path.clone()));
        planned.extend(files);
    }
    planned.push(PlannedFile::private(".proem/private/.gitignore", "*\n", "keeps the folder out of the repository"));
    planned.push(PlannedFile::private(
        ".proem/private/README.md",
        PRIVATE,
        "the files allowed next to it, and its readers",
    ));
    let outcome = write_missing_files(&root, planned)?;
    let trusted = outcome.written.iter().filter(|file| file.read_as_trusted);
    let trusted: Vec<(String, Vec<u8>)> =
        trusted.map(|file| (file.path.clone(), file.text.clone().into_bytes())).collect();
    if !trusted.is_empty() {
        store.trust(&key, &trusted).map_err(|e| {
            Error::outside(format!("the files were written but are not trusted yet: {e}")).hinting(Hint::TrustFiles)
        })?;
    }
    let written: Vec<(&str, &[u8])> =
        outcome.written.iter().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
    if !written.is_empty() {
        store.wrote(&key, &written)?;
    }
    let import = import.map(|import| (import, parts));
    Ok(Initialisation { root, outcome, import, values, store, git, key })
}

impl Initialisation {
    /// Those values that the project's configuration was to have, and doesn't, since it was there already.
    #[must_use]
    pub fn unset(&self) -> KeyValues {
        if self.outcome.kept.iter().any(|file| file.path == CONFIG) {
            unset(&self.root, &self.values)
        } else {
            KeyValues::new()
        }
    }

    /// The files that are not trusted yet.
    ///
    /// # Errors
    ///
    /// If the trust store can't be read.
    pub fn untrusted(&self) -> Result<Vec<String>, Error> {
        let Self { root, store, git, key, .. } = self;
        let trust = store.trust_of(key, &root.to_string_lossy(), unix_seconds(), || head_commit(root, git))?;
        let open = Candidates::read(root).files.into_iter();
        let open = open.filter(|candidate| !trust.is_trusted(&candidate.path, &candidate.hash));
        Ok(open.map(|candidate| candidate.path).collect())
    }
}

/// The files of a book with one example, as far as the project has none of its own.
fn book_files(root: &Path) -> Result<Vec<PlannedFile>, Error> {
    let found = Candidates::read(root);
    let own = |candidate: &&TrustCandidate| {
        candidate.path.starts_with(&format!("{BOOK}/")) && candidate.path.ends_with(".prompt")
    };
    let example = format!("{BOOK}/{QUESTION_PATH}");
    let others = found.files.iter().filter(own).any(|file| file.path != example || file.text != QUESTION);
    if others || found.refused.iter().any(|refused| refused.path.starts_with(BOOK)) {
        // An example would be in the way of a book that is in use.
        return Ok(Vec::new());
    }
    let files: BTreeMap<String, String> = [("book.toml", MANIFEST), (QUESTION_PATH, QUESTION)]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into();
    let why = |path: &str| match path {
        "book.toml" => "the version in use of each prompt",
        _ => "an example of a prompt, to change or delete",
    };
    Ok(files.into_iter().map(|(path, text)| PlannedFile::trusted(format!("{BOOK}/{path}"), text, why(&path))).collect())
}

/// Writes what is missing, after looking at what is there.
fn write_missing_files(root: &Path, planned: Vec<PlannedFile>) -> Result<InitOutcome, Error> {
    let mut outcome = InitOutcome::default();
    let mut missing = Vec::new();
    for file in planned {
        match files::read_beneath(root, Path::new(&file.path), MAX_FILE_BYTES) {
            Ok(None) => missing.push(file),
            Ok(Some(content)) => {
                if !matches!(content, FileContent::Whole(bytes) if bytes == file.text.as_bytes()) {
                    outcome.other.insert(file.path.clone());
                }
                outcome.kept.push(file);
            }
            Err(error @ (proem_runtime::Error::Link { .. } | proem_runtime::Error::NotRegular { .. })) => {
                return Err(Error::invalid(format!("{error}; nothing was written")));
            }
            Err(error) => return Err(Error::outside(format!("{error}; nothing was written"))),
        }
    }
    for file in missing {
        match files::write_new(root, Path::new(&file.path), file.text.as_bytes(), file.access) {
            Ok(()) => outcome.written.push(file),
            // Somebody else was faster.
            Err(proem_runtime::Error::Exists { .. }) => outcome.kept.push(file),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(outcome)
}

/// Those values that the project's configuration doesn't have.
fn unset(root: &Path, values: &KeyValues) -> KeyValues {
    let found = Candidates::read(root);
    let text = found.files.iter().find(|candidate| candidate.path == CONFIG).map_or("", |candidate| &candidate.text);
    let table: toml::Table = text.parse().unwrap_or_default();
    let set = |name: &str| {
        let mut keys = name.split('.');
        let first = table.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key)).map(ToString::to_string)
    };
    values
        .iter()
        .filter(|(name, value)| set(name).as_ref() != Some(value))
        .map(|(name, value)| (*name, value.clone()))
        .collect()
}
