//! A folder: what git tracks of it, or what a change adds to that, file by file, and what was not looked at.
//!
//! Files that a project keeps are ordinary ones. Their names are foreign text. Files that decide about a change, such
//! as `.proemignore`, are read as the base of the change has them.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Date;
use proem_guard::{FindingKind, show};
use proem_runtime::change::{AddedLines, Spec, read_added_lines, resolve_change};
use proem_runtime::context::{IGNORE_FILE, IgnorePatterns};
use proem_runtime::files::{FileContent, read_beneath};
use proem_runtime::folder::{
    EntryKind, FolderEntry, FolderListing, ListingOrigin, list_everything_below, list_files_below,
};
use proem_runtime::git::{GitProgram, Repository, RepositoryKind, committed_file, discover_repository_around};
use proem_runtime::readers::{
    Document, DocumentGap, DocumentOptions, FileSurroundings, GapReason, UnreadTail, extract,
};
use proem_runtime::{Environment, map_on_all};
use proem_text::Source;

use super::ScanOptions;
use super::acceptances::{ACCEPTED_BYTES, ACCEPTED_FILE, AcceptedFindings};
use super::agent_files::{is_agent_text, is_read_by_agents};
use super::agent_folder::{AgentFileText, AgentFolder};
use super::examine::{FileScan, LineScope, scan_document};
use crate::error::Error;
use crate::guarding::GuardSetup;
use crate::message::{Note, NoteKind};
use crate::words::{count_with_noun, group_thousands};

/// The endings of files that hold other files.
const ARCHIVES: [&str; 16] =
    ["7z", "bz2", "crate", "deb", "gem", "gz", "jar", "nupkg", "rar", "rpm", "tar", "tgz", "whl", "xz", "zip", "zst"];

/// Why a path of a folder was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It holds no text.
    Binary,
    /// It is larger than what is read.
    TooLarge,
    /// It is a symbolic link.
    Link,
    /// It is another repository.
    Submodule,
    /// It is a pipe, a socket or a device.
    Special,
    /// It is tracked and not in the work tree.
    Missing,
    /// It is an archive, which is not opened.
    Archive,
    /// The project's `.proemignore` names it.
    Ignored,
}

proem_text::word_table! {
    /// The word used in JSON.
    pub SkipReason {
        // In the order in which reports name them.
        Archive = "archive",
        Binary = "binary",
        TooLarge = "too-large",
        Link = "link",
        Submodule = "submodule",
        Special = "special",
        Missing = "missing",
        Ignored = "ignored",
    }
}

impl SkipReason {
    /// How many there are, in words. `most` is how large a file may be, in bytes.
    #[must_use]
    pub fn counted(self, count: usize, most: usize) -> String {
        let number = group_thousands(count);
        let counted = |noun| count_with_noun(count as u64, noun);
        match self {
            Self::Binary => format!("{number} binary"),
            Self::TooLarge => format!("{number} larger than {} bytes", group_thousands(most)),
            Self::Link => counted("link"),
            Self::Submodule => counted("submodule"),
            Self::Special => counted("special file"),
            Self::Missing => format!("{number} missing from the work tree"),
            Self::Archive => counted("archive"),
            Self::Ignored => format!("{number} that {IGNORE_FILE} names (--all scans them)"),
        }
    }
}

/// The result for one path.
#[derive(Debug)]
pub enum FolderScanEvent {
    /// It was looked at.
    File(FileScan),
    /// It was not, for a reason.
    LeftOut(SkipReason),
    /// It could not be read, and why.
    Unreadable(String),
}

/// The reading of one path.
enum PathReading {
    At(Document),
    LeftOut(SkipReason),
    Unreadable(String),
}

/// The files of a folder to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSelection {
    /// Those that git tracks, except those that `.proemignore` names.
    Tracked,
    /// All files on the disk.
    Everything,
    /// Of those that git tracks, the lines that they have and the common ancestor with this revision lacks.
    AddedSince(String),
}

/// The part of the selection that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderScope {
    /// All of them.
    AllFiles,
    /// Those that a coding agent loads or runs, with what they would make it do.
    AgentFiles,
}

/// A folder whose files are looked at one by one.
#[derive(Debug)]
pub struct Folder<'f> {
    path: &'f Path,
    listing: FolderListing,
    /// The folder's path from the root of its work tree, or from itself.
    prefix: PathBuf,
    ignored: IgnorePatterns,
    change: Option<FolderChange>,
    agents: Option<AgentFolder>,
}

/// The additions of a change.
#[derive(Debug)]
struct FolderChange {
    added: AddedLines,
    base: String,
}

/// The repository around a folder.
struct FolderRepository {
    git: GitProgram,
    repository: Repository,
    root: PathBuf,
    prefix: PathBuf,
}

impl FolderRepository {
    /// Finds it. `None` outside a work tree, or without git.
    fn around(environment: &Environment, folder: &Path) -> Result<Option<Self>, Error> {
        let Ok(git) = GitProgram::find(environment) else { return Ok(None) };
        let Some(repository) = discover_repository_around(&git, folder, GIT_TIME)? else { return Ok(None) };
        let RepositoryKind::WorkTree(root) = &repository.place else { return Ok(None) };
        let root = root.clone();
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let prefix = whole.strip_prefix(&root).map(Path::to_path_buf).unwrap_or_default();
        Ok(Some(Self { git, repository, root, prefix }))
    }

    /// A file of the root as `commit` has it.
    fn committed(&self, commit: &str, path: &str, cap: usize) -> Result<Option<Vec<u8>>, Error> {
        Ok(committed_file(&self.git, &self.root, commit, path, cap)?)
    }

    /// The change since a revision. `None` before the first commit, when every line is new.
    fn change_since(&self, base: &str) -> Result<Option<FolderChange>, Error> {
        let range = Spec::Range(base.to_owned(), "HEAD".to_owned());
        let resolved = match resolve_change(&self.git, &self.repository, &range, 0) {
            Err(proem_runtime::Error::NoCommits) => return Ok(None),
            resolved => resolved?,
        };
        let base = resolved.base.ok_or_else(|| Error::bug("a range", "it has no base"))?;
        let added = read_added_lines(&self.git, &self.repository, &base, DIFF_TIME)?;
        Ok(Some(FolderChange { added, base: base.to_string() }))
    }
}

/// How long git may take to find a repository.
const GIT_TIME: Duration = Duration::from_secs(30);

/// How long git may take to compare a work tree with a commit.
const DIFF_TIME: Duration = Duration::from_mins(2);

/// The most of a file of patterns that is read, in bytes.
const IGNORE_BYTES: usize = 64 * 1024;

/// How many files are looked at before their results are handed over.
const BATCH: usize = 128;

impl<'f> Folder<'f> {
    /// Lists it.
    ///
    /// # Errors
    ///
    /// If it can't be listed, or there is no such revision.
    pub fn list(path: &'f Path, selection: &FileSelection, scope: FolderScope) -> Result<Self, Error> {
        let environment = Environment::inherited();
        let mut listing = match selection {
            FileSelection::Everything => list_everything_below(path)?,
            FileSelection::Tracked | FileSelection::AddedSince(_) => list_files_below(&environment, path)?,
        };
        let around = FolderRepository::around(&environment, path)?;
        let change = match (selection, &around) {
            (FileSelection::AddedSince(base), Some(around)) => around.change_since(base)?,
            (FileSelection::AddedSince(_), None) => {
                let shown = show::terminal_str(&path.to_string_lossy()).into_string();
                return Err(Error::invalid(format!(
                    "`{shown}` is in no git repository, so there is nothing to compare"
                )));
            }
            _ => None,
        };
        let ignored = match (selection, &around, &change) {
            (FileSelection::Everything, ..) => Vec::new(),
            (_, Some(around), Some(change)) => {
                around.committed(&change.base, IGNORE_FILE, IGNORE_BYTES)?.unwrap_or_default()
            }
            (_, Some(around), None) => around.committed("HEAD", IGNORE_FILE, IGNORE_BYTES)?.unwrap_or_default(),
            (_, None, _) => match read_beneath(path, Path::new(IGNORE_FILE), IGNORE_BYTES)? {
                Some(FileContent::Whole(bytes)) => bytes,
                Some(FileContent::Cut(_)) | None => Vec::new(),
            },
        };
        let prefix = around.map(|around| around.prefix).unwrap_or_default();
        let ignored = IgnorePatterns::parse(&ignored);
        let agents = match (scope, selection) {
            (FolderScope::AllFiles, _) => None,
            (_, FileSelection::Tracked) => Some(AgentFolder::survey_untracked(path, &mut listing.entries)?),
            _ => Some(AgentFolder::survey(path, &listing.entries)),
        };
        let mut folder = Self { path, listing, prefix, ignored, change, agents };
        folder.keep_wanted();
        Ok(folder)
    }

    /// Keeps the entries that the scope names and the change touches. A change of a program touches the settings that
    /// run it.
    fn keep_wanted(&mut self) {
        let (agents, change, prefix) = (&self.agents, &self.change, &self.prefix);
        self.listing.entries.retain(|entry| {
            let is_in_scope = agents.as_ref().is_none_or(|agents| agents.is_loaded(&entry.path));
            let is_changed = |change: &FolderChange| {
                let is_file_changed = |path: &Path| change.added.has_file(&prefix.join(path));
                let referred = agents.iter().flat_map(|agents| agents.referred_by(&entry.path));
                is_file_changed(&entry.path) || referred.into_iter().any(|path| is_file_changed(&path))
            };
            is_in_scope && change.as_ref().is_none_or(is_changed)
        });
    }

    /// Keeps the entries below one of these paths, given like the folder's own.
    pub fn restrict(&mut self, paths: &[PathBuf]) {
        let bare: Vec<&Path> = paths.iter().map(|path| path.strip_prefix(".").unwrap_or(path)).collect();
        self.listing.entries.retain(|entry| bare.iter().any(|path| entry.path.starts_with(path)));
    }

    /// The accepted findings that the base of the change has. `None` if there is no change or no such file.
    ///
    /// # Errors
    ///
    /// If they can't be read.
    pub fn accepted_at_base(&self, today: Date) -> Result<Option<AcceptedFindings>, Error> {
        let Some(change) = &self.change else { return Ok(None) };
        let Some(around) = FolderRepository::around(&Environment::inherited(), self.path)? else { return Ok(None) };
        let Some(text) = around.committed(&change.base, ACCEPTED_FILE, ACCEPTED_BYTES)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&text);
        AcceptedFindings::parse(&text, ACCEPTED_FILE, around.root, today).map(Some)
    }

    /// The entries below it.
    #[must_use]
    pub fn entries(&self) -> &[FolderEntry] {
        &self.listing.entries
    }

    /// Looks at all entries on all processors. `take` gets the results in the order of the entries.
    ///
    /// # Errors
    ///
    /// The first error of `take`.
    pub fn look_at_all<E>(
        &self,
        guarding: &GuardSetup,
        options: &ScanOptions,
        mut take: impl FnMut(usize, &FolderEntry, FolderScanEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut number = 0_usize;
        for batch in self.entries().chunks(BATCH) {
            for (entry, event) in batch.iter().zip(map_on_all(batch, |entry| self.look(entry, guarding, options))) {
                take(number, entry, event)?;
                number = number.saturating_add(1);
            }
        }
        Ok(())
    }

    /// An entry as a person would write it.
    #[must_use]
    pub fn name(&self, entry: &FolderEntry) -> String {
        path_as_typed(self.path, &entry.path).to_string_lossy().into_owned()
    }

    /// An entry's path on the disk.
    #[must_use]
    pub fn place(&self, entry: &FolderEntry) -> PathBuf {
        self.path.canonicalize().unwrap_or_else(|_| self.path.to_path_buf()).join(&entry.path)
    }

    /// Looks at an entry.
    fn look(&self, entry: &FolderEntry, guarding: &GuardSetup, options: &ScanOptions) -> FolderScanEvent {
        let whole = self.prefix.join(&entry.path);
        // A repository must not hide from its reviewers what it gives to their agents.
        let is_for_agents = self.agents.is_some() || is_read_by_agents(&whole);
        if self.ignored.matches(whole.as_os_str().as_bytes()) && !is_for_agents {
            return FolderScanEvent::LeftOut(SkipReason::Ignored);
        }
        let looked = match entry.kind {
            EntryKind::File => self.read(&entry.path, options),
            // A link of agents' files leads to a file that is looked at itself, or out of the folder.
            EntryKind::Link => PathReading::LeftOut(SkipReason::Link),
            EntryKind::Submodule => PathReading::LeftOut(SkipReason::Submodule),
            EntryKind::Special => PathReading::LeftOut(SkipReason::Special),
        };
        match looked {
            PathReading::At(document) => {
                let (name, source) = (self.name(entry), options.source.as_ref());
                let field =
                    document.fields.first().filter(|field| self.agents.is_some() && field.name.is_empty()).cloned();
                let bar = guarding.policy.bar(source.map_or_else(|| document.kind.source(), Source::as_str), "");
                let mut file = scan_document(guarding, name, document, source, options.detail);
                if let Some(agents) = &self.agents {
                    let text = AgentFileText { field: field.as_ref(), bar, detail: options.detail };
                    agents.judge(&entry.path, &text, &mut file);
                }
                if let Some(change) = &self.change {
                    self.keep_added(change, &entry.path, &mut file);
                }
                FolderScanEvent::File(file)
            }
            PathReading::LeftOut(why) => FolderScanEvent::LeftOut(why),
            PathReading::Unreadable(why) => FolderScanEvent::Unreadable(why),
        }
    }

    /// Keeps the findings of the lines that a change adds, and those of commands whose programs it changes.
    fn keep_added(&self, change: &FolderChange, path: &Path, file: &mut FileScan) {
        let whole = self.prefix.join(path);
        let is_touched = |referred: &PathBuf| change.added.has_file(&self.prefix.join(referred));
        let runs_changed = self.agents.as_ref().is_some_and(|agents| agents.referred_by(path).iter().any(is_touched));
        file.retain_findings(|found| {
            // A field that is in the file in another form has no lines there, so all of it counts.
            found.spot.within == LineScope::Field
                || change.added.has_line(&whole, found.spot.line, found.last_line())
                || (runs_changed && found.finding.kind == FindingKind::AutoRun)
        });
    }

    /// A note for the user about the set of files. `shown` is the folder's name, escaped.
    #[must_use]
    pub fn note(&self, shown: &str) -> Option<Note> {
        if self.agents.is_some()
            && self.change.is_none()
            && matches!(self.listing.origin, ListingOrigin::Tracked { .. })
        {
            return None;
        }
        // Of a change, the files are those that it touches. A folder may have none for agents.
        let count =
            if self.change.is_some() || self.agents.is_some() { usize::MAX } else { self.listing.entries.len() };
        listing_note(shown, count, self.listing.origin).map(|words| Note::new(NoteKind::Git, words))
    }

    /// Reads a file of the folder.
    fn read(&self, relative: &Path, options: &ScanOptions) -> PathReading {
        // A program loads its settings whatever they are padded with, so that nothing of an agent's is skipped.
        let is_for_agents = self.agents.is_some() && is_agent_text(relative);
        let cap = if is_for_agents { options.file_bytes } else { options.folder_file_bytes };
        let mut tail = UnreadTail::Nothing;
        let bytes = match read_beneath(self.path, relative, cap) {
            Ok(Some(FileContent::Whole(bytes))) => bytes,
            Ok(Some(FileContent::Cut(bytes))) if is_for_agents => {
                tail = UnreadTail::Unknown;
                bytes
            }
            Ok(Some(FileContent::Cut(_))) => return PathReading::LeftOut(SkipReason::TooLarge),
            Ok(None) => return PathReading::LeftOut(SkipReason::Missing),
            // The path was a file when it was listed.
            Err(proem_runtime::Error::Link { .. }) => return PathReading::LeftOut(SkipReason::Link),
            Err(proem_runtime::Error::NotRegular { .. }) => return PathReading::LeftOut(SkipReason::Special),
            Err(error) => return PathReading::Unreadable(error.to_string()),
        };
        let (kind, source) = (options.kind, options.source.clone());
        let surroundings = FileSurroundings::Project;
        let ask = DocumentOptions { name: Some(relative), kind, surroundings, source, ..DocumentOptions::default() };
        let mut document = extract(&bytes, tail, &ask);
        let is_text = |gap: &DocumentGap| is_for_agents || gap.reason != GapReason::NotText;
        if document.fields.is_empty() && !document.gaps.iter().all(is_text) {
            let is_archive = relative
                .extension()
                .and_then(|end| end.to_str())
                .is_some_and(|end| ARCHIVES.iter().any(|archive| end.eq_ignore_ascii_case(archive)));
            return PathReading::LeftOut(if is_archive { SkipReason::Archive } else { SkipReason::Binary });
        }
        // Sources in another character set were read all the same, but for some letters.
        document.gaps.retain(|gap| !matches!(gap.reason, GapReason::Replaced | GapReason::Unknown));
        PathReading::At(document)
    }
}

/// A path as a person would write it: below `.` without it.
fn path_as_typed(folder: &Path, relative: &Path) -> PathBuf {
    if folder == Path::new(".") { relative.to_path_buf() } else { folder.join(relative) }
}

/// A note for the user about the set of files.
fn listing_note(folder: &str, count: usize, origin: ListingOrigin) -> Option<String> {
    match origin {
        ListingOrigin::NoRepository => {
            Some(format!("`{folder}` is not in a git repository; all of its files were scanned"))
        }
        ListingOrigin::NoGit => Some(format!("git was not found; all files of `{folder}` were scanned")),
        ListingOrigin::Everything => None,
        ListingOrigin::Tracked { untracked: None } => {
            Some(format!("git lists the tracked files of `{folder}`, but the number of untracked files is unknown"))
        }
        ListingOrigin::Tracked { untracked: Some(0) } if count > 0 => None,
        ListingOrigin::Tracked { untracked: Some(0) } => {
            Some(format!("git tracks nothing in `{folder}`; name its files to scan them"))
        }
        ListingOrigin::Tracked { untracked: Some(1) } => {
            Some(format!("1 file of `{folder}` that git doesn't track was not scanned"))
        }
        ListingOrigin::Tracked { untracked: Some(more) } => {
            Some(format!("{} files of `{folder}` that git doesn't track were not scanned", group_thousands(more)))
        }
    }
}
