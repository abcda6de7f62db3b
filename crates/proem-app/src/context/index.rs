//! Reads and keeps the whole of a repository after a first look, in a process of its own.
//!
//! Invariants: one process at a time reads a repository for this. It starts only if its results can be kept, and some
//! time after a failure. The reason for a failure is kept for `doctor`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use proem_runtime::files::{self, FileAccess, FileContent};
use proem_runtime::lock::{InstanceLock, LockRefusal};
use proem_runtime::schedule::own_process::OwnProgram;
use proem_select::context::ContextWeights;

use super::reading::{RepositoryReading, cache_folder};
use super::{ContextPatience, ContextQuery, FileChoice};
use crate::error::Error;
use crate::project::OpenProject;

/// The file that is locked while a process reads.
const LOCK: &str = "index.lock";

/// The file that says how the last such process failed.
const FAILURE: &str = "index-failure.txt";

/// The longest such text that is read, in bytes.
const FAILURE_BYTES: usize = 4096;

/// The state of the file while a process reads, and after one that was ended from outside.
const UNFINISHED: &str = "it was ended before it was done";

/// After a failure nothing is started for so long: what failed once fails again, and costs time each time.
const REST: Duration = Duration::from_hours(1);

/// How long such a process is waited for at most, and how long between two looks.
const LONGEST: Duration = Duration::from_mins(10);
const POLL: Duration = Duration::from_millis(50);

/// Whether the whole of a repository is being read beside this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexStart {
    /// A process was started.
    Started,
    /// One is at it already.
    UnderWay,
    /// None was started: results can't be kept, or it failed a short time ago.
    NotStarted,
}

/// Starts `program`, which calls [`index_repository`], unless there is nothing to keep, no place to keep it, or one is at it.
///
/// # Errors
///
/// If the system starts no process.
pub fn begin_index(program: &OwnProgram, project: &OpenProject) -> Result<IndexStart, Error> {
    let folder = cache_folder(project);
    if fs::create_dir_all(&folder).is_err() || failed_lately(&folder.join(FAILURE)) {
        return Ok(IndexStart::NotStarted);
    }
    match InstanceLock::acquire(&folder.join(LOCK)) {
        // The process takes it itself. Of two that come at once the second ends.
        Ok(lock) => drop(lock),
        Err(LockRefusal::Held { .. }) => return Ok(IndexStart::UnderWay),
        Err(LockRefusal::Io { .. }) => return Ok(IndexStart::NotStarted),
    }
    program
        .start_apart()
        .map_err(|error| Error::outside(format!("could not go on reading the repository: {error}")))?;
    Ok(IndexStart::Started)
}

/// Whether a process failed, or is at it, since a short time.
fn failed_lately(failure: &Path) -> bool {
    let changed = fs::symlink_metadata(failure).and_then(|data| data.modified());
    changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|since| since < REST))
}

/// Reads and keeps the whole of the repository around a folder, unless another process is at it.
///
/// # Errors
///
/// If the repository is unreadable or what was read can't be kept. `doctor` says so, too.
pub fn index_repository(root: &Path, project: &OpenProject) -> Result<(), Error> {
    let folder = cache_folder(project);
    let failed = |error: &dyn std::fmt::Display| Error::outside(format!("`{}`: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
    let _lock = match InstanceLock::acquire(&folder.join(LOCK)) {
        Ok(lock) => lock,
        Err(LockRefusal::Held { .. }) => return Ok(()),
        Err(error @ LockRefusal::Io { .. }) => return Err(failed(&error)),
    };
    note_failure(&folder, UNFINISHED)?;
    match read_whole(root, project) {
        Ok(()) => fs::remove_file(folder.join(FAILURE)).map_err(|error| failed(&error)),
        Err(error) => {
            note_failure(&folder, &error.to_string())?;
            Err(error)
        }
    }
}

fn read_whole(root: &Path, project: &OpenProject) -> Result<(), Error> {
    let choice = FileChoice::default();
    let patience = ContextPatience::Whole;
    let query = ContextQuery { task: "", root, most: 0, patience, choice: &choice, answers: None };
    let reading = RepositoryReading::new(&query, project, &ContextWeights::shipped()?, &|_, _| ())?;
    match reading.not_kept {
        Some(why) => Err(Error::outside(why)),
        None if reading.tree.is_out_of_time => {
            Err(Error::outside("the repository is too large to be read in the time that there is".to_owned()))
        }
        None => Ok(()),
    }
}

fn note_failure(folder: &Path, why: &str) -> Result<(), Error> {
    files::replace_file(folder, Path::new(FAILURE), why.as_bytes(), FileAccess::Private).map_err(Error::from)
}

/// Waits until no process reads the repository, and keeps others from beginning as long as what is returned lives.
/// `None` where there can be no lock, or after a time in which any such process ends.
pub(super) fn wait_for_index(project: &OpenProject) -> Option<InstanceLock> {
    let folder = cache_folder(project);
    fs::create_dir_all(&folder).ok()?;
    let began = Instant::now();
    loop {
        match InstanceLock::acquire(&folder.join(LOCK)) {
            Ok(lock) => return Some(lock),
            Err(LockRefusal::Held { .. }) if began.elapsed() < LONGEST => std::thread::sleep(POLL),
            Err(_) => return None,
        }
    }
}

/// How the last process that read a project's repository failed. `None` if it didn't, or is at it.
#[must_use]
pub fn index_failure(project: &OpenProject) -> Option<String> {
    let folder: PathBuf = cache_folder(project);
    let Ok(Some(FileContent::Whole(text))) = files::read_regular(&folder.join(FAILURE), FAILURE_BYTES) else {
        return None;
    };
    // Asking for the lock makes its file, which is there if a process ever began.
    InstanceLock::acquire(&folder.join(LOCK)).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
