//! Finds the living processes: one lock for each, that the system lets go when the process dies.
//!
//! A server holds it for the session that writes, and lets it go when the session ends. Nothing of that session is
//! committed from then on, so a process whose session has ended counts as dead, whatever it does.
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
use crate::sql::{DatabaseKind, Tables};

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

/// A lock that is held here.
#[derive(Debug)]
pub(crate) enum EpochLock {
    /// A file that is locked until this is dropped.
    File {
        /// The file.
        path: PathBuf,
        /// Keeps it locked.
        _file: File,
    },
    /// A lock of the server's, which holds it as long as the session that writes, or its transaction.
    Session,
}

/// An id for an epoch or a store: sixteen random hexadecimal digits.
pub(crate) fn new_id(database: &Path) -> Result<String, Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Unusable::Other { path: database.to_owned(), why: format!("no random bytes: {error}") })?;
    Ok(hex::encode_hex(bytes))
}

/// A system error about the locks of a database, as an error of the store.
fn unwritable_path(path: &Path, error: &io::Error) -> Error {
    Unusable::Unwritable { path: path.to_owned(), why: error.to_string() }.into()
}

/// The folder of a database's locks.
fn lock_folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".epochs");
    PathBuf::from(name)
}

impl Epoch {
    /// Begins an epoch with this id.
    pub(crate) fn begin(tables: &Tables, id: String) -> Result<Self, Error> {
        let lock = match tables.kind() {
            DatabaseKind::File => {
                let database = tables.path();
                lock_new_file(database, &id).map_err(|error| unwritable_path(database, &error))?
            }
            DatabaseKind::Server if asks_server(tables, "SELECT pg_try_advisory_lock(?)", &id)? => EpochLock::Session,
            DatabaseKind::Server => {
                let why = "the lock of a new process is taken".to_owned();
                return Err(Unusable::Other { path: tables.path().to_owned(), why }.into());
            }
        };
        Ok(Self { id, lock })
    }

    /// Removes its lock, once its end is written.
    pub(crate) fn end(self) {
        self.lock.remove();
    }
}

impl EpochLock {
    /// Removes the file; what can't be removed is swept up by a later opening. A server's lock goes with its session or
    /// its transaction.
    pub(crate) fn remove(self) {
        if let Self::File { path, .. } = self {
            _ = fs::remove_file(&path);
        }
    }
}

/// A lock file: it has its name only once it is locked.
fn lock_new_file(database: &Path, id: &str) -> io::Result<EpochLock> {
    let folder = lock_folder(database);
    let (before, path) = (folder.join(format!("{id}{UNLOCKED}")), folder.join(id));
    let file = open_plain_file(&before, OpenMode::New)?;
    file.try_lock()?;
    fs::rename(&before, &path)?;
    Ok(EpochLock::File { path, _file: file })
}

/// A question about an epoch's lock, which has the id's bits as its number.
fn asks_server(tables: &Tables, question: &str, id: &str) -> Result<bool, Error> {
    let Ok(bits) = u64::from_str_radix(id, 16) else { return Ok(false) };
    Ok(tables.row(question, [i64::from_ne_bytes(bits.to_ne_bytes())], |row| row.get(0))?.unwrap_or(false))
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

/// The lock of an epoch, if nobody lives in it, until the transaction ends. `None` if somebody does.
pub(crate) fn dead(tables: &Tables, id: &str) -> Result<Option<EpochLock>, Error> {
    match tables.kind() {
        DatabaseKind::File => {
            let database = tables.path();
            dead_lock_file(database, id).map_err(|error| unwritable_path(database, &error))
        }
        DatabaseKind::Server => {
            let is_dead = asks_server(tables, "SELECT pg_try_advisory_xact_lock(?)", id)?;
            Ok(is_dead.then_some(EpochLock::Session))
        }
    }
}

/// The lock file of an epoch, if nobody lives in it. An epoch without a file is nobody's: its lock is rebuilt.
fn dead_lock_file(database: &Path, id: &str) -> io::Result<Option<EpochLock>> {
    let path = lock_folder(database).join(id);
    let file = open_plain_file(&path, OpenMode::Write)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(EpochLock::File { path, _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The server's list of locks, by the two halves of a lock's number.
const HELD: &str = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted \
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
                    AND (classid::bigint << 32) | objid::bigint = ?)";

/// Whether somebody lives in an epoch, as far as that can be told without touching anything. A server that doesn't say
/// leaves everybody alive.
pub(crate) fn is_alive(tables: &Tables, id: &str) -> bool {
    match tables.kind() {
        DatabaseKind::File => is_locked_file(tables.path(), id),
        DatabaseKind::Server => asks_server(tables, HELD, id).unwrap_or(true),
    }
}

fn is_locked_file(database: &Path, id: &str) -> bool {
    let Ok(file) = open_plain_file(&lock_folder(database).join(id), OpenMode::Read) else {
        return false;
    };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Removes the locks of dead processes whose epochs are not written down. `known` are the ids of those that are. How
/// many there were: they died at once, or what they wrote is gone. Called while [`wait_to_open`] is held. A server
/// removes them by itself.
pub(crate) fn remove_dead_locks(tables: &Tables, known: &[String]) -> usize {
    match tables.kind() {
        DatabaseKind::File => remove_dead_lock_files(tables.path(), known),
        DatabaseKind::Server => 0,
    }
}

fn remove_dead_lock_files(database: &Path, known: &[String]) -> usize {
    let Ok(files) = fs::read_dir(lock_folder(database)) else { return 0 };
    let mut swept = 0_usize;
    for file in files.flatten() {
        let name = file.file_name();
        let Some(name) = name.to_str() else { continue };
        if name == OPENING || known.iter().any(|id| id == name) {
            continue;
        }
        if let Ok(Some(lock)) = dead_lock_file(database, name) {
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
        let epoch = lock_new_file(&database, "00aa").unwrap();
        assert!(is_locked_file(&database, "00aa"));
        assert!(dead_lock_file(&database, "00aa").unwrap().is_none(), "not even for the same process");
        assert_eq!(remove_dead_lock_files(&database, &[]), 0);
        assert!(is_locked_file(&database, "00aa"));
        drop(epoch);
        assert!(!is_locked_file(&database, "00aa"));
        dead_lock_file(&database, "00aa").unwrap().unwrap().remove();
        assert!(!is_locked_file(&database, "00aa"));
        assert!(dead_lock_file(&database, "unheard-of").unwrap().is_some());
    }

    #[test]
    fn the_sweep_leaves_what_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("records.db");
        drop(wait_to_open(&database).unwrap());
        for id in ["00aa", "00bb"] {
            drop(lock_new_file(&database, id).unwrap());
        }
        assert_eq!(remove_dead_lock_files(&database, &["00bb".to_owned()]), 1);
        let left = |id: &str| folder.path().join("records.db.epochs").join(id).exists();
        assert!(!left("00aa") && left("00bb"));
    }
}
