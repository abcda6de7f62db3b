//! Lists a state of a repository or folder, and reads its files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use proem_imports::SourceLimits;
use proem_risk::path::PathRules;
use proem_select::context::words::Term;

use super::kept_records::KeptRecords;
use super::on_disk::from_disk;
use super::{
    ContextLimits, ContextTree, FileReading, IGNORE_FILE, IgnorePatterns, ReadingBound, RecordWant, TreeFile, record,
    use_of_path,
};
use crate::files::{FileContent, read_beneath};
use crate::folder::{self, EntryKind};
use crate::git::{GitProgram, Repository, Session};
use crate::parallel::{join_thread, map_on_all};
use crate::process::Deadline;
use crate::structure::{
    ContentReading, ListedContent, ReadingBounds, ReadingJob, SourceGap, StructureCacheKey, StructureLimits, TreeState,
    Want, listed_files, read_contents,
};
use crate::{Environment, Error};

/// The most of the file of patterns that is read, in bytes.
const IGNORE_BYTES: usize = 64 * 1024;

/// The most files of a folder without a repository that are looked at.
const MOST_FILES: usize = 200_000;

/// How many contents are read between two looks at the bounds, beside a work tree and without one: git is started once
/// for each such piece.
const AT_ONCE: usize = 256;
const AT_ONCE_FROM_GIT: usize = 4_096;

/// The reader of trees.
#[derive(Debug)]
pub struct ContextReader {
    origin: ReaderOrigin,
    limits: ContextLimits,
    /// The folder of records.
    cache: Option<PathBuf>,
    /// The kept records, once they were read.
    kept: Option<KeptRecords>,
    rules: PathRules,
}

/// The origin of files.
#[derive(Debug)]
enum ReaderOrigin {
    Repository {
        git: GitProgram,
        repository: Repository,
    },
    /// A folder that is in no repository. Nothing is kept of it: there are no ids to keep it by.
    Folder {
        environment: Environment,
        root: PathBuf,
    },
}

/// The results for the contents of files, by their places.
struct Readings<T> {
    made: Vec<(usize, T)>,
    /// How many of the places were reached.
    reached: usize,
    is_out_of_time: bool,
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
        let origin = ReaderOrigin::Repository { git: git.clone(), repository: repository.clone() };
        let rules = PathRules::shipped().map_err(Error::Assessment)?;
        Ok(Self { origin, limits, cache: cache.map(Path::to_path_buf), kept: None, rules })
    }

    /// A reader of a folder that is in no repository.
    ///
    /// # Errors
    ///
    /// [`Error::Assessment`] if the shipped rules of paths are damaged.
    pub fn of_folder(environment: &Environment, root: &Path, limits: ContextLimits) -> Result<Self, Error> {
        let origin = ReaderOrigin::Folder { environment: environment.clone(), root: root.to_path_buf() };
        let rules = PathRules::shipped().map_err(Error::Assessment)?;
        Ok(Self { origin, limits, cache: None, kept: None, rules })
    }

    /// Whether it reads a repository, which has a history.
    #[must_use]
    pub const fn is_of_repository(&self) -> bool {
        matches!(self.origin, ReaderOrigin::Repository { .. })
    }

    /// Lists the files of one state, with what is kept of them. A folder has only one.
    ///
    /// # Errors
    ///
    /// Git's refusals, and the errors of [`folder::list_files_below`].
    pub fn list(&mut self, at: TreeState<'_>) -> Result<ContextTree, Error> {
        let known = self.kept.take();
        let (entries, gaps, patterns, kept) = match &self.origin {
            ReaderOrigin::Repository { git, repository } => self.list_repository((git, repository), at, known)?,
            ReaderOrigin::Folder { environment, root } => list_folder(environment, root)?,
        };
        let mut tree = ContextTree { gaps, ..ContextTree::default() };
        // By its path alone.
        let purposes = map_on_all(&entries, |(raw_path, _)| {
            (!patterns.matches(raw_path)).then(|| use_of_path(raw_path, &self.rules))
        });
        for ((raw_path, content), used_for) in entries.into_iter().zip(purposes) {
            match used_for {
                Some(used_for) => tree.files.push(TreeFile::new(raw_path, content, used_for)),
                None => tree.ignored = tree.ignored.saturating_add(1),
            }
        }
        self.kept = Some(kept);
        self.look_up(&mut tree);
        Ok(tree)
    }

    /// Lists the files of one state and reads all of them. `progress` hears how many of how many contents were read.
    ///
    /// # Errors
    ///
    /// As [`Self::list`].
    pub fn read(&mut self, at: TreeState<'_>, progress: &dyn Fn(usize, usize)) -> Result<ContextTree, Error> {
        let mut tree = self.list(at)?;
        let all = ReadingBound { files: self.limits.files, bytes: self.limits.bytes };
        self.read_missing(&mut tree, all, progress)?;
        Ok(tree)
    }

    /// Reads what isn't kept, in the order of the paths, within `bound`. The rest is counted as not read.
    ///
    /// # Errors
    ///
    /// Git's refusals.
    pub fn read_missing(
        &mut self,
        tree: &mut ContextTree,
        bound: ReadingBound,
        progress: &dyn Fn(usize, usize),
    ) -> Result<(), Error> {
        let missing = std::mem::take(&mut tree.missing);
        let first: Vec<usize> = missing.iter().filter_map(|places| places.first().copied()).collect();
        let work = |file: &TreeFile, bytes: &[u8]| Some(record::of_source(file.want()?, bytes));
        let readings = self.each_content((tree, &first), bound, &work, progress)?;
        let (reached, is_out_of_time) = (readings.reached, readings.is_out_of_time);
        let by_place: BTreeMap<usize, &Vec<usize>> = first.iter().copied().zip(&missing).collect();
        for (place, record) in readings.made {
            let Some((record, places)) = record.zip(by_place.get(&place)) else { continue };
            if let (Some(kept), Some(key)) = (&mut self.kept, tree.files.get(place).and_then(key_of)) {
                kept.put(&key, &record);
            }
            for place in places.iter().copied() {
                if let Some(file) = tree.files.get_mut(place) {
                    file.set(record.clone(), FileReading::Whole);
                }
            }
        }
        tree.read = tree.read.saturating_add(reached);
        tree.is_out_of_time |= is_out_of_time;
        tree.missing = missing.into_iter().skip(reached).collect();
        tree.unread = tree.missing.iter().map(Vec::len).sum();
        Ok(())
    }

    /// Counts each of `terms`, which are sorted, in each file, in this order of the files' places. Kept records aren't
    /// used: the extent of the records must not decide the result.
    ///
    /// # Errors
    ///
    /// Git's refusals.
    pub fn count_words(
        &self,
        tree: &mut ContextTree,
        (order, terms): (&[usize], &[Term]),
        progress: &dyn Fn(usize, usize),
    ) -> Result<(), Error> {
        let is_text = |place: &usize| tree.files.get(*place).is_some_and(|file| file.want().is_some());
        let places: Vec<usize> = order.iter().copied().filter(is_text).collect();
        let bound = ReadingBound { files: self.limits.files, bytes: self.limits.bytes };
        let work = |file: &TreeFile, bytes: &[u8]| Some(record::of_words(file.want()?, bytes, terms));
        let readings = self.each_content((tree, &places), bound, &work, progress)?;
        for file in &mut tree.files {
            (file.record, file.reading) = (None, FileReading::Path);
        }
        tree.unread = places.len().saturating_sub(readings.reached);
        tree.is_out_of_time |= readings.is_out_of_time;
        for (place, record) in readings.made {
            if let Some((record, file)) = record.zip(tree.files.get_mut(place)) {
                file.set(record, FileReading::Counted);
            }
        }
        Ok(())
    }

    /// Reads these files whole, in their order, within `bound`; what is kept of one isn't read again, and counts as if it
    /// were.
    ///
    /// # Errors
    ///
    /// Git's refusals.
    pub fn read_files(&self, tree: &mut ContextTree, places: &[usize], bound: ReadingBound) -> Result<(), Error> {
        let work = |file: &TreeFile, bytes: &[u8]| {
            let kept = || Some(self.kept.as_ref()?.find(&key_of(file)?)?.into_record());
            kept().or_else(|| Some(record::of_source(file.want()?, bytes)))
        };
        let readings = self.each_content((tree, places), bound, &work, &|_, _| ())?;
        tree.read = tree.read.saturating_add(readings.reached);
        tree.is_out_of_time |= readings.is_out_of_time;
        for (place, record) in readings.made {
            if let Some((record, file)) = record.zip(tree.files.get_mut(place)) {
                file.set(record, FileReading::Whole);
            }
        }
        Ok(())
    }

    /// Keeps what was read for the next reader. Why that was not possible, in our words.
    #[must_use]
    pub fn keep(&mut self) -> Option<String> {
        self.kept.as_mut()?.save()
    }

    /// The contents of files of a tree, by their places; what is gone or too large is left out.
    ///
    /// # Errors
    ///
    /// Git's refusals.
    pub fn contents(&self, tree: &ContextTree, places: &[usize]) -> Result<BTreeMap<usize, Vec<u8>>, Error> {
        let bound = ReadingBound { files: self.limits.files, bytes: self.limits.bytes };
        let readings = self.each_content((tree, places), bound, &|_, bytes| bytes.to_vec(), &|_, _| ())?;
        Ok(readings.made.into_iter().collect())
    }

    fn list_repository(
        &self,
        (git, repository): (&GitProgram, &Repository),
        at: TreeState<'_>,
        known: Option<KeptRecords>,
    ) -> Result<Listing, Error> {
        let limits = self.structure_limits();
        let deadline = Deadline::after(git.limits().history);
        let mut session = Session::new(git, repository.folder(), deadline, limits.listing);
        let root = repository.root();
        let at = match (at, root) {
            (TreeState::WorkTree | TreeState::Index, None) => TreeState::Commit("HEAD"),
            (at, _) => at,
        };
        let wanted = |path: &[u8]| RecordWant::of_path(path).is_some();
        let cache = self.cache.as_deref();
        let other = session.without_overrides();
        // Kept records and patterns are read while git lists.
        let (listed, kept, patterns) = std::thread::scope(|scope| {
            let kept = scope.spawn(|| known.unwrap_or_else(|| KeptRecords::open(cache)));
            let patterns = scope.spawn(|| patterns_at(&other, at));
            (listed_files(&mut session, at, root, &limits, &wanted), join_thread(kept), join_thread(patterns))
        });
        let (entries, gaps) = listed?;
        Ok((entries, gaps, patterns?, kept))
    }

    fn structure_limits(&self) -> StructureLimits {
        StructureLimits {
            bytes: u64::MAX,
            source: SourceLimits { bytes: self.limits.source_bytes, ..SourceLimits::default() },
            ..StructureLimits::default()
        }
    }

    /// Looks records up; what isn't kept is missing.
    fn look_up(&mut self, tree: &mut ContextTree) {
        let Some(kept) = &mut self.kept else { return };
        let is_folder = matches!(self.origin, ReaderOrigin::Folder { .. });
        let looked_up = map_on_all(&tree.files, |file| {
            let key = key_of(file)?;
            let found = kept.find(&key);
            Some((key, found))
        });
        let mut missing: BTreeMap<StructureCacheKey, Vec<usize>> = BTreeMap::new();
        for ((place, file), looked_up) in tree.files.iter_mut().enumerate().zip(looked_up) {
            match looked_up {
                Some((_, Some(found))) => file.set(kept.take_up(found), FileReading::Whole),
                Some((key, None)) => missing.entry(key).or_default().push(place),
                // Without ids each file is a content of its own.
                None if is_folder && file.want().is_some() => tree.missing.push(vec![place]),
                None => {}
            }
        }
        tree.missing.extend(missing.into_values());
        // In the order of the paths, so that a bound cuts the same files off each time.
        tree.missing.sort_unstable();
        tree.unread = tree.missing.iter().map(Vec::len).sum();
    }

    /// The results of `work` for the contents of files, in the order of `places`, within the bound and far within the
    /// clock's.
    fn each_content<T: Send>(
        &self,
        (tree, places): (&ContextTree, &[usize]),
        bound: ReadingBound,
        work: &(dyn Fn(&TreeFile, &[u8]) -> T + Sync),
        progress: &dyn Fn(usize, usize),
    ) -> Result<Readings<T>, Error> {
        let now = Instant::now();
        let until = now.checked_add(self.limits.time).unwrap_or(now);
        let at_once = if self.has_work_tree() { AT_ONCE } else { AT_ONCE_FROM_GIT };
        let mut readings = Readings { made: Vec::new(), reached: 0, is_out_of_time: false };
        let mut bytes = 0_u64;
        progress(0, places.len());
        let first = places.get(..bound.files).unwrap_or(places);
        for piece in first.chunks(at_once) {
            readings.is_out_of_time = Instant::now() >= until;
            if bytes >= bound.bytes || readings.is_out_of_time {
                break;
            }
            let near = map_on_all(piece, |place| {
                let file = tree.files.get(*place)?;
                let content = self.near_content(file)?;
                Some((content.len(), work(file, &content)))
            });
            let mut far = Vec::new();
            for (place, made) in piece.iter().copied().zip(near) {
                match made {
                    Some((length, made)) => {
                        bytes = bytes.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
                        readings.made.push((place, made));
                    }
                    None => far.push(place),
                }
            }
            let far = self.contents_from_git(tree, &far, until)?;
            let made = map_on_all(&far, |(place, content)| Some((*place, work(tree.files.get(*place)?, content))));
            readings.made.extend(made.into_iter().flatten());
            let lengths = far.iter().map(|(_, content)| u64::try_from(content.len()).unwrap_or(u64::MAX));
            bytes = lengths.fold(bytes, u64::saturating_add);
            readings.reached = readings.reached.saturating_add(piece.len());
            progress(readings.reached, places.len());
        }
        Ok(readings)
    }

    fn has_work_tree(&self) -> bool {
        match &self.origin {
            ReaderOrigin::Repository { repository, .. } => repository.root().is_some(),
            ReaderOrigin::Folder { .. } => true,
        }
    }

    /// A content that is in the work tree or is held, which is nearer than git.
    fn near_content<'f>(&self, file: &'f TreeFile) -> Option<Cow<'f, [u8]>> {
        let cap = self.limits.source_bytes;
        match (&self.origin, &file.content) {
            (_, ListedContent::Bytes(bytes)) => Some(Cow::Borrowed(bytes)),
            (ReaderOrigin::Repository { repository, .. }, ListedContent::Blob(id)) => {
                from_disk(repository.root()?, &file.raw_path, id, cap).map(Cow::Owned)
            }
            (ReaderOrigin::Repository { .. }, ListedContent::Unread(_)) => None,
            (ReaderOrigin::Folder { root, .. }, _) => {
                match read_beneath(root, Path::new(OsStr::from_bytes(&file.raw_path)), cap) {
                    Ok(Some(FileContent::Whole(bytes))) => Some(Cow::Owned(bytes)),
                    // A file that is gone or may not be read counts as missing.
                    Ok(_) | Err(_) => None,
                }
            }
        }
    }

    /// Contents that only git has.
    fn contents_from_git(
        &self,
        tree: &ContextTree,
        places: &[usize],
        until: Instant,
    ) -> Result<Vec<(usize, Vec<u8>)>, Error> {
        let ReaderOrigin::Repository { git, repository } = &self.origin else { return Ok(Vec::new()) };
        let jobs = places.iter().enumerate().filter_map(|(number, place)| {
            let content @ ListedContent::Blob(_) = &tree.files.get(*place)?.content else { return None };
            let key = StructureCacheKey::new(Want::Manifest, content, Some(number));
            Some(ReadingJob { number, key, want: Want::Manifest, content, files: Vec::new() })
        });
        let jobs: Vec<ReadingJob<'_>> = jobs.collect();
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let limits = self.structure_limits();
        let session = Session::new(git, repository.folder(), Deadline::after(git.limits().history), usize::MAX);
        let finished = read_contents(&session, jobs, ReadingBounds { limits: &limits, until }, &|_, _| ())?;
        let mut found: Vec<(usize, Vec<u8>)> = finished
            .into_iter()
            .filter_map(|done| match done.result {
                Ok(ContentReading::Bytes(bytes)) => Some((*places.get(done.job.number)?, bytes)),
                _ => None,
            })
            .collect();
        // Threads finish in any order.
        found.sort_unstable_by_key(|(place, _)| *place);
        Ok(found)
    }
}

/// The parts of a listing: files with their contents, gaps, ignored files, and kept records.
type Listing = (Vec<(Vec<u8>, ListedContent)>, Vec<String>, IgnorePatterns, KeptRecords);

fn list_folder(environment: &Environment, root: &Path) -> Result<Listing, Error> {
    let listing = folder::list_files_below(environment, root)?;
    let ignored = match read_beneath(root, Path::new(IGNORE_FILE), IGNORE_BYTES)? {
        Some(FileContent::Whole(bytes)) => IgnorePatterns::parse(&bytes),
        Some(FileContent::Cut(_)) | None => IgnorePatterns::default(),
    };
    let files = listing.entries.into_iter().filter(|entry| entry.kind == EntryKind::File);
    let mut entries: Vec<(Vec<u8>, ListedContent)> = files
        .map(|entry| (entry.path.as_os_str().as_bytes().to_vec(), ListedContent::Unread(SourceGap::NotReached)))
        .collect();
    let gaps = entries.len().checked_sub(MOST_FILES).filter(|more| *more > 0);
    let gaps = gaps.map(|more| format!("{more} files beyond the first {MOST_FILES} of the folder were not looked at"));
    entries.truncate(MOST_FILES);
    Ok((entries, gaps.into_iter().collect(), ignored, KeptRecords::default()))
}

/// The key of a file's record. `None` if there is none to keep.
fn key_of(file: &TreeFile) -> Option<StructureCacheKey> {
    let want = file.want().filter(|_| !matches!(file.content, ListedContent::Unread(_)))?;
    Some(StructureCacheKey::new(Want::Record(want), &file.content, None))
}

/// The patterns of the base: those of a commit hold, never an uncommitted change of them.
fn patterns_at(session: &Session<'_>, at: TreeState<'_>) -> Result<IgnorePatterns, Error> {
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
