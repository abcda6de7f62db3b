//! A folder: what git tracks of it, or what a change adds to that, file by file, and what was not looked at.
//!
//! Files that a project keeps are ordinary ones. Their names are foreign text. Files that decide about a change, such
//! as `.proemignore`, are read as the base of the change has them.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Date;
use proem_guard::show;
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

use super::ScanOptions;
use super::acceptances::{ACCEPTED_BYTES, ACCEPTED_FILE, AcceptedFindings};
use super::agent_files::is_read_by_agents;
use super::examine::{CutChoice, FileScan, LineScope, scan_document};
use crate::error::Error;
use crate::guarding::GuardSetup;
use crate::message::{Note, NoteKind};
use crate::words::group_thousands;

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
        match self {
            Self::Binary => format!("{number} binary"),
            Self::TooLarge => format!("{number} larger than {} bytes", group_thousands(most)),
            Self::Link if count == 1 => format!("{number} link"),
            Self::Link => format!("{number} links"),
            Self::Submodule if count == 1 => format!("{number} submodule"),
            Self::Submodule => format!("{number} submodules"),
            Self::Special => format!("{number} that are not regular files"),
            Self::Missing => format!("{number} missing from the work tree"),
            Self::Archive if count == 1 => format!("{number} archive"),
            Self::Archive => format!("{number} archives"),
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

/// A folder whose files are looked at one by one.
#[derive(Debug)]
pub struct Folder<'f> {
    path: &'f Path,
    listing: FolderListing,
    /// The folder's path from the root of its work tree, or from itself.
    prefix: PathBuf,
    ignored: IgnorePatterns,
    change: Option<FolderChange>,
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
    pub fn list(path: &'f Path, selection: &FileSelection) -> Result<Self, Error> {
        let environment = Environment::inherited();
        let listing = match selection {
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
        let mut folder = Self { path, listing, prefix, ignored: IgnorePatterns::parse(&ignored), change };
        if let Some(change) = &folder.change {
            let prefix = &folder.prefix;
            folder.listing.entries.retain(|entry| change.added.has_file(&prefix.join(&entry.path)));
        }
        Ok(folder)
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
        if self.ignored.matches(whole.as_os_str().as_bytes()) && !is_read_by_agents(&whole) {
            return FolderScanEvent::LeftOut(SkipReason::Ignored);
        }
        let looked = match entry.kind {
            EntryKind::File => self.read(&entry.path, options),
            EntryKind::Link => PathReading::LeftOut(SkipReason::Link),
            EntryKind::Submodule => PathReading::LeftOut(SkipReason::Submodule),
            EntryKind::Special => PathReading::LeftOut(SkipReason::Special),
        };
        match looked {
            PathReading::At(document) => {
                let (name, source) = (self.name(entry), options.source.as_ref());
                let mut file = scan_document(guarding, name, document, source, CutChoice::NotWanted);
                if let Some(change) = &self.change {
                    // A field that is in the file in another form has no lines there, so all of it counts.
                    file.retain_findings(|found| {
                        found.spot.within == LineScope::Field
                            || change.added.has_line(&whole, found.spot.line, found.last_line())
                    });
                }
                FolderScanEvent::File(file)
            }
            PathReading::LeftOut(why) => FolderScanEvent::LeftOut(why),
            PathReading::Unreadable(why) => FolderScanEvent::Unreadable(why),
        }
    }

    /// A note for the user about the set of files. `shown` is the folder's name, escaped.
    #[must_use]
    pub fn note(&self, shown: &str) -> Option<Note> {
        // Of a change, the files are those that it touches.
        let count = if self.change.is_some() { usize::MAX } else { self.listing.entries.len() };
        listing_note(shown, count, self.listing.origin).map(|words| Note::new(NoteKind::Git, words))
    }

    /// Reads a file of the folder.
    fn read(&self, relative: &Path, options: &ScanOptions) -> PathReading {
        let bytes = match read_beneath(self.path, relative, options.folder_file_bytes) {
            Ok(Some(FileContent::Whole(bytes))) => bytes,
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
        let mut document = extract(&bytes, UnreadTail::Nothing, &ask);
        let is_text = |gap: &DocumentGap| gap.reason != GapReason::NotText;
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
