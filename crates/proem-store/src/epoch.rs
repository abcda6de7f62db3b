//! Finds the living processes: one lock file for each, that the system lets go when the process dies.
//!
//! Beside the database `records.db` lies the folder `records.db.epochs` with one file for each store
//! that is open for writing, locked as long as it is (`flock(2)`: such a lock belongs to the open file,
//! so a second store in the same process is as apart from the first as one of another process).
//!
//! Invariant: who gets the lock of an epoch may bury it, for nobody lives in it any more.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use proem_text::hex;

use crate::error::{Error, Unusable};
use crate::file::{OpenMode, open_plain_file};

/// The name of the lock that is held while a store is being opened. No epoch's id has such a name.
const OPENING: &str = "opening";

/// The end of a lock's name before it is locked.
const UNLOCKED: &str = ".new";

/// An epoch of this process.
#[derive(Debug)]
pub(crate) struct Epoch {
    /// Its id: sixteen hexadecimal digits.
    pub(crate) id: String,
    lock: EpochLock,
}

/// A lock file that is locked here until this is dropped.
#[derive(Debug)]
pub(crate) struct EpochLock {
    path: PathBuf,
    _file: File,
}

/// An id for an epoch or a store: sixteen random hexadecimal digits.
pub(crate) fn new_id(database: &Path) -> Result<String, Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Unusable::Other { path: database.to_owned(), why: format!("no random bytes: {error}") })?;
    Ok(hex::encode_hex(bytes))
}

/// The folder of a database's locks.
fn lock_folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".epochs");
    PathBuf::from(name)
}

impl Epoch {
    /// Begins an epoch with this id: its lock has its name only once it is locked.
    pub(crate) fn begin(database: &Path, id: String) -> io::Result<Self> {
        let folder = lock_folder(database);
        let (before, path) = (folder.join(format!("{id}{UNLOCKED}")), folder.join(&id));
        let file = open_plain_file(&before, OpenMode::New)?;
        file.try_lock()?;
        fs::rename(&before, &path)?;
        Ok(Self { id, lock: EpochLock { path, _file: file } })
    }

    /// Removes its lock, once its end is written.
    pub(crate) fn end(self) {
        self.lock.remove();
    }
}

impl EpochLock {
    /// Removes the file; what can't be removed is swept up by a later opening.
    pub(crate) fn remove(self) {
        _ = fs::remove_file(&self.path);
    }
}

/// Waits until no other store on this database is being opened, and keeps others waiting as long as
/// the file is kept.
pub(crate) fn wait_to_open(database: &Path) -> io::Result<File> {
    let folder = lock_folder(database);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let file = open_plain_file(&folder.join(OPENING), OpenMode::Write)?;
    file.lock()?;
    Ok(file)
}

/// The lock of an epoch, if nobody lives in it. `None` if somebody does. An epoch without a file is nobody's: its lock
/// is rebuilt.
pub(crate) fn dead(database: &Path, id: &str) -> io::Result<Option<EpochLock>> {
    let path = lock_folder(database).join(id);
    let file = open_plain_file(&path, OpenMode::Write)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(EpochLock { path, _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether somebody lives in an epoch, as far as that can be told without touching anything.
pub(crate) fn is_alive(database: &Path, id: &str) -> bool {
    let Ok(file) = open_plain_file(&lock_folder(database).join(id), OpenMode::Read) else {
        return false;
    };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Removes the locks of dead processes whose epochs are not written down. `known` are the ids of those that are. How
/// many there were: they died at once, or what they wrote is gone. Called while [`wait_to_open`] is held.
pub(crate) fn remove_dead_locks(database: &Path, known: &[String]) -> usize {
    let Ok(files) = fs::read_dir(lock_folder(database)) else { return 0 };
    let mut swept = 0_usize;
    for file in files.flatten() {
        let name = file.file_name();
        let Some(name) = name.to_str() else { continue };
        if name == OPENING || known.iter().any(|id| id == name) {
            continue;
        }
        if let Ok(Some(lock)) = dead(database, name) {
            lock.remove();
            swept = swept.saturating_add(1);
        }
    }
    swept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_lives_as_long_as_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("records.db");
        drop(wait_to_open(&database).unwrap());
        let epoch = Epoch::begin(&database, "00aa".to_owned()).unwrap();
        assert!(is_alive(&database, "00aa"));
        assert!(dead(&database, "00aa").unwrap().is_none(), "not even for the same process");
        assert_eq!(remove_dead_locks(&database, &[]), 0);
        assert!(is_alive(&database, "00aa"));
        drop(epoch);
        assert!(!is_alive(&database, "00aa"));
        dead(&database, "00aa").unwrap().unwrap().remove();
        assert!(!is_alive(&database, "00aa"));
        assert!(dead(&database, "unheard-of").unwrap().is_some());
    }

    #[test]
    fn the_sweep_leaves_what_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("records.db");
        drop(wait_to_open(&database).unwrap());
        for id in ["00aa", "00bb"] {
            drop(Epoch::begin(&database, id.to_owned()).unwrap());
        }
        assert_eq!(remove_dead_locks(&database, &["00bb".to_owned()]), 1);
        let left = |id: &str| folder.path().join("records.db.epochs").join(id).exists();
        assert!(!left("00aa") && left("00bb"));
    }
}
