//! Reads the files and the past of a repository as ranking needs them: what each file is made of, and which commits
//! touched it.
//!
//! What was read of a content is kept in the user's cache by git's id of the blob, so that a second run reads what
//! changed alone. Invariants: nothing of the repository runs; only the files of one state and the ancestors of one commit
//! are read; no link is followed and no submodule entered; what was not read is a gap, and a complete reading gives the
//! same records whether they were kept or read anew.

mod ignored;
mod kept;
mod on_disk;
mod record;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proem_imports::SourceLimits;
use proem_risk::change::FileStatus;
use proem_risk::history::{CommitIndex, History, ObjectId, PersonId, Touch};
use proem_risk::identity::Mailmap;
use proem_risk::path::{GitAttributes, PathRules, RepoPath, role_of};
use proem_select::context::words::distinct_words;
use proem_select::context::{Corpus, CorpusCommit, CorpusFile, FilePurpose, FileRecord, MOST_TOUCHED};

use self::kept::KeptRecords;
use self::on_disk::from_disk;
use self::record::use_of;
use crate::Error;
use crate::change::user;
use crate::files::{self, FileContent, read_beneath};
use crate::folder::{self, EntryKind};
use crate::git::{GitProgram, HEAD_COMMIT, Repository, Session};
use crate::history::{HistoryWanted, history};
use crate::parallel::{joined, map_on_all};
use crate::process::Deadline;
use crate::structure::{
    ContentReading, ListedContent, ReadingBounds, ReadingJob, SourceGap, StructureCacheKey, StructureLimits, TreeState,
    Want, listed_files, read_contents,
};

pub use self::ignored::IgnorePatterns;
pub use self::record::shown_text;
pub(crate) use self::record::{RecordWant, of_source};

/// The file whose patterns keep paths out, in git's syntax for ignored files.
pub const IGNORE_FILE: &str = ".proemignore";

/// The most of the file of patterns that is read, in bytes.
const IGNORE_BYTES: usize = 64 * 1024;

/// The most commits that are looked at: what is older says little of what is changed next.
const MOST_COMMITS: u32 = 8_000;

/// The most files of a folder without a repository that are looked at.
const MOST_FILES: usize = 200_000;

/// Bounds on a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    /// Time for reading contents that are not kept; `None` reads all of them.
    pub time: Option<Duration>,
    /// Time of the processor for parsing one source.
    pub parse_time: Duration,
    /// The longest source that is read, in bytes.
    pub source_bytes: usize,
    /// Bytes of all sources together.
    pub bytes: u64,
}

impl Default for ContextLimits {
    /// 2 s in all, 200 ms and 1 MiB for each source, 512 MiB together.
    fn default() -> Self {
        Self {
            time: Some(Duration::from_secs(2)),
            parse_time: Duration::from_millis(200),
            source_bytes: 1 << 20,
            bytes: 512 << 20,
        }
    }
}

/// A file, and what it is made of.
#[derive(Debug, Clone)]
pub struct TreeFile {
    /// Its path from the root, lossy where it isn't UTF-8.
    pub path: String,
    /// Its path in git's bytes.
    pub raw_path: Vec<u8>,
    /// What it is for.
    pub used_for: FilePurpose,
    /// What it is made of; `None` if it is not text or was not read.
    pub record: Option<FileRecord>,
    /// Whether the work tree differs from the index there.
    pub changed: bool,
    /// Where its content is.
    content: ListedContent,
}

/// The files of one state of a repository or folder.
#[derive(Debug, Clone, Default)]
pub struct ContextTree {
    /// The files, sorted by path.
    pub files: Vec<TreeFile>,
    /// What is missing, in our words.
    pub gaps: Vec<String>,
    /// How many contents were read anew; the others were kept.
    pub read: usize,
    /// How many contents were not read in time.
    pub unread: usize,
    /// How many files are left out by [`IGNORE_FILE`].
    pub ignored: usize,
}

/// What reads trees.
#[derive(Debug)]
pub struct ContextReader {
    git: GitProgram,
    repository: Repository,
    limits: ContextLimits,
    /// Where records are kept.
    cache: Option<PathBuf>,
    /// What is kept there, once it was read.
    kept: Option<KeptRecords>,
    rules: PathRules,
}

impl ContextReader {
    /// A reader of `repository`. `cache` is a folder of the user's for this repository.
    ///
    /// # Errors
    ///
    /// [`Error::Assessment`] if the shipped rules of paths are damaged.
    pub fn open(
        git: &GitProgram,
        repository: &Repository,
        cache: Option<&Path>,
        limits: ContextLimits,
    ) -> Result<Self, Error> {
        let rules = PathRules::shipped().map_err(Error::Assessment)?;
        let cache = cache.map(Path::to_path_buf);
        Ok(Self { git: git.clone(), repository: repository.clone(), limits, cache, kept: None, rules })
    }

    /// Reads the files of one state. `progress` hears how many of how many contents were read.
    ///
    /// # Errors
    ///
    /// What git refuses. Time that runs out is no error: the rest has no record, which is a gap.
    pub fn read(&mut self, at: TreeState<'_>, progress: &dyn Fn(usize, usize)) -> Result<ContextTree, Error> {
        let limits = self.structure_limits();
        let deadline = Deadline::after(self.git.limits().history);
        let mut session = Session::new(&self.git, self.repository.folder(), deadline, limits.listing);
        let root = self.repository.root();
        let at = match (at, root) {
            (TreeState::WorkTree | TreeState::Index, None) => TreeState::Commit("HEAD"),
            (at, _) => at,
        };
        let wanted = |path: &[u8]| RecordWant::of_path(path).is_some();
        let (cache, known) = (self.cache.as_deref(), self.kept.take());
        let other = session.without_overrides();
        // What is kept is read while git lists, and so are the patterns.
        let (listed, mut kept, patterns) = std::thread::scope(|scope| {
            let kept = scope.spawn(|| known.unwrap_or_else(|| KeptRecords::open(cache)));
            let patterns = scope.spawn(|| self.patterns(&other, at));
            (listed_files(&mut session, at, root, &limits, &wanted), joined(kept), joined(patterns))
        });
        let (patterns, (entries, gaps)) = (patterns?, listed?);
        let mut tree = ContextTree { gaps, ..ContextTree::default() };
        // By its path alone.
        let purposes = map_on_all(&entries, |(raw_path, _)| {
            (!patterns.matches(raw_path)).then(|| use_of_path(raw_path, &self.rules))
        });
        for ((raw_path, content), used_for) in entries.into_iter().zip(purposes) {
            match used_for {
                Some(used_for) => tree.files.push(file(raw_path, content, used_for)),
                None => tree.ignored = tree.ignored.saturating_add(1),
            }
        }
        let filled = self.fill(&mut tree, &mut kept, &limits, progress);
        self.kept = Some(kept);
        filled.map(|()| tree)
    }

    /// Keeps what was read for the next reader; why that was not possible, in our words.
    #[must_use]
    pub fn keep(&mut self) -> Option<String> {
        self.kept.as_mut()?.save()
    }

    /// The contents of files of a tree, by their places; what is gone or too large is left out.
    ///
    /// # Errors
    ///
    /// What git refuses.
    pub fn contents(&self, tree: &ContextTree, places: &[usize]) -> Result<BTreeMap<usize, Vec<u8>>, Error> {
        let limits = self.structure_limits();
        let session = Session::new(&self.git, self.repository.folder(), Deadline::after(limits.time), usize::MAX);
        let mut found = BTreeMap::new();
        let mut jobs = Vec::new();
        // Most of a work tree is what git has, and nearer.
        let on_disk = map_on_all(places, |place| {
            let (file, root) = tree.files.get(*place).zip(self.repository.root())?;
            let ListedContent::Blob(id) = &file.content else { return None };
            from_disk(root, &file.raw_path, id, limits.source.bytes)
        });
        for (number, (place, on_disk)) in places.iter().zip(on_disk).enumerate() {
            match (tree.files.get(*place).map(|file| &file.content), on_disk) {
                (_, Some(bytes)) => drop(found.insert(*place, bytes)),
                (Some(ListedContent::Bytes(bytes)), _) => drop(found.insert(*place, bytes.clone())),
                (Some(content @ ListedContent::Blob(_)), _) => jobs.push(job(number, Want::Manifest, content)),
                (Some(ListedContent::Unread(_)) | None, _) => {}
            }
        }
        if jobs.is_empty() {
            return Ok(found);
        }
        let bounds = ReadingBounds { limits: &limits, until: end_of(Some(limits.time)) };
        for finished in read_contents(&session, jobs, bounds, &|_, _| ())? {
            let place = places.get(finished.job.number).copied();
            if let (Some(place), Ok(ContentReading::Bytes(bytes))) = (place, finished.result) {
                found.insert(place, bytes);
            }
        }
        Ok(found)
    }

    fn structure_limits(&self) -> StructureLimits {
        StructureLimits {
            bytes: self.limits.bytes,
            time: self.git.limits().history,
            parse_time: self.limits.parse_time,
            source: SourceLimits { bytes: self.limits.source_bytes, ..SourceLimits::default() },
            ..StructureLimits::default()
        }
    }

    /// The patterns of the base: those of a commit hold, never an uncommitted change of them.
    fn patterns(&self, session: &Session<'_>, at: TreeState<'_>) -> Result<IgnorePatterns, Error> {
        let commit = match at {
            TreeState::Commit(commit) => commit,
            TreeState::Index | TreeState::WorkTree => "HEAD",
        };
        let named = format!("{commit}:{IGNORE_FILE}");
        match session.ask_about(&["cat-file", "blob"], &[&named], &[0]) {
            Ok(answer) => Ok(IgnorePatterns::parse(answer.stdout.get(..IGNORE_BYTES).unwrap_or(&answer.stdout))),
            // There is none, or no commit yet.
            Err(Error::GitFailed { .. }) => Ok(IgnorePatterns::default()),
            Err(error) => Err(error),
        }
    }

    /// Looks records up, and reads what isn't kept.
    fn fill(
        &self,
        tree: &mut ContextTree,
        kept: &mut KeptRecords,
        limits: &StructureLimits,
        progress: &dyn Fn(usize, usize),
    ) -> Result<(), Error> {
        let mut missing: BTreeMap<StructureCacheKey, Vec<usize>> = BTreeMap::new();
        let looked_up = map_on_all(&tree.files, |file| {
            let want = RecordWant::of_path(&file.raw_path).filter(|_| file.used_for != FilePurpose::Foreign)?;
            if matches!(file.content, ListedContent::Unread(_)) {
                return None;
            }
            let key = StructureCacheKey::new(Want::Record(want), &file.content, None);
            let found = kept.find(&key);
            Some((key, found))
        });
        for ((place, file), looked_up) in tree.files.iter_mut().enumerate().zip(looked_up) {
            match looked_up {
                Some((_, Some(found))) => file.record = Some(kept.take_up(found)),
                Some((key, None)) => missing.entry(key).or_default().push(place),
                None => {}
            }
        }
        let mut first: Vec<(usize, Vec<usize>)> =
            missing.into_values().filter_map(|places| Some((*places.first()?, places))).collect();
        // In the order of the paths, so that a limit cuts the same files off each time.
        first.sort_unstable_by_key(|(place, _)| *place);
        let session = Session::new(&self.git, self.repository.folder(), Deadline::after(limits.time), usize::MAX);
        let jobs = first.iter().enumerate().filter_map(|(number, (place, _))| {
            let file = tree.files.get(*place)?;
            Some(job(number, Want::Record(RecordWant::of_path(&file.raw_path)?), &file.content))
        });
        let bounds = ReadingBounds { limits, until: end_of(self.limits.time) };
        let finished = read_contents(&session, jobs.collect(), bounds, progress)?;
        tree.read = finished.len();
        let results: Vec<_> = finished.into_iter().map(|done| (done.job.number, done.job.key, done.result)).collect();
        let mut unread = first.len();
        for (number, key, result) in results {
            unread = unread.saturating_sub(1);
            let Ok(ContentReading::Record(record)) = result else { continue };
            kept.put(&key, &record);
            for place in first.get(number).map(|(_, places)| places.as_slice()).unwrap_or_default() {
                if let Some(file) = tree.files.get_mut(*place) {
                    file.record = Some((*record).clone());
                }
            }
        }
        tree.unread = unread;
        if unread > 0 {
            tree.gaps.push(format!(
                "{unread} of {} files were not read in time; what is in them counts from the next run on",
                tree.files.len()
            ));
        }
        Ok(())
    }
}

fn file(raw_path: Vec<u8>, content: ListedContent, used_for: FilePurpose) -> TreeFile {
    let changed = matches!(content, ListedContent::Bytes(_));
    let path = proem_text::path_text(&raw_path);
    TreeFile { path, used_for, raw_path, record: None, changed, content }
}

/// What the file at a path is for, by the rules of paths.
#[must_use]
pub fn use_of_path(path: &[u8], rules: &PathRules) -> FilePurpose {
    use_of(role_of(&RepoPath::new(path), &GitAttributes::default(), rules), path)
}

fn job(number: usize, want: Want, content: &ListedContent) -> ReadingJob<'_> {
    ReadingJob { number, key: StructureCacheKey::new(want, content, None), want, content, files: Vec::new() }
}

fn end_of(time: Option<Duration>) -> Instant {
    let now = Instant::now();
    // A day is as good as no end.
    now.checked_add(time.unwrap_or(Duration::from_hours(24))).unwrap_or(now)
}

/// Reads the files of a folder that is in no repository. Nothing is kept: there are no ids to keep it by.
///
/// # Errors
///
/// What [`folder::list`] reports; [`Error::TooManyFiles`] beyond the bound.
pub fn read_folder(
    environment: &crate::Environment,
    root: &Path,
    limits: &ContextLimits,
) -> Result<ContextTree, Error> {
    let rules = PathRules::shipped().map_err(Error::Assessment)?;
    let listing = folder::list(environment, root)?;
    let ignored = match read_beneath(root, Path::new(IGNORE_FILE), IGNORE_BYTES)? {
        Some(FileContent::Whole(bytes)) => IgnorePatterns::parse(&bytes),
        Some(FileContent::Cut(_)) | None => IgnorePatterns::default(),
    };
    let mut tree = ContextTree::default();
    let until = end_of(limits.time);
    for entry in listing.entries.into_iter().filter(|entry| entry.kind == EntryKind::File).take(MOST_FILES) {
        use std::os::unix::ffi::OsStrExt;
        let raw_path = entry.path.as_os_str().as_bytes().to_vec();
        if ignored.matches(&raw_path) {
            tree.ignored = tree.ignored.saturating_add(1);
            continue;
        }
        let used_for = use_of_path(&raw_path, &rules);
        let want = RecordWant::of_path(&raw_path).filter(|_| used_for != FilePurpose::Foreign);
        let (mut record, mut content) = (None, ListedContent::Unread(SourceGap::NotReached));
        if let Some(want) = want {
            if Instant::now() >= until {
                tree.unread = tree.unread.saturating_add(1);
            } else if let Some(bytes) = readable(root, &entry.path, limits.source_bytes) {
                record = Some(record::of_source(want, &bytes, limits.parse_time));
                content = ListedContent::Bytes(bytes);
            }
        }
        let path = proem_text::path_text(&raw_path);
        tree.read = tree.read.saturating_add(usize::from(record.is_some()));
        tree.files.push(TreeFile { path, raw_path, used_for, record, changed: false, content });
    }
    if tree.unread > 0 {
        tree.gaps.push(format!("{} of {} files were not read in time", tree.unread, tree.files.len()));
    }
    Ok(tree)
}

fn readable(root: &Path, relative: &Path, cap: usize) -> Option<Vec<u8>> {
    match files::read_beneath(root, relative, cap) {
        Ok(Some(FileContent::Whole(bytes))) => Some(bytes),
        _ => None,
    }
}

impl ContextTree {
    /// The contents that are held already: all of a folder without a repository, and of changed files.
    #[must_use]
    pub fn held(&self, place: usize) -> Option<&[u8]> {
        match self.files.get(place).map(|file| &file.content) {
            Some(ListedContent::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The record of a file that was not read in time, of its content, which was read since; `None` if it has one, or is no
    /// text.
    #[must_use]
    pub fn late_record(&self, place: usize, content: &[u8], limits: &ContextLimits) -> Option<FileRecord> {
        let file = self.files.get(place).filter(|file| file.record.is_none())?;
        let want = RecordWant::of_path(&file.raw_path).filter(|_| file.used_for != FilePurpose::Foreign)?;
        Some(record::of_source(want, content, limits.parse_time))
    }

    /// The tree with the commits before and at the past's tip, to be ranked.
    #[must_use]
    pub fn corpus<'t>(&'t self, past: Option<CorpusPast<'t>>) -> ContextCorpus<'t> {
        let files = self.files.iter().map(|file| CorpusFile {
            path: &file.path,
            used_for: match &file.record {
                // What a program wrote is changed where that program gets it from.
                Some(record) if record.is_machine_made() && file.used_for == FilePurpose::Code => FilePurpose::Foreign,
                _ => file.used_for,
            },
            record: file.record.as_ref(),
            changed: file.changed,
        });
        let corpus = Corpus { files: files.collect(), ..Corpus::default() };
        let mut corpus = ContextCorpus { corpus, ids: Vec::new() };
        let Some(CorpusPast { history, tip, asker }) = past else { return corpus };
        let past = history.past(tip);
        let mut places = FilePlaces::default();
        let known = map_on_all(&self.files, |file| past.file(&RepoPath::new(file.raw_path.clone())));
        for (place, id) in (0_u32..).zip(known) {
            if let Some(id) = id {
                places.insert(id.0, place);
            }
        }
        let most = usize::try_from(MOST_COMMITS).unwrap_or(usize::MAX);
        let commits: Vec<CommitIndex> = past.commits().take(most).map(|(index, _)| index).collect();
        let subjects = map_on_all(&commits, |index| distinct_words(history.subject(*index)));
        for (index, terms) in commits.into_iter().zip(subjects) {
            let touches = history.touches(index);
            follow_moves(history, touches, &mut places);
            if touches.len() > MOST_TOUCHED {
                continue;
            }
            let mut files: Vec<u32> = touches.iter().filter_map(|touch| places.get(touch.file.0)).collect();
            files.sort_unstable();
            files.dedup();
            if !files.is_empty() {
                let author = history.commit(index).map(|commit| commit.author);
                let is_own = asker.is_some() && author == asker;
                let subject = history.subject(index);
                corpus.corpus.commits.push(CorpusCommit { subject, terms, files, is_own });
                corpus.ids.push(index);
            }
        }
        corpus
    }
}

/// Lets what is known of a file that a commit added speak for the one of the same name that it deleted: git's exact
/// renames are one file already, but a file that moves to another package usually changes on the way.
fn follow_moves(history: &History, touches: &[Touch], places: &mut FilePlaces) {
    let is = |status: FileStatus| touches.iter().filter(move |touch| touch.status == status);
    if is(FileStatus::Added).next().is_none() || is(FileStatus::Deleted).next().is_none() {
        return;
    }
    let name = |touch: &Touch| {
        let path = history.path(touch.path).as_bytes();
        path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_vec()
    };
    // A name that comes or goes twice says nothing.
    let once = |status: FileStatus| {
        let mut found: BTreeMap<Vec<u8>, Option<u32>> = BTreeMap::new();
        for touch in is(status) {
            found.entry(name(touch)).and_modify(|file| *file = None).or_insert(Some(touch.file.0));
        }
        found
    };
    let deleted = once(FileStatus::Deleted);
    for (name, added) in once(FileStatus::Added) {
        let from = deleted.get(&name).copied().flatten();
        let Some((added, from)) = added.zip(from) else { continue };
        if let Some(place) = places.get(added)
            && places.get(from).is_none()
        {
            places.insert(from, place);
        }
    }
}

/// The places of a history's files in the tree: a list, for their numbers are those of a list.
#[derive(Debug, Default)]
struct FilePlaces(Vec<Option<u32>>);

impl FilePlaces {
    fn get(&self, file: u32) -> Option<u32> {
        self.0.get(usize::try_from(file).ok()?).copied().flatten()
    }

    fn insert(&mut self, file: u32, place: u32) {
        let Ok(file) = usize::try_from(file) else { return };
        if self.0.len() <= file {
            self.0.resize(file.saturating_add(1), None);
        }
        if let Some(slot) = self.0.get_mut(file) {
            *slot = Some(place);
        }
    }
}

/// What is ranked, with the commits that it knows.
#[derive(Debug, Clone)]
pub struct ContextCorpus<'t> {
    /// Files and commits.
    pub corpus: Corpus<'t>,
    /// Which commit each of the corpus' commits is.
    pub ids: Vec<CommitIndex>,
}

/// The past that ranking looks back on.
#[derive(Debug, Clone, Copy)]
pub struct CorpusPast<'h> {
    /// The commits.
    pub history: &'h History,
    /// The newest one that counts.
    pub tip: CommitIndex,
    /// Whoever asks, if they wrote any of them.
    pub asker: Option<PersonId>,
}

/// The past of a repository, as [`context_history`] reads it.
#[derive(Debug)]
pub struct ContextPast {
    history: History,
    tip: CommitIndex,
    asker: Option<PersonId>,
}

impl ContextPast {
    /// The commits.
    #[must_use]
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// All of it.
    #[must_use]
    pub const fn view(&self) -> CorpusPast<'_> {
        CorpusPast { history: &self.history, tip: self.tip, asker: self.asker }
    }
}

/// The past of `HEAD` as far as ranking looks back; `None` where there is no commit. Whoever asks is the one whom git would
/// name as the author of a commit made here. Why something isn't known is a note.
///
/// # Errors
///
/// What git refuses.
pub fn context_history(
    git: &GitProgram,
    repository: &Repository,
    cache: Option<&Path>,
    now: i64,
    notes: &mut Vec<String>,
) -> Result<Option<ContextPast>, Error> {
    let session = Session::new(git, repository.folder(), Deadline::after(git.limits().question), 4096);
    let head = match session.ask(&HEAD_COMMIT, &[0, 1, 128]) {
        Ok(answer) => ObjectId::parse(answer.stdout.trim_ascii()),
        Err(Error::GitFailed { .. }) => None,
        Err(error) => return Err(error),
    };
    let Some(head) = head else { return Ok(None) };
    let wanted = HistoryWanted { tips: vec![head], most_commits: MOST_COMMITS, now, ..HistoryWanted::default() };
    let (reading, names) = std::thread::scope(|scope| {
        let names = scope.spawn(|| user(&session));
        (history(git, repository, &wanted, cache, &|_| ()), joined(names))
    });
    let reading = reading?;
    notes.extend(reading.notes);
    let Some(tip) = reading.history.find(&head) else { return Ok(None) };
    let person = names.map(|(name, mail)| Mailmap::default().person(&name, &mail));
    let asker = person.and_then(|person| reading.history.person_with(&person.mail));
    Ok(Some(ContextPast { history: reading.history, tip, asker }))
}
