//! Lists a project's files that Proem would read as trusted, and their kinds.
//!
//! Invariants: no link is followed, and each file is read once; what is shown, hashed and trusted
//! are the same bytes.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use proem_agents::assemble::rule_names::{FOLDER_RULES, RULE_FILES, RULE_FOLDERS, is_rule_file};
use proem_agents::assemble::settings::BookOverrides;
use proem_guard::show;
use proem_runtime::catalogue;
use proem_runtime::files::{self, FileContent};
use proem_select::catalogue::skill;

use super::{MAX_FILE_BYTES, sha256_hex};
use crate::effects::policy::PROJECT_POLICY;
use crate::error::Error;
use crate::lisp::agent::{AGENTS, agent_files, is_agent_file, named_files, text_beneath};
use crate::message::Hint;
use crate::project::{BOOK, BOOK_FILE_ENDINGS, CONFIG, PROPOSED, plain_relative_path};
use crate::triage::charter::CHARTER;

/// The most files below the book's folder that are looked at.
const MAX_FILES: usize = 2000;
/// The most entries of folders among which rule files are looked for.
const MAX_ENTRIES: usize = 20_000;
/// The deepest folder that is looked at, below the book's or for rule files.
const MAX_DEPTH: usize = 6;

/// The power that trusting a file gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustUse {
    /// The project's configuration.
    Configuration,
    /// The permissions of agents.
    Policy,
    /// The people of a triaged project, and the actions that happen without asking.
    Charter,
    /// Rules for whoever works in the repository.
    RuleFile,
    /// A part of the book.
    Book,
    /// It replaces this part of the book.
    StandsIn(&'static str),
    /// Tools and skills of the project's own.
    Catalogue,
    /// A skill's instructions, which a coding agent would follow.
    Skill,
    /// An agent: what its programs may call.
    Agent,
    /// A program or a file of results that an agent names.
    OfAgent,
}

impl TrustUse {
    /// The power that trusting the file at `path` gives it, in words.
    #[must_use]
    pub fn meaning(&self, path: &str) -> String {
        let name = path.rsplit('/').next().unwrap_or(path);
        match self {
            Self::Configuration => {
                "it may set caps, tools, skills, the model, and which files replace the constitution and rules".into()
            }
            Self::Policy => "it takes the place of your own policy, and decides what agents may do, and what of it \
                             without asking anybody"
                .into(),
            Self::RuleFile => "it will be read as rules, which models are told to follow".into(),
            Self::StandsIn(part) => {
                format!("it replaces the book's {part}, which models are told to follow in every task")
            }
            Self::Charter => "it decides who belongs to the project, and how much triage does without asking".into(),
            Self::Catalogue => {
                "its tools and skills, and what it says about others, are treated as written by you".into()
            }
            Self::Agent => {
                "its tools may be called: the commands, hosts and credentials that it names, without asking \
                            where it says so"
                    .into()
            }
            Self::OfAgent => "an agent's tool runs it or answers with it".into(),
            Self::Skill => "its description may appear in prompts, and models may be told to read the file".into(),
            Self::Book if name.starts_with('_') => "it becomes part of prompts that are sent to models".into(),
            Self::Book if name.ends_with(".prompt") => "it becomes a prompt that is sent to models".into(),
            Self::Book if name == "book.toml" => "it decides the version in use of each prompt".into(),
            Self::Book if name == "book.lock" => "it decides which versions of prompts are locked".into(),
            Self::Book => "it becomes part of the book, as a schema or cases of prompts".into(),
        }
    }
}

/// A file that Proem would read as trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustCandidate {
    /// Relative to the project's root, `/` between folders.
    pub path: String,
    /// The power that trusting it gives it.
    pub uses: Vec<TrustUse>,
    /// The file's content, as it would be trusted.
    pub text: String,
    /// SHA-256 of the text, hexadecimal.
    pub hash: String,
}

impl TrustCandidate {
    /// Whether each version of it takes a person at a terminal. A file that sets a level of autonomy does: an agent
    /// that can write files, and whose actions it decides about, could otherwise write the policy that it wants.
    #[must_use]
    pub fn takes_a_person(&self) -> bool {
        self.uses
            .iter()
            .any(|of| matches!(of, TrustUse::Policy | TrustUse::Charter | TrustUse::Agent | TrustUse::OfAgent))
    }
}

/// Something that can't be trusted as it is, and why, in our words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustablePath {
    /// Relative to the project's root.
    pub path: String,
    /// Why nobody can trust it.
    pub why: String,
}

/// The files of a project that Proem would read as trusted.
#[derive(Debug, Default)]
pub struct Candidates {
    /// Those that can be trusted, by path.
    pub files: Vec<TrustCandidate>,
    /// Those that can't.
    pub refused: Vec<UntrustablePath>,
}

impl Candidates {
    /// Reads them.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let mut found = Self::default();
        let mut uses: BTreeMap<String, Vec<TrustUse>> = BTreeMap::new();
        uses.insert(CONFIG.to_owned(), vec![TrustUse::Configuration]);
        uses.insert(PROJECT_POLICY.to_owned(), vec![TrustUse::Policy]);
        uses.insert(CHARTER.to_owned(), vec![TrustUse::Charter]);
        for name in RULE_FILES {
            uses.insert(name.to_owned(), vec![TrustUse::RuleFile]);
        }
        for path in rule_files_below(root) {
            uses.insert(path, vec![TrustUse::RuleFile]);
        }
        uses.insert(catalogue::OWN.to_owned(), vec![TrustUse::Catalogue]);
        for path in skill_files(root) {
            uses.insert(path, vec![TrustUse::Skill]);
        }
        for path in agent_files(root) {
            if let Some(text) = text_beneath(root, &path) {
                for named in named_files(&path, &text, root) {
                    uses.entry(named).or_default().push(TrustUse::OfAgent);
                }
            }
            uses.insert(path, vec![TrustUse::Agent]);
        }
        for path in found.book_files(root) {
            uses.entry(path).or_default().push(TrustUse::Book);
        }
        let config = found.add(root, CONFIG, uses.remove(CONFIG).unwrap_or_default());
        for (part, path) in config.map(|text| named_paths(&text)).unwrap_or_default() {
            match plain_relative_path(&path) {
                Some(path) => uses.entry(path).or_default().push(TrustUse::StandsIn(part)),
                None => {
                    found.refuse(
                        &path,
                        format!("`{CONFIG}` names it, but it is not a relative path inside the project"),
                    );
                }
            }
        }
        for (path, uses) in uses {
            found.add(root, &path, uses);
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        found.refused.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// The candidate with this path.
    ///
    /// # Errors
    ///
    /// Why it can't be trusted, with what can.
    pub fn get(&self, path: &str) -> Result<&TrustCandidate, Error> {
        if let Some(candidate) = self.files.iter().find(|candidate| candidate.path == path) {
            return Ok(candidate);
        }
        let shown = show::terminal_str(path);
        if let Some(refused) = self.refused.iter().find(|refused| refused.path == path) {
            return Err(Error::invalid(format!("`{shown}` can't be trusted: {}", refused.why)));
        }
        let has_place = [CONFIG, PROJECT_POLICY, CHARTER, catalogue::OWN].contains(&path)
            || is_rule_file(path)
            || is_skill_file(path)
            || is_agent_file(path);
        if is_book_file(path) || has_place {
            return Err(Error::invalid(format!("`{shown}` does not exist; check the path")));
        }
        Err(Error::invalid(format!("`{shown}` is not a file that needs trust; {}", self.known())))
    }

    /// The files that can be trusted, in words.
    #[must_use]
    pub fn known(&self) -> String {
        let names: Vec<&str> = self.files.iter().map(|candidate| candidate.path.as_str()).collect();
        let kinds = format!(
            "the files that can be trusted are {CONFIG}, {PROJECT_POLICY}, {CHARTER}, {}, {}, {} below {}, the agents below {AGENTS}/ with what they name, the files of {BOOK}/ and what {CONFIG} \
             names under [assemble.paths]",
            format_args!(
                "{}, {} in any folder, the files of {}",
                RULE_FILES.join(", "),
                FOLDER_RULES.join(" and "),
                RULE_FOLDERS.map(|(folder, _)| folder).join(" and ")
            ),
            catalogue::OWN,
            skill::FILE,
            skill::FOLDERS.join(" and ")
        );
        if names.is_empty() {
            return format!("{kinds}; there are none here");
        }
        format!("{kinds}; here: {}", shortened_name_list(&names))
    }

    fn refuse(&mut self, path: &str, why: impl Into<String>) {
        self.refused.push(UntrustablePath { path: path.to_owned(), why: why.into() });
    }

    /// Reads one file, if it is there. Its text.
    fn add(&mut self, root: &Path, path: &str, uses: Vec<TrustUse>) -> Option<String> {
        let bytes = match files::read_beneath(root, Path::new(path), MAX_FILE_BYTES) {
            Ok(None) => return None,
            Ok(Some(FileContent::Whole(bytes))) => bytes,
            Ok(Some(FileContent::Cut(_))) => {
                self.refuse(
                    path,
                    format!("it is larger than the {MAX_FILE_BYTES} bytes that can be reviewed; split it"),
                );
                return None;
            }
            Err(error) => {
                self.refuse(path, why_unread(&error, &root.join(path)));
                return None;
            }
        };
        let hash = sha256_hex(&bytes);
        let Ok(text) = String::from_utf8(bytes) else {
            self.refuse(path, "it is not UTF-8; save it as UTF-8");
            return None;
        };
        self.files.push(TrustCandidate { path: path.to_owned(), uses, text: text.clone(), hash });
        Some(text)
    }

    /// The paths of the book's files.
    fn book_files(&mut self, root: &Path) -> Vec<String> {
        for folder in [".proem", BOOK] {
            match root.join(folder).symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(metadata) if metadata.is_symlink() => {
                    self.refuse(
                        folder,
                        "it is a symbolic link, and links are not followed here; replace it with what it points to",
                    );
                    return Vec::new();
                }
                Ok(_) => {
                    self.refuse(folder, "it is not a folder; move it elsewhere");
                    return Vec::new();
                }
                Err(_) => return Vec::new(),
            }
        }
        let mut paths = Vec::new();
        self.book_folder(root, BOOK, 0, &mut paths);
        paths
    }

    fn book_folder(&mut self, root: &Path, folder: &str, depth: usize, paths: &mut Vec<String>) {
        let entries = match std::fs::read_dir(root.join(folder)) {
            Ok(entries) => entries,
            Err(error) => return self.refuse(folder, format!("it could not be read: {error}")),
        };
        for entry in entries.flatten() {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type();
            if depth == 0 && entry.file_name() == PROPOSED {
                continue;
            }
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                if depth < MAX_DEPTH {
                    self.book_folder(root, &path, depth.saturating_add(1), paths);
                } else {
                    self.refuse(&path, "it is nested too deeply; a book has only folders `agent/name`");
                }
            } else if entry.file_name().to_str().is_none() {
                self.refuse(&path, "its name is not UTF-8; rename it");
            } else if paths.len() >= MAX_FILES {
                return self.refuse(BOOK, format!("it has more than {MAX_FILES} files; the others are left out"));
            } else if is_book_file(&path) {
                paths.push(path);
            }
        }
    }
}

/// The rule files in folders below the root, and those of editors. Folders in which nobody writes are left out, and so
/// is what is deeper or behind more entries than a person would look through.
fn rule_files_below(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = VecDeque::from([(PathBuf::new(), 0usize)]);
    let mut seen = 0usize;
    while let Some((relative, depth)) = open.pop_front() {
        let entries = std::fs::read_dir(root.join(&relative)).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            seen = seen.saturating_add(1);
            let (Ok(kind), Some(name)) = (entry.file_type(), entry.file_name().to_str().map(str::to_owned)) else {
                continue;
            };
            let path = relative.join(&name);
            let holds_rules = RULE_FOLDERS.iter().any(|(folder, _)| Path::new(folder).starts_with(&path));
            let is_left = name.starts_with('.') || ["node_modules", "target", "vendor"].contains(&name.as_str());
            if kind.is_dir() && depth < MAX_DEPTH && (holds_rules || !is_left) {
                open.push_back((path, depth.saturating_add(1)));
            } else if kind.is_file()
                && let Some(path) = path.to_str().filter(|path| is_rule_file(path))
            {
                found.push(path.to_owned());
            }
        }
        if seen > MAX_ENTRIES {
            break;
        }
    }
    found
}

/// The paths of the project's skills. A link is left out: `catalogue list` says so.
fn skill_files(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    for folder in skill::FOLDERS {
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        let parent = Path::new(folder).parent().is_none_or(|parent| is_folder(&root.join(parent)));
        let Some(entries) =
            std::fs::read_dir(root.join(folder)).ok().filter(|_| parent && is_folder(&root.join(folder)))
        else {
            continue;
        };
        let names = entries.flatten().filter(|entry| is_folder(&entry.path()));
        let names = names.filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).take(MAX_FILES);
        paths.extend(names.map(|name| format!("{folder}/{name}/{}", skill::FILE)));
    }
    paths
}

fn is_skill_file(path: &str) -> bool {
    skill::FOLDERS.iter().any(|folder| path.starts_with(&format!("{folder}/"))) && path.ends_with(skill::FILE)
}

/// Whether the book reads a file with this path.
pub(crate) fn is_book_file(path: &str) -> bool {
    let Some(rest) = path.strip_prefix(BOOK).and_then(|rest| rest.strip_prefix('/')) else { return false };
    BOOK_FILE_ENDINGS.iter().any(|ending| rest.ends_with(ending))
}

/// Names, the first of them only if there are many.
#[must_use]
pub fn shortened_name_list(names: &[&str]) -> String {
    const MOST: usize = 12;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| show::terminal_str(name).into_string()).collect();
    let more = names.len().saturating_sub(MOST);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// The path, relative to `root`, of what `file` means to somebody in `folder`.
///
/// # Errors
///
/// If it is outside `root`, or its name is not UTF-8.
pub(crate) fn path_within_root(root: &Path, folder: &Path, file: &Path) -> Result<String, Error> {
    let shown = show::terminal_str(&file.display().to_string()).into_string();
    let absolute = without_dots(&folder.join(file));
    let relative = absolute.strip_prefix(root).map(Path::to_path_buf).ok().or_else(|| {
        // An absolute path may lead to the project through a link.
        let parent = std::fs::canonicalize(absolute.parent()?).ok()?;
        parent.join(absolute.file_name()?).strip_prefix(root).map(Path::to_path_buf).ok()
    });
    let Some(relative) = relative else {
        let root = show::terminal_str(&root.display().to_string()).into_string();
        return Err(Error::invalid(format!("`{shown}` is outside the project `{root}`; name a file inside"))
            .hinting(Hint::ChooseFolder));
    };
    let Some(text) = relative.to_str() else {
        return Err(Error::invalid(format!("the name `{shown}` is not UTF-8; rename it")));
    };
    Ok(text.to_owned())
}

fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = out.pop(),
            other => out.push(other),
        }
    }
    out
}

/// The files that replace parts of the book, as far as the configuration can be read.
fn named_paths(text: &str) -> Vec<(&'static str, String)> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let paths = table.get("assemble").and_then(|assemble| assemble.get("paths")).cloned();
    let paths: BookOverrides = paths.and_then(|paths| paths.try_into().ok()).unwrap_or_default();
    paths.named().into_iter().map(|(part, path)| (part, path.to_owned())).collect()
}

fn why_unread(error: &proem_runtime::Error, whole: &Path) -> String {
    match error {
        proem_runtime::Error::Link { path } if path == whole => {
            "it is a symbolic link, and links are not followed here; replace it with what it points to".into()
        }
        proem_runtime::Error::Link { .. } => {
            "a folder in its path is a symbolic link, and links are not followed here".into()
        }
        proem_runtime::Error::NotRegular { path, found, wanted } if path == whole => {
            format!("it is {found}, not {wanted}; move it elsewhere")
        }
        proem_runtime::Error::NotRegular { found, .. } => format!("a part of its path is {found}, not a folder"),
        proem_runtime::Error::Io { source, .. } => format!("it could not be read: {source}"),
        other => other.to_string(),
    }
}
