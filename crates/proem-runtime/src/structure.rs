//! Reads which file of a repository imports which.
//!
//! Invariants: nothing of the repository runs, no link is followed, no submodule entered. Names stay bytes; what could
//! not be read is labelled where it stands and counted in a gap, because a fan-in that misses importers is too low and
//! must not pass for known.
//!
//! A source is parsed once for its content: what was read is kept in the user's cache by git's id of
//! the blob, or by the hash of a file that differs from what git has.

mod batch;
mod cache;
pub(crate) mod languages;
mod listing;
mod reading;
mod source_reading;
mod want;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use proem_imports::{
    Manifests, SourceFacts, SourceLanguage,
    resolve::{ImportCounts, Resolution, ResolvableFile},
    resolve_imports,
};
use proem_risk::graph::{Edge, EdgeKind, Graph};

use crate::{
    Error,
    git::{GitProgram, Repository, RepositoryKind, Session},
    process::Deadline,
    structure::{
        cache::StructureCache,
        listing::{SourceContent, SourceEntry, SourceListing},
        reading::{FinishedJob, WaitingFile},
        source_reading::{SourceReading, SourceResult},
    },
};

// The parts for another reading of the same contents.
pub(crate) use self::cache::{EntryPlace, StructureCacheKey, keep_entries, places as entry_places};
pub(crate) use self::listing::SourceContent as ListedContent;
pub(crate) use self::reading::{ContentReading, ReadingBounds, ReadingJob, read_sources as read_contents};
pub use self::source_reading::{SourceGap, StructureLimits};
pub(crate) use self::want::Want;

/// A file of a listing: its path, and where its content is.
pub(crate) type ListedFilePair = (Vec<u8>, ListedContent);

/// Lists the files of one state with where their contents are, and what was left out. Of files that differ from what
/// git has, `wanted` says whose contents are read.
pub(crate) fn listed_files(
    session: &mut Session<'_>,
    at: TreeState<'_>,
    root: Option<&Path>,
    limits: &StructureLimits,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<(Vec<ListedFilePair>, Vec<String>), Error> {
    let listing = match (at, root) {
        (TreeState::Commit(commit), _) => listing::of_commit(session, commit)?,
        (TreeState::Index, Some(_)) => listing::of_index(session)?,
        (TreeState::WorkTree, Some(root)) => listing::of_work_tree(session, root, limits, wanted)?,
        (TreeState::Index | TreeState::WorkTree, None) => SourceListing::default(),
    };
    let gaps = listing.gaps();
    Ok((listing.entries.into_iter().map(|entry| (entry.path, entry.content)).collect(), gaps))
}

/// The files of a repository that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeState<'a> {
    /// Those of a commit, given by anything that git takes for one.
    Commit(&'a str),
    /// Those of the index: what would be committed.
    Index,
    /// Those of the work tree: tracked ones as they are, and untracked ones that aren't ignored.
    WorkTree,
}

/// Each file of a repository with the files that it imports.
#[derive(Debug, Clone)]
pub struct Structure {
    /// All files, sorted by the bytes of their paths. Their places are the graph's numbers.
    pub files: Vec<StructureFile>,
    /// Each file with the files that it imports.
    pub graph: Graph,
    /// How many files there are of each language that has no parser, by its name.
    pub without_parser: BTreeMap<&'static str, u32>,
    /// The packages among those asked about that some file imports.
    pub packages: BTreeSet<String>,
    /// The gaps, in our words.
    pub gaps: Vec<String>,
    /// How many sources were read anew. The others came from the cache.
    pub read: usize,
}

/// A file, and what was found out about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructureFile {
    /// Its path from the repository's root, in git's bytes.
    pub path: Vec<u8>,
    /// Its language, if that has a parser.
    pub language: Option<SourceLanguage>,
    /// Its lines that are not blank. `None` if it is no source or was not read.
    pub lines: Option<u32>,
    /// Those of them that only tests compile.
    pub inline_test_lines: u32,
    /// Imports that lead to a file of the repository.
    pub resolved: u32,
    /// Imports that should lead to one and don't.
    pub unresolved: u32,
    /// Imports of third parties.
    pub external: u32,
    /// Whether something of it could not be parsed.
    pub errors: bool,
    /// Whether its own language says that only tests compile it.
    pub test_module: bool,
    /// Why it was not read, if it is a source and was not.
    pub unread: Option<SourceGap>,
}

/// Reads several states of one repository: a source that they have in common is read once.
#[derive(Debug)]
pub struct StructureReader {
    git: GitProgram,
    repository: Repository,
    limits: StructureLimits,
    cache: Mutex<StructureCache>,
    /// The packages whose imports are looked for.
    packages: BTreeSet<String>,
}

impl StructureReader {
    /// A reader of `repository`. `cache` is a folder of the user's for this repository, from which it has what earlier
    /// readers kept. `limits` are for each state on its own.
    #[must_use]
    pub fn open(git: &GitProgram, repository: &Repository, cache: Option<&Path>, limits: StructureLimits) -> Self {
        let cache = Mutex::new(StructureCache::open(cache));
        Self { git: git.clone(), repository: repository.clone(), limits, cache, packages: BTreeSet::new() }
    }

    /// The same, which also says which of these packages some file imports.
    #[must_use]
    pub fn asking_for<'n>(mut self, packages: impl IntoIterator<Item = &'n str>) -> Self {
        self.packages = packages.into_iter().map(str::to_owned).collect();
        self
    }

    /// Reads which file imports which. `progress` hears how many of how many sources were read.
    ///
    /// # Errors
    ///
    /// [`Error::GitFailed`] if git doesn't know the commit or ends with an error, [`Error::TimedOut`] if it
    /// doesn't list the files in time, [`Error::TooMuchOutput`] if they are too many to list,
    /// [`Error::InConflict`] for an index in conflict, [`Error::GitAnswer`] or [`Error::Io`]. Time running out
    /// while sources are read is no error: the rest is [`SourceGap::NotReached`].
    pub fn read(&self, at: TreeState<'_>, progress: &dyn Fn(usize, usize)) -> Result<Structure, Error> {
        let (mut sources, read) = self.read_all_sources(at, progress)?;
        sources.gaps.extend(self.cache().note());
        Ok(sources.finish(&self.packages, read))
    }

    /// Reads the sources of a state for a later [`Self::read`], which also says what can't be read.
    pub(crate) fn read_ahead(&self, at: TreeState<'_>) {
        drop(self.read_all_sources(at, &|_, _| ()));
    }

    fn read_all_sources(
        &self,
        at: TreeState<'_>,
        progress: &dyn Fn(usize, usize),
    ) -> Result<(SourceReadings, usize), Error> {
        let (limits, folder) = (&self.limits, self.repository.folder());
        let root = match &self.repository.place {
            RepositoryKind::WorkTree(root) => Some(root.as_path()),
            RepositoryKind::Bare => None,
        };
        let now = Instant::now();
        let until = now.checked_add(limits.time).unwrap_or(now);
        let deadline = Deadline::after(limits.time);
        let mut session = Session::new(&self.git, folder, deadline, limits.listing);
        let wanted = |path: &[u8]| Want::of_path(path).is_some();
        let (entries, gaps) = listed_files(&mut session, at, root, limits, &wanted)?;
        let is_bare = root.is_none() && !matches!(at, TreeState::Commit(_));
        let bare = is_bare.then(|| "a bare repository has no work tree; name a commit".to_owned());
        let mut sources = SourceReadings::new(entries, gaps);
        sources.gaps.extend(bare);
        // Contents have limits of their own.
        let session = Session::new(&self.git, folder, deadline, usize::MAX);
        let read = sources.read(self, &session, until, progress)?;
        Ok((sources, read))
    }

    /// Keeps what was read for the next reader. Why that was not possible, in our words.
    #[must_use]
    pub fn keep(&self) -> Option<String> {
        self.cache().save()
    }

    fn cache(&self) -> MutexGuard<'_, StructureCache> {
        // Its entries are whole whenever a thread ends.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sources as they are read.
struct SourceReadings {
    files: Vec<ListedFile>,
    manifests: Manifests,
    gaps: Vec<String>,
}

/// A file of the listing, with what was read of it.
struct ListedFile {
    entry: SourceEntry,
    /// `None` for what is no source, and for a project file, whose content goes to the manifests.
    reading: Option<SourceResult>,
}

impl SourceReadings {
    fn new(entries: Vec<ListedFilePair>, gaps: Vec<String>) -> Self {
        let file = |(path, content)| ListedFile { entry: SourceEntry { path, content }, reading: None };
        let files = entries.into_iter().map(file).collect();
        Self { files, manifests: Manifests::default(), gaps }
    }

    /// Reads what isn't in the cache. How many contents that were.
    fn read(
        &mut self,
        reader: &StructureReader,
        session: &Session<'_>,
        until: Instant,
        progress: &dyn Fn(usize, usize),
    ) -> Result<usize, Error> {
        let Self { files, manifests, gaps } = self;
        let mut cache = reader.cache();
        // Files of one content wait for one job.
        let mut jobs: BTreeMap<StructureCacheKey, ReadingJob<'_>> = BTreeMap::new();
        for (place, ListedFile { entry, reading }) in files.iter_mut().enumerate() {
            let entry: &SourceEntry = entry;
            let Some(want) = Want::of_path(&entry.path) else { continue };
            if let SourceContent::Unread(why) = entry.content {
                *reading = Some(Err(why));
                continue;
            }
            let key = StructureCacheKey::new(want, &entry.content, (want == Want::Manifest).then_some(place));
            if let Some(found) = cache.get(&key, want) {
                *reading = Some(Ok(found));
                continue;
            }
            // Until its job says otherwise, which one that a limit cuts off never does.
            *reading = Some(Err(SourceGap::NotReached));
            let number = jobs.len();
            let job = jobs.entry(key).or_insert_with_key(|key| ReadingJob {
                number,
                key: key.clone(),
                want,
                content: &entry.content,
                files: Vec::new(),
            });
            job.files.push(WaitingFile { path: &entry.path, reading });
        }
        // Others may look up theirs while these are parsed.
        drop(cache);
        let mut jobs: Vec<ReadingJob<'_>> = jobs.into_values().collect();
        // In the order of the paths: a limit that is reached cuts the same files off each time.
        jobs.sort_unstable_by_key(|job| job.number);
        let count = jobs.len();
        let bounds = ReadingBounds { limits: &reader.limits, until };
        let mut finished = reading::read_sources(session, jobs, bounds, progress)?;
        // Threads finish in any order, which must not show in what is made of the contents.
        finished.sort_unstable_by(|a, b| a.job.key.cmp(&b.job.key));
        let mut cache = reader.cache();
        for FinishedJob { job, result } in finished {
            match result {
                Ok(ContentReading::Facts(facts)) => job.settle(&Ok(SourceReading::Facts(Arc::new(facts))), &mut cache),
                Ok(ContentReading::Lines(lines)) => job.settle(&Ok(SourceReading::Lines(lines)), &mut cache),
                Ok(ContentReading::Bytes(bytes)) => gaps.extend(job.into_manifests(&bytes, manifests)),
                // Nobody here asks for records.
                Err(why) => job.settle(&Err(why), &mut cache),
            }
        }
        Ok(count)
    }

    fn finish(self, wanted: &BTreeSet<String>, read: usize) -> Structure {
        let Self { files: listed, manifests, mut gaps } = self;
        let list: Vec<ResolvableFile<'_>> =
            listed.iter().map(|file| ResolvableFile { path: &file.entry.path, facts: file.facts() }).collect();
        let Resolution { edges, files: counts } = resolve_imports(&list, &manifests);
        let packages = imported_packages(&list, wanted);
        let edges = edges.iter().map(|edge| {
            let kind = match edge.kind {
                proem_imports::resolve::ImportEdgeKind::Import => EdgeKind::Import,
                proem_imports::resolve::ImportEdgeKind::TypeOnly => EdgeKind::TypeOnly,
                proem_imports::resolve::ImportEdgeKind::Test => EdgeKind::Test,
                proem_imports::resolve::ImportEdgeKind::Ownership => EdgeKind::Ownership,
            };
            Edge { from: edge.from, to: edge.to, kind, calls: edge.calls }
        });
        let graph = Graph::new(u32::try_from(listed.len()).unwrap_or(u32::MAX), edges);
        let mut without_parser = BTreeMap::new();
        for name in listed.iter().filter_map(|file| languages::without_parser(&file.entry.path)) {
            let count: &mut u32 = without_parser.entry(name).or_default();
            *count = count.saturating_add(1);
        }
        // The counts are in the order of the files that were resolved.
        let files = listed.into_iter().zip(counts).map(|(file, counts)| file.resolved(counts));
        let files: Vec<StructureFile> = files.collect();
        gaps.extend(gaps_of(&files));
        gaps.dedup();
        Structure { files, graph, without_parser, packages, gaps, read }
    }
}

impl ListedFile {
    fn facts(&self) -> Option<&SourceFacts> {
        match &self.reading {
            Some(Ok(SourceReading::Facts(facts))) => Some(facts),
            _ => None,
        }
    }

    /// The file with what became of its imports.
    fn resolved(self, counts: ImportCounts) -> StructureFile {
        let Self { entry: SourceEntry { path, .. }, reading } = self;
        let ImportCounts { resolved, unresolved, external, test_module } = counts;
        let language = SourceLanguage::of_path(&path);
        let mut file = StructureFile {
            path,
            language,
            lines: None,
            inline_test_lines: 0,
            resolved,
            unresolved,
            external,
            errors: false,
            test_module,
            unread: None,
        };
        match reading {
            Some(Ok(SourceReading::Facts(facts))) => {
                file.lines = Some(facts.lines);
                file.inline_test_lines = facts.inline_test_lines;
                file.errors = facts.errors;
            }
            Some(Ok(SourceReading::Lines(lines))) => file.lines = Some(lines),
            Some(Err(why)) => file.unread = Some(why),
            None => {}
        }
        file
    }
}

impl ReadingJob<'_> {
    /// Hands what was read to the cache, and to every file that waits for it.
    fn settle(self, result: &SourceResult, cache: &mut StructureCache) {
        if let Ok(found) = result {
            cache.put(&self.key, found);
        }
        for file in self.files {
            *file.reading = Some(result.clone());
        }
    }

    /// Adds the content of a project file to the manifests; what could not be read of it, in our words.
    fn into_manifests(self, bytes: &[u8], manifests: &mut Manifests) -> Vec<String> {
        let mut gaps = Vec::new();
        for file in self.files {
            *file.reading = None;
            if let Err(error) = manifests.add(file.path, bytes) {
                gaps.push(format!("a project file could not be read: {error}"));
            }
        }
        gaps
    }
}

/// The packages among these that some of the files import: the package itself, or something in it.
fn imported_packages(files: &[ResolvableFile<'_>], wanted: &BTreeSet<String>) -> BTreeSet<String> {
    let paths =
        || files.iter().filter_map(|file| file.facts).flat_map(|facts| &facts.imports).map(|import| &import.path);
    let is_in = |path: &str, package: &str| {
        path.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/', ':']))
    };
    wanted.iter().filter(|package| paths().any(|path| is_in(path, package))).cloned().collect()
}

/// The gaps of the sources.
fn gaps_of(files: &[StructureFile]) -> Vec<String> {
    let sources = files.iter().filter(|file| file.language.is_some()).count();
    let count = |why| files.iter().filter(|file| file.language.is_some() && file.unread == Some(why)).count();
    let line = |why: SourceGap| match count(why) {
        0 => None,
        n => Some(format!(
            "{n} of {sources} source files were {}; their importers are known, their own imports are not",
            why.why()
        )),
    };
    SourceGap::ALL.into_iter().filter_map(line).collect()
}
