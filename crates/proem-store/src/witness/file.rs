//! The witness's file: where it is, what tells it from a copy, and how it is made and set aside.

use std::fmt;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use proem_guard::InstallationKey;
use proem_text::hex;
use rustix::fs::{Mode, OFlags};

use crate::error::{Error, Unusable};
use crate::failpoint;
use crate::file::{OpenMode, open_plain_file};
use crate::sql::{DatabaseKind, Tables};
use crate::sqlite::PATIENCE;

/// The name of the file, beside the database. It does not begin like the database's, so that whoever restores
/// `records.db*` leaves it alone.
const NAME: &str = "effects.witness";

/// How long a process sleeps before it tries a lock again.
const BEAT: Duration = Duration::from_millis(2);

/// The path of a database's witness.
pub(crate) fn witness_path(database: &Path) -> PathBuf {
    database.with_file_name(NAME)
}

/// An error about a witness.
pub(super) fn unusable_witness(path: &Path, why: impl fmt::Display) -> Error {
    Unusable::Witness { path: path.to_owned(), why: format!("{why}") }.into()
}

/// Opens the witness. `None` if nothing has its name.
///
/// # Errors
///
/// Why it is none: a link, a pipe, a device, a folder, a file with a second name, or one that can't be opened.
pub(super) fn open_witness(path: &Path, mode: OpenMode) -> Result<Option<File>, String> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(found) if !found.is_file() => return Err("it is a link or not a regular file".to_owned()),
        Ok(found) if found.nlink() != 1 => return Err("the file has a second name".to_owned()),
        Ok(_) => {}
    }
    open_plain_file(path, mode).map(Some).map_err(|error| error.to_string())
}

/// Whether an open file is the one that its path names, and has no other name.
pub(super) fn is_in_place(file: &File, path: &Path) -> bool {
    let (Ok(here), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (here.dev(), here.ino(), here.nlink()) == (there.dev(), there.ino(), 1)
}

/// A seal that tells a file from its copies: over the machine, the file's number and the time of its making. A copy has
/// another number or was made later. One on another machine has both of a stranger.
pub(super) fn place_seal(key: &InstallationKey, file: &Metadata) -> String {
    let made = file.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    // A file system without that time leaves the number alone.
    let made = made.map_or(0, |since| since.as_nanos());
    let place = format!("{}\n{}\n{made}", machine_id(), file.ino());
    hex::encode_hex(key.seal("proem witness place", place.as_bytes()))
}

/// The id of this machine (machine-id(5)). Empty where the system has none.
fn machine_id() -> String {
    let mut id = String::new();
    if let Ok(file) = open_plain_file(Path::new("/etc/machine-id"), OpenMode::Read)
        && file.take(64).read_to_string(&mut id).is_err()
    {
        id.clear();
    }
    failpoint::machine(id.trim().to_owned())
}

/// The note with the end of a witness that agreed with the records. A database of a server's has one for each place in
/// which a machine has its witness.
pub(crate) fn mark_name(tables: &Tables, key: &InstallationKey, database: &Path) -> String {
    match tables.kind() {
        DatabaseKind::File => "witness".to_owned(),
        DatabaseKind::Server => {
            let machine = machine_id();
            let holder = format!("{machine}\n{}", witness_path(database).display());
            format!("witness:{}", hex::encode_hex(key.seal("proem witness holder", holder.as_bytes())))
        }
    }
}

/// How a lock is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// With other readers.
    Shared,
    /// With nobody.
    Sole,
}

/// Waits for the lock of the file, no longer than for the records: its holder may be stopped.
pub(super) fn lock_witness(file: &File, path: &Path, how: Lock) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        let tried = match how {
            Lock::Shared => file.try_lock_shared(),
            Lock::Sole => file.try_lock(),
        };
        match tried {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(unusable_witness(path, error)),
            Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => {
                return Err(unusable_witness(path, "another process keeps it locked; try again when that is done"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(BEAT),
        }
    }
}

/// Begins a file under a name of its own. It gets the witness's with [`put_in_place`].
pub(super) fn begin_file(path: &Path) -> Result<File, Error> {
    let new = unfinished_witness_path(path);
    // Left by a process that was stopped here.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable_witness(&new, error)),
        _ => {}
    }
    open_plain_file(&new, OpenMode::New).map_err(|error| unusable_witness(&new, error))
}

/// Gives a new file, with all that it is to hold, the witness's name. A file that has the name keeps its bytes under
/// another one, which ends with `at`.
pub(super) fn put_in_place(mut file: &File, text: &str, path: &Path, at: i64) -> Result<(), Error> {
    let failed = |error: io::Error| unusable_witness(path, error);
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    set_aside(path, at).map_err(failed)?;
    fs::rename(unfinished_witness_path(path), path).map_err(failed)?;
    sync_witness_folder(path).map_err(failed)
}

fn unfinished_witness_path(path: &Path) -> PathBuf {
    path.with_extension("witness.new")
}

fn set_aside(path: &Path, at: i64) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    for number in at..=i64::MAX {
        let aside = path.with_extension(format!("witness.{number}"));
        // Until the new one takes its name, the old one has both, so that there is always one.
        let done = match fs::symlink_metadata(&aside) {
            Ok(_) => continue,
            Err(_) if found.is_file() => fs::hard_link(path, &aside),
            Err(_) => fs::rename(path, &aside),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Saves the names in the witness's folder.
fn sync_witness_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    Ok(rustix::fs::fsync(folder)?)
}
