//! The change to assess.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::ObjectId;
use crate::identity::Person;
use crate::patch::FilePatch;
use crate::path::{PathClass, RepoPath};

/// The source of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// One commit, against its first parent.
    Commit,
    /// Several commits at once, against the merge base of their ends.
    Range,
    /// The staged changes, against HEAD.
    Staged,
    /// The changes of the work tree against HEAD, with untracked files.
    WorkTree,
}

/// A change, as it is assessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its source.
    pub kind: ChangeKind,
    /// The commit that it is or ends with. `None` for what is not committed.
    pub id: Option<ObjectId>,
    /// The commit that it is on. `None` if it begins the history.
    pub base: Option<ObjectId>,
    /// How many commits it has; 0 for what is not committed.
    pub commits: u32,
    /// Whether the commit has more than one parent: it is assessed against the first.
    pub is_merge: bool,
    /// When, in seconds since 1970. The caller's clock for what is not committed.
    pub at: i64,
    /// Its author; for uncommitted changes the one whom git would name. `None` if nobody knows, and for ranges of
    /// several authors.
    pub author: Option<Person>,
    /// The first line of the commit's message. Empty for what is not committed. From outside.
    pub subject: String,
    /// The changed files, by path.
    pub files: Vec<ChangedFile>,
    /// Names that appear in changed lines, for looking up similar incidents: distinct, at most 200. From
    /// outside.
    pub identifiers: Vec<String>,
    /// The changed lines of files that somebody wrote, as far as they could be read, by path. From outside.
    pub patches: Vec<FilePatch>,
    /// The gaps, in our words.
    pub gaps: Vec<String>,
}

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileStatus {
    /// It is new.
    Added,
    /// Its content changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path, and perhaps another content.
    Renamed,
    /// It is another kind of thing, such as a link instead of a file.
    TypeChanged,
}

/// The kind of thing that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A file.
    Regular,
    /// A symbolic link.
    Link,
    /// A commit of another repository.
    Submodule,
}

/// A file of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path after the change. Before it for a deleted one.
    pub path: RepoPath,
    /// Its path before a rename.
    pub before: Option<RepoPath>,
    /// How it changed.
    pub status: FileStatus,
    /// Regular, executable, link or submodule.
    pub kind: FileKind,
    /// Language and purpose, as the path and the rules tell.
    pub class: PathClass,
    /// Lines added and removed. `None` for binary files, links, submodules and missing blobs.
    pub lines: Option<LineCounts>,
    /// Lines before the change. `None` if unknown, 0 for a new file.
    pub lines_before: Option<u32>,
    /// Lines after the change. `None` if unknown, 0 for a deleted file.
    pub lines_after: Option<u32>,
}

impl ChangedFile {
    /// The path before the change: that of the file it was renamed from, if it was.
    #[must_use]
    pub fn base_path(&self) -> &RepoPath {
        self.before.as_ref().unwrap_or(&self.path)
    }
}

/// Changed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    /// Lines that the change adds.
    pub added: u32,
    /// Lines that it takes away. A changed line is one of each.
    pub removed: u32,
}

impl Change {
    /// The changed lines of a file. `None` where they are not known.
    #[must_use]
    pub fn patch(&self, path: &RepoPath) -> Option<&FilePatch> {
        let found = self.patches.binary_search_by(|patch| patch.path.cmp(path)).ok()?;
        self.patches.get(found)
    }

    /// The path that a commit of the past knows a file by.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.iter().map(|file| &file.path)
    }
}
