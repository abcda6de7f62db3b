//! A folder: what git tracks of it, file by file, and what was not looked at.
//!
//! Files that a project keeps are ordinary ones. Their names are foreign text.

use std::path::{Path, PathBuf};

use proem_runtime::Environment;
use proem_runtime::files::{FileContent, read_beneath};
use proem_runtime::folder::{EntryKind, FolderEntry, FolderListing, ListingOrigin, list_files_below};
use proem_runtime::readers::{
    Document, DocumentGap, DocumentOptions, FileSurroundings, GapReason, UnreadTail, extract,
};

use super::ScanOptions;
use super::examine::{CutChoice, FileScan, scan_document};
use crate::error::Error;
use crate::guarding::GuardSetup;
use crate::message::Note;
use crate::words::group_thousands;

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
}

proem_text::word_table! {
    /// The word used in JSON.
    pub SkipReason {
        // In the order in which reports name them.
        Binary = "binary",
        TooLarge = "too-large",
        Link = "link",
        Submodule = "submodule",
        Special = "special",
        Missing = "missing",
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

/// A folder whose files are looked at one by one.
#[derive(Debug)]
pub struct Folder<'f> {
    path: &'f Path,
    listing: FolderListing,
}

impl<'f> Folder<'f> {
    /// Lists it.
    ///
    /// # Errors
    ///
    /// If it can't be listed.
    pub fn list(path: &'f Path) -> Result<Self, Error> {
        Ok(Self { path, listing: list_files_below(&Environment::inherited(), path)? })
    }

    /// The entries below it.
    #[must_use]
    pub fn entries(&self) -> &[FolderEntry] {
        &self.listing.entries
    }

    /// An entry as a person would write it.
    #[must_use]
    pub fn name(&self, entry: &FolderEntry) -> String {
        path_as_typed(self.path, &entry.path).to_string_lossy().into_owned()
    }

    /// Looks at an entry.
    #[must_use]
    pub fn look(&self, entry: &FolderEntry, guarding: &GuardSetup, options: &ScanOptions) -> FolderScanEvent {
        let looked = match entry.kind {
            EntryKind::File => self.read(&entry.path, options),
            EntryKind::Link => PathReading::LeftOut(SkipReason::Link),
            EntryKind::Submodule => PathReading::LeftOut(SkipReason::Submodule),
            EntryKind::Special => PathReading::LeftOut(SkipReason::Special),
        };
        match looked {
            PathReading::At(document) => FolderScanEvent::File(scan_document(
                guarding,
                self.name(entry),
                document,
                options.source.as_ref(),
                CutChoice::NotWanted,
            )),
            PathReading::LeftOut(why) => FolderScanEvent::LeftOut(why),
            PathReading::Unreadable(why) => FolderScanEvent::Unreadable(why),
        }
    }

    /// A note for the user about the set of files. `shown` is the folder's name, escaped.
    #[must_use]
    pub fn note(&self, shown: &str) -> Option<Note> {
        listing_note(shown, self.listing.entries.len(), self.listing.origin).map(Note::from)
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
            return PathReading::LeftOut(SkipReason::Binary);
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
