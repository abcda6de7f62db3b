//! Reads the files and the past of a repository as ranking needs them: what each file is made of, and which commits
//! touched it.
//!
//! [`ContextReader`] lists a state, and then reads by work: the parts that aren't kept if they are few, else the words
//! of a task in all files and the likeliest files whole. Records of contents are kept in the user's cache by git's id
//! of the blob. Invariants: nothing of the repository runs. Only the files of one state and the ancestors of one commit
//! are read. No link is followed and no submodule entered. A part that was not read is a gap. The set of files that are
//! read follows from the files, the caller's order and the bounds, and a clock only ends a reading that is far beyond
//! them.

mod ignore_patterns;
mod kept_records;
mod on_disk;
mod past;
mod reader;
mod record;

use std::time::Duration;

use proem_risk::path::{GitAttributes, PathRules, RepoPath, path_role};
use proem_select::context::{FilePurpose, FileRecord};

use self::record::use_of;
use crate::structure::ListedContent;

pub use self::ignore_patterns::IgnorePatterns;
pub use self::past::{ContextCorpus, ContextPast, CorpusPast, PastExtent, context_history};
pub use self::reader::ContextReader;
pub(crate) use self::record::RecordWant;
pub use self::record::shown_text;

/// The file whose patterns keep paths out, in git's syntax for ignored files.
pub const IGNORE_FILE: &str = ".proemignore";

/// Bounds on a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    /// The clock that ends a reading far beyond its bounds.
    pub time: Duration,
    /// The longest source that is read, in bytes.
    pub source_bytes: usize,
    /// Bytes of all contents that are read in one go.
    pub bytes: u64,
    /// How many contents are read in one go.
    pub files: usize,
}

impl Default for ContextLimits {
    /// Two minutes, 1 MiB for each source, 1 GiB together, 200,000 files: more than any but the largest repositories have.
    fn default() -> Self {
        Self { time: Duration::from_mins(2), source_bytes: 1 << 20, bytes: 1 << 30, files: 200_000 }
    }
}

/// How much work a reading of whole contents may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingBound {
    /// How many contents.
    pub files: usize,
    /// Their bytes together. The content that reaches the bound is still read.
    pub bytes: u64,
}

/// The number of files that are always read at once: parsing them takes as long as starting git a few times.
const LEAST_FILES: usize = 200;
const LEAST_BYTES: u64 = 3 << 20;

/// Of more files one in so many more: looking for a word takes longer there as well.
const ONE_OF: usize = 20;

/// The bytes of most sources.
const USUAL_BYTES: u64 = 12 << 10;

impl ReadingBound {
    /// The bounds that a person waits for in a folder of this many files.
    #[must_use]
    pub fn of_first_look(files: usize) -> Self {
        let more = files / ONE_OF;
        let bytes = u64::try_from(more).unwrap_or(u64::MAX).saturating_mul(USUAL_BYTES);
        Self { files: LEAST_FILES.saturating_add(more), bytes: LEAST_BYTES.saturating_add(bytes) }
    }
}

/// How much is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReading {
    /// Its path alone: it is no text, or was not read.
    Path,
    /// How often it has each word that was looked for.
    Counted,
    /// All that ranking looks at.
    Whole,
}

/// A file, and what it is made of.
#[derive(Debug, Clone)]
pub struct TreeFile {
    /// Its path from the root, lossy where it isn't UTF-8.
    pub path: String,
    /// Its path in git's bytes.
    pub raw_path: Vec<u8>,
    /// Its purpose.
    pub used_for: FilePurpose,
    /// Its record. `None` if it is not text or was not read.
    pub record: Option<FileRecord>,
    /// How much of it [`Self::record`] has.
    pub reading: FileReading,
    /// Whether the work tree differs from the index there.
    pub changed: bool,
    /// The place of its content.
    content: ListedContent,
}

impl TreeFile {
    fn new(raw_path: Vec<u8>, content: ListedContent, used_for: FilePurpose) -> Self {
        let changed = matches!(content, ListedContent::Bytes(_));
        let path = proem_text::path_as_text(&raw_path);
        Self { path, used_for, raw_path, record: None, reading: FileReading::Path, changed, content }
    }

    /// How it is read. `None` for what is no text or somebody else's.
    fn want(&self) -> Option<RecordWant> {
        RecordWant::of_path(&self.raw_path).filter(|_| self.used_for != FilePurpose::Foreign)
    }

    fn set(&mut self, record: FileRecord, reading: FileReading) {
        self.record = Some(record);
        self.reading = reading;
    }
}

/// The files of one state of a repository or folder.
#[derive(Debug, Clone, Default)]
pub struct ContextTree {
    /// The files, sorted by path.
    pub files: Vec<TreeFile>,
    /// The gaps, in our words.
    pub gaps: Vec<String>,
    /// How many contents were read anew. The others were kept.
    pub read: usize,
    /// How many files that are read at all nothing but their paths is known of, for a bound was reached before them.
    pub unread: usize,
    /// How many files are left out by [`IGNORE_FILE`].
    pub ignored: usize,
    /// Whether the clock of [`ContextLimits::time`] ended a reading.
    pub is_out_of_time: bool,
    /// Contents that are not kept: the files that each is of, in the order of the paths.
    missing: Vec<Vec<usize>>,
}

impl ContextTree {
    /// How many contents are neither kept nor read.
    #[must_use]
    pub const fn missing(&self) -> usize {
        self.missing.len()
    }

    /// How many files are known by how often they have some words.
    #[must_use]
    pub fn counted_files(&self) -> usize {
        self.files.iter().filter(|file| file.reading == FileReading::Counted).count()
    }

    /// How many files are read at all.
    #[must_use]
    pub fn texts(&self) -> usize {
        self.files.iter().filter(|file| file.want().is_some()).count()
    }

    /// The whole record of a file that has none, of its content, which was read since. `None` if it has one, or is no
    /// text.
    #[must_use]
    pub fn late_record(&self, place: usize, content: &[u8]) -> Option<FileRecord> {
        let file = self.files.get(place).filter(|file| file.reading != FileReading::Whole)?;
        Some(record::of_source(file.want()?, content))
    }
}

/// The purpose of the file at a path, by the rules of paths.
#[must_use]
pub fn use_of_path(path: &[u8], rules: &PathRules) -> FilePurpose {
    use_of(path_role(&RepoPath::new(path), &GitAttributes::default(), rules), path)
}
