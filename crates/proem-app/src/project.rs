//! The project around a folder: its root, what this user trusts in it, its configuration and book.

mod restrictions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proem_agents::assemble::PROMPT;
use proem_agents::assemble::output::UntrustedFile;
use proem_agents::assemble::rule_names::{RULE_FILES, is_rule_file};
use proem_agents::book::embedded_book;
use proem_engine::prompt::book::experiment::VersionAssignment;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_guard::{InstallationKey, show};
use proem_runtime::files::{self, FileContent};
use proem_runtime::git::{
    GitAnswers, GitProgram, RepositoryKind, StateLimits, discover_repository_around, repository_state,
};
use proem_runtime::{Environment, TrustedFile, delimiting_key};

use self::restrictions::restrict;
use crate::config::effects::EffectsFile;
use crate::config::{CatalogueFiles, Config, RiskFile, TriageFile, store::StoreFile, telemetry::TelemetryFile};
use crate::error::Error;
use crate::message::{Hint, Note, NoteKind};
use crate::places::Places;
use crate::trust::{MAX_FILE_BYTES, RepositoryTrust, TrustStore, sha256_hex};

/// The project's own configuration.
pub const CONFIG: &str = "proem.toml";
/// The folder of what is Proem's in a project.
const OWN: &str = ".proem";
/// The project's book.
pub const BOOK: &str = ".proem/book";

/// The folder of a book's proposals, which are no part of it.
pub(crate) const PROPOSED: &str = "proposed";

/// How the files of a book end.
pub(crate) const BOOK_FILE_ENDINGS: [&str; 6] = [".prompt", ".json", ".yaml", ".csv", ".toml", ".lock"];
/// The most files of one book.
const MAX_BOOK_FILES: usize = 2000;
/// The deepest folder of one book.
const MAX_BOOK_DEPTH: usize = 6;

/// The files of a project's book that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookReading {
    /// Those that this user trusts: to run them.
    Trusted,
    /// All of them: to look at them.
    All,
}

/// Whether a repository was looked at for the first time.
#[derive(Debug, Default)]
pub struct FirstLook(AtomicBool);

impl FirstLook {
    /// It was.
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was.
    #[must_use]
    pub fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An opened project.
#[derive(Debug)]
pub struct OpenProject {
    /// The places of this user's files.
    pub places: Places,
    /// The root of its files. `None` in a bare repository.
    pub root: Option<PathBuf>,
    /// Its name in the trust store.
    pub key: String,
    /// Git's answers about the places of its files, which hold as long as the project does.
    pub answers: GitAnswers,
    /// Whether its repository was looked at for the first time, so that the rest of it is worth reading.
    pub first_look: FirstLook,
    /// The files in it that this user trusts.
    pub trust: RepositoryTrust,
    /// The user's configuration with the project's laid over or, untrusted, restricting it.
    pub config: Config,
    /// The places where the user's configuration looks for tools and skills, and the project's if it is trusted.
    pub catalogue: [CatalogueFiles; 2],
    /// The layers of the book, lowest first.
    pub layers: Vec<BookLayer>,
    /// The reason why the project's own book could not be read, if it exists.
    pub unread: Option<String>,
    /// Files that were not trusted, and what that changed.
    pub untrusted: Vec<UntrustedFile>,
    /// The caps that the project's configuration lowered although it is not trusted, in words.
    lowered: String,
    /// Notes for the user, one line each.
    pub notes: Vec<Note>,
    /// The prompt that is measured against.
    pub baseline: Option<String>,
    /// The versions that experiments chose for the subject at hand.
    pub assignments: Vec<VersionAssignment>,
}

/// The git of this machine, within the limits of the user's configuration.
///
/// # Errors
///
/// If there is no git that can be run safely, or the user's configuration is unreadable.
pub fn find_git(places: &Places) -> Result<GitProgram, Error> {
    let user = Config::of_user(&places.config_file())?;
    Ok(GitProgram::find(&Environment::inherited())?.within(user.git.limits()))
}

/// The configuration that counts in a folder; without git, the user's own. Notes about the project go to `said`. Git is
/// asked for the root only if the folder or one above it has a configuration.
///
/// # Errors
///
/// If the user's configuration, or that of a trusted project, can't be read.
pub fn settings_in(folder: &Path, places: &Places, said: &mut Vec<Note>) -> Result<Config, Error> {
    let has_own = |folder: PathBuf| folder.ancestors().any(|above| above.join(CONFIG).symlink_metadata().is_ok());
    let is_plain = std::fs::canonicalize(folder).is_ok_and(|folder| folder.is_dir() && !has_own(folder));
    if is_plain || GitProgram::find(&Environment::inherited()).is_err() {
        return Config::of_user(&places.config_file());
    }
    let project = OpenProject::without_book(folder, places)?;
    said.extend(project.all_notes());
    Ok(project.config)
}

/// Finds the root and the trust store's key of the project around `folder`.
///
/// # Errors
///
/// If it is another kind of file, or git can't be asked.
pub fn locate_project(folder: &Path, git: &GitProgram) -> Result<(Option<PathBuf>, String), Error> {
    let shown = show::terminal_str(&folder.display().to_string());
    let folder = std::fs::canonicalize(folder).map_err(|e| Error::invalid(format!("could not open `{shown}`: {e}")))?;
    if !folder.is_dir() {
        return Err(Error::invalid(format!("`{shown}` is not a folder")).hinting(Hint::NameFolder));
    }
    Ok(match discover_repository_around(git, &folder, git.limits().question)? {
        Some(repository) => {
            let key = repository.common_dir.to_string_lossy().into_owned();
            let root = match repository.place {
                RepositoryKind::WorkTree(root) => Some(root),
                RepositoryKind::Bare => None,
            };
            (root, key)
        }
        None => (Some(folder.clone()), folder.to_string_lossy().into_owned()),
    })
}

/// The commit that is checked out, if there is one.
///
/// # Errors
///
/// If git can't be asked.
pub fn head_commit(folder: &Path, git: &GitProgram) -> Result<Option<String>, Error> {
    let question = git.limits().question;
    let Some(repository) = discover_repository_around(git, folder, question)? else { return Ok(None) };
    let limits = StateLimits { head: question, changes: Duration::ZERO, bytes: 64 * 1024, paths: 0 };
    Ok(repository_state(git, &repository, &limits)?.git.commit)
}

/// A relative path with nothing but names in it, written the one way.
pub fn plain_relative_path(path: &str) -> Option<String> {
    let components = Path::new(path).components();
    let names: Option<Vec<&str>> = components
        .map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    names.filter(|names| !names.is_empty()).map(|names| names.join("/"))
}

/// Seconds since 1970.
pub fn unix_seconds() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    i64::try_from(elapsed).unwrap_or(i64::MAX)
}

impl OpenProject {
    /// Opens the project around `folder`.
    ///
    /// # Errors
    ///
    /// If the folder, its configuration, the trust store or a book can't be read.
    pub fn open(folder: &Path, places: &Places, reading: BookReading) -> Result<Self, Error> {
        let (mut project, own) = Self::configured_in(folder, places)?;
        if let Some(layer) = read_book(&places.book(), Origin::User)? {
            project.layers.push(layer);
        }
        project.read_own_book(reading);
        project.read_configured(&own, places)?;
        Ok(project)
    }

    /// The project around `folder` without any book but the embedded one: for what needs its configuration
    /// only.
    ///
    /// # Errors
    ///
    /// If the folder, its configuration or the trust store can't be read.
    pub fn without_book(folder: &Path, places: &Places) -> Result<Self, Error> {
        Ok(Self::configured_in(folder, places)?.0)
    }

    /// The project with its configuration, and what its own file says of that.
    fn configured_in(folder: &Path, places: &Places) -> Result<(Self, Config), Error> {
        let user = Config::of_user(&places.config_file())?;
        let answers = GitAnswers::default();
        let git = GitProgram::find(&Environment::inherited())?.within(user.git.limits());
        let (root, key) = locate_project(folder, &git.clone().remembering(&answers))?;
        let shown = root.as_deref().map(Path::to_string_lossy).unwrap_or_default();
        let store = TrustStore::new(places.state.clone());
        let trust = store.trust_of(&key, &shown, unix_seconds(), || head_commit(folder, &git))?;
        let mut project = Self {
            places: places.clone(),
            root,
            key,
            answers,
            first_look: FirstLook::default(),
            trust,
            config: Config::default(),
            catalogue: [user.catalogue.clone(), CatalogueFiles::default()],
            layers: vec![embedded_book()],
            unread: None,
            untrusted: Vec::new(),
            lowered: String::new(),
            notes: Vec::new(),
            baseline: None,
            assignments: Vec::new(),
        };
        let own = project.configure(user)?;
        project.catalogue[1] = own.catalogue.clone();
        Ok((project, own))
    }

    /// The book, all layers laid over each other, with the versions that experiments chose.
    ///
    /// # Errors
    ///
    /// Every problem of the books' files.
    pub fn book(&self) -> Result<Book, Error> {
        Ok(Book::new(self.layers.clone())?.with_assignments(self.assignments.clone()))
    }

    /// The book to look at, for which nobody has to trust anything: a project's book whose own files are unreadable
    /// stands aside with a note.
    ///
    /// # Errors
    ///
    /// Every problem of the files of the user's book.
    pub fn looked_at(&mut self) -> Result<Book, Error> {
        let broken = match Book::new(self.layers.clone()) {
            Ok(book) => return Ok(book),
            Err(broken) => broken,
        };
        let rest: Vec<BookLayer> =
            self.layers.iter().filter(|layer| layer.origin != Origin::Project).cloned().collect();
        let book = Book::new(rest)?;
        self.ignore_book(broken.to_string());
        Ok(book)
    }

    fn ignore_book(&mut self, why: String) {
        self.note_setting(format!("{BOOK} is ignored: {}", why.lines().next().unwrap_or_default()));
        self.unread = Some(why);
    }

    /// The files that gathering may take as rules.
    pub fn trusted_rules(&self) -> BTreeSet<TrustedFile> {
        let mut trusted: BTreeSet<TrustedFile> = self
            .trust
            .hashes()
            .filter(|(path, _)| is_rule_file(path))
            .map(|(path, hash)| TrustedFile { name: path.to_owned(), hash: hash.to_owned() })
            .collect();
        let edited = self.trust.editing().iter().map(|edited| edited.path.as_str()).filter(|path| is_rule_file(path));
        let known = RULE_FILES.into_iter().filter(|name| self.trust.while_editing(name));
        for name in edited.chain(known) {
            if let Ok(Some(bytes)) = self.read(name) {
                trusted.insert(TrustedFile { name: name.to_owned(), hash: sha256_hex(&bytes) });
            }
        }
        trusted
    }

    /// The files that `proem init` wrote here.
    pub fn set_up(&self) -> BTreeSet<TrustedFile> {
        let written = self.trust.written();
        written.map(|(path, hash)| TrustedFile { name: path.to_owned(), hash: hash.to_owned() }).collect()
    }

    /// The whole of one of the project's files. `None` if it isn't there.
    ///
    /// # Errors
    ///
    /// If it is there and can't be read, or is larger than what can be reviewed.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(root) = &self.root else { return Ok(None) };
        match files::read_beneath(root, Path::new(path), MAX_FILE_BYTES)? {
            Some(FileContent::Whole(bytes)) => Ok(Some(bytes)),
            Some(FileContent::Cut(_)) => Err(Error::invalid(format!(
                "`{}` is larger than the {MAX_FILE_BYTES} bytes that can be reviewed",
                show::terminal_str(path)
            ))),
            None => Ok(None),
        }
    }

    /// Lays the project's configuration over the user's; what the project's says, if it is trusted.
    fn configure(&mut self, user: Config) -> Result<Config, Error> {
        self.config = user;
        let bytes = match self.read(CONFIG) {
            Ok(None) => return Ok(Config::default()),
            Ok(Some(bytes)) => bytes,
            Err(failure) => {
                self.note_setting(format!("{CONFIG} is ignored: {failure}"));
                return Ok(Config::default());
            }
        };
        let trusted = self.trust.is_trusted(CONFIG, &sha256_hex(&bytes));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !trusted {
            let lowered = text.parse::<toml::Table>().ok().map(|table| restrict(&mut self.config, &table));
            let effect = match lowered {
                None => "it is not valid TOML; ignored".to_owned(),
                Some(lowered) if lowered.is_empty() => {
                    "only its lower limits could apply, and it has none; the rest is ignored".to_owned()
                }
                Some(lowered) => {
                    self.lowered = lowered.join(", ");
                    format!("{} applied; the rest is ignored", self.lowered)
                }
            };
            self.distrust(CONFIG, effect);
            return Ok(Config::default());
        }
        let own = Config::parse(CONFIG, &text)?;
        let users = self.config.clone();
        let keys = text.parse::<toml::Table>().unwrap_or_default();
        let base = toml::Table::try_from(&self.config).map_err(|e| Error::bug("could not write TOML", e))?;
        self.config = merge_tables(base, keys).try_into().map_err(|e| Error::invalid(format!("{CONFIG}: {e}")))?;
        let ignored = [
            ("records.days", own.records.days.is_some() && own.records.days != users.records.days),
            ("effects", own.effects != EffectsFile::default()),
            ("triage", own.triage != TriageFile::default()),
            ("mcp", !own.mcp.is_empty()),
            ("sources", !own.sources.is_empty()),
            ("store", own.store != StoreFile::default()),
            ("telemetry", own.telemetry != TelemetryFile::default()),
            ("webhooks", !own.webhooks.is_empty()),
            ("risk", own.risk != RiskFile::default()),
        ];
        for (key, _) in ignored.iter().filter(|(_, is_set)| *is_set) {
            self.note_setting(format!("{CONFIG}: `{key}` is ignored; only your own configuration decides it"));
        }
        self.config.keep_users_own(users);
        Ok(own)
    }

    /// Adds a file to those that were not trusted, with what that changed.
    pub fn distrust(&mut self, path: &str, effect: String) {
        self.untrusted.push(UntrustedFile { path: path.to_owned(), effect });
    }

    fn read_own_book(&mut self, reading: BookReading) {
        let Some(root) = self.root.clone() else { return };
        let folder = |path: &str| root.join(path).symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !folder(OWN) || !folder(BOOK) {
            return;
        }
        let mut layer = match read_book(&root.join(BOOK), Origin::Project) {
            Ok(Some(layer)) => layer,
            Ok(None) => return,
            // A repository's author can't prevent other prompts from being used.
            Err(failure) => {
                self.ignore_book(failure.to_string());
                return;
            }
        };
        let untrusted: Vec<String> = layer
            .files
            .iter()
            .filter(|(path, text)| {
                !self.trust.is_trusted(&format!("{BOOK}/{path}"), &sha256_hex(text.as_str().as_bytes()))
            })
            .map(|(path, _)| path.clone())
            .collect();
        for path in untrusted {
            match reading {
                BookReading::Trusted => {
                    layer.files.remove(&path);
                    self.distrust(&format!("{BOOK}/{path}"), "not a part of the book's layout".into());
                }
                BookReading::All => {
                    self.distrust(&format!("{BOOK}/{path}"), "listed, but not used for prompts".into());
                }
            }
        }
        if !layer.files.is_empty() {
            self.layers.push(layer);
        }
    }

    /// Reads the files that configuration names instead of parts of the book.
    ///
    /// A path starts where the file is that names it: `own` is what the project's says.
    fn read_configured(&mut self, own: &Config, places: &Places) -> Result<(), Error> {
        let mut layer_files = BTreeMap::new();
        let own_names: BTreeSet<&str> = own.assemble.paths.named().into_iter().map(|(name, _)| name).collect();
        for (name, path) in self.config.assemble.paths.clone().named() {
            let named_by = if own_names.contains(name) { FileOwner::Project } else { FileOwner::User };
            let wrong =
                |failure: Error| Error::invalid(format!("assemble.paths.{}: {failure}", name.replace('-', "_")));
            match self.configured(path, named_by, places).map_err(wrong)? {
                Some(text) => {
                    layer_files.insert(format!("{PROMPT}/_{name}.prompt"), PartialText::Literal(text));
                }
                None => {
                    let shown = show::terminal_str(path);
                    let words = format!("`{shown}` is missing or not trusted; the book's own text is used for {name}");
                    self.notes.push(Note::new(NoteKind::Trust, words));
                }
            }
        }
        if !layer_files.is_empty() {
            self.layers.push(BookLayer { origin: Origin::Configured, files: layer_files });
        }
        let Some(path) = self.config.baseline.clone() else { return Ok(()) };
        let folder = match (&own.baseline, &self.root) {
            (Some(_), Some(root)) => root,
            _ => &places.config,
        };
        match files::read_beneath(folder, Path::new(&path), MAX_FILE_BYTES) {
            Ok(Some(FileContent::Whole(bytes))) => self.baseline = Some(String::from_utf8_lossy(&bytes).into_owned()),
            Ok(_) => {
                let shown = show::terminal_str(&path);
                self.note_setting(format!(
                    "the baseline `{shown}` is missing or too large; token savings are not computed"
                ));
            }
            Err(error) => return Err(Error::invalid(format!("baseline: {error}"))),
        }
        Ok(())
    }

    /// The text of a file that configuration names. `None` if it is missing, too large or not trusted.
    fn configured(&mut self, path: &str, named_by: FileOwner, places: &Places) -> Result<Option<String>, Error> {
        let folder = match (named_by, &self.root) {
            (FileOwner::Project, Some(root)) => root,
            _ => &places.config,
        };
        let Some(FileContent::Whole(bytes)) = files::read_beneath(folder, Path::new(path), MAX_FILE_BYTES)? else {
            return Ok(None);
        };
        // A path may be spelled in several ways. Trust is kept under the plain one.
        let plain = plain_relative_path(path).unwrap_or_else(|| path.to_owned());
        if named_by == FileOwner::Project && !self.trust.is_trusted(&plain, &sha256_hex(&bytes)) {
            self.distrust(path, "the book's own text is used instead".into());
            return Ok(None);
        }
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| Error::invalid(format!("`{}` is not UTF-8; save it as UTF-8", show::terminal_str(path))))
    }

    fn note_setting(&mut self, words: String) {
        self.notes.push(Note::new(NoteKind::Configuration, words));
    }

    /// The key that delimits text from outside in a prompt. If none can be kept, one for this once, with a note about that:
    /// a prompt can be made all the same.
    ///
    /// # Errors
    ///
    /// If the key that is there is unusable, or the system gives no random bytes.
    pub(crate) fn delimiting_key(&self, notes: &mut Vec<Note>) -> Result<InstallationKey, Error> {
        let (key, unkept) = delimiting_key(&self.places.key())?;
        notes.extend(unkept.map(|why| {
            let words = "the delimiters around text from outside are for this once, and other ones the next time";
            Note::new(NoteKind::Configuration, format!("{words}: {why}"))
        }));
        Ok(key)
    }

    /// The project's notes, and one about what was not trusted.
    #[must_use]
    pub fn all_notes(&self) -> Vec<Note> {
        let mut notes = self.notes.clone();
        let name = |file: &UntrustedFile| {
            let name = show::terminal_str(&file.path).into_string();
            if file.path == CONFIG && !self.lowered.is_empty() {
                format!("{name} (applied: {})", self.lowered)
            } else {
                name
            }
        };
        let names: Vec<String> = self.untrusted.iter().map(name).collect();
        if !names.is_empty() {
            let more = names.len().saturating_sub(3);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names: Vec<String> = names.into_iter().take(3).collect();
            let words = format!("not trusted: {}{more}", names.join(", "));
            notes.push(Note::hinting(NoteKind::Trust, words, Hint::ReviewTrust));
        }
        notes
    }
}

/// The owner of the configuration that names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileOwner {
    User,
    Project,
}

/// `over` laid over `base`, table by table.
fn merge_tables(mut base: toml::Table, over: toml::Table) -> toml::Table {
    for (key, value) in over {
        let merged = match (base.remove(&key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(over)) => toml::Value::Table(merge_tables(base, over)),
            (_, value) => value,
        };
        base.insert(key, merged);
    }
    base
}

/// Reads a folder as a book layer. `None` if there is no such folder.
///
/// # Errors
///
/// If a file of it can't be read, or there are too many.
pub fn read_book(folder: &Path, origin: Origin) -> Result<Option<BookLayer>, Error> {
    if !folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(None);
    }
    let mut layer = BookLayer { origin, files: BTreeMap::new() };
    read_folder(folder, Path::new(""), 0, &mut layer)?;
    Ok(Some(layer))
}

fn read_folder(book: &Path, below: &Path, depth: usize, layer: &mut BookLayer) -> Result<(), Error> {
    let folder = book.join(below);
    let shown = || show::terminal_str(&folder.display().to_string()).into_string();
    let entries =
        std::fs::read_dir(&folder).map_err(|e| Error::outside(format!("could not read `{}`: {e}", shown())))?;
    for entry in entries {
        let entry = entry.map_err(|e| Error::outside(format!("could not read `{}`: {e}", shown())))?;
        let (Ok(kind), Some(name)) = (entry.file_type(), entry.file_name().to_str().map(str::to_owned)) else {
            continue;
        };
        let path = below.join(&name);
        if path == Path::new(PROPOSED) {
            continue;
        }
        if kind.is_dir() && depth < MAX_BOOK_DEPTH {
            read_folder(book, &path, depth.saturating_add(1), layer)?;
            continue;
        }
        let known = BOOK_FILE_ENDINGS.iter().any(|ending| name.ends_with(ending));
        if !kind.is_file() || !known {
            continue;
        }
        if layer.files.len() >= MAX_BOOK_FILES {
            return Err(Error::invalid(format!("`{}` has more than {MAX_BOOK_FILES} files", shown())));
        }
        let shown = show::terminal_str(&path.display().to_string()).into_string();
        let text = match files::read_beneath(book, &path, MAX_FILE_BYTES)? {
            Some(FileContent::Whole(bytes)) => String::from_utf8(bytes)
                .map_err(|_| Error::invalid(format!("`{shown}` is not UTF-8; save it as UTF-8")))?,
            Some(FileContent::Cut(_)) => {
                return Err(Error::invalid(format!("`{shown}` is larger than {MAX_FILE_BYTES} bytes")));
            }
            None => continue,
        };
        let key = path.iter().filter_map(|part| part.to_str()).collect::<Vec<_>>().join("/");
        layer.files.insert(key, PartialText::Template(text));
    }
    Ok(())
}
