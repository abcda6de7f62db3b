//! Reads and writes files whose surroundings somebody else may have arranged.
//!
//! Invariants: only regular files are opened, so a pipe never blocks and a device is never read. Reading is capped.
//! Below a given root no link is followed. A file is written in full or not at all, and what is on the disk survives a
//! crash.
//!
//! The checks look at each component of a path and then open it. They hold against whatever a
//! repository or archive contains, not against another process of the same machine that swaps a
//! folder for a link in between.

mod regular_file;
mod trusted_file;
mod write;

use std::{
    fs::FileType,
    io,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
};

use crate::Error;

pub use regular_file::{FileContent, open_regular, read_beneath, read_regular, read_text};
pub use trusted_file::TrustedFile;
pub use write::{FileAccess, create, replace_file, write_new};
pub(crate) use write::{NewFileFailure, open_to_lock, sync_folder, write_in_stages};

/// The last component of a path, and the path with all components before it known to be folders.
struct Walked {
    folder: PathBuf,
    path: PathBuf,
}

/// The treatment of a missing folder.
enum MissingFolder<'a> {
    /// The answer is `None`.
    Report,
    /// It is created by this function.
    Create(&'a dyn Fn(&Path) -> io::Result<()>),
}

/// Walks from `root` along `relative`, whose every component but the last must be a folder and no link.
fn walk_folders(root: &Path, relative: &Path, missing: &MissingFolder<'_>) -> Result<Option<Walked>, Error> {
    let not_beneath = || Error::NotBeneath { path: relative.to_path_buf() };
    let mut folder = root.to_path_buf();
    let mut components = relative.components().peekable();
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else { return Err(not_beneath()) };
        let path = folder.join(name);
        if components.peek().is_none() {
            return Ok(Some(Walked { folder, path }));
        }
        if !is_folder(&path)? {
            let MissingFolder::Create(create) = missing else { return Ok(None) };
            match create(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Error::io("create", &path)(error));
                }
                // Another process may have created it as a link.
                _ if is_folder(&path)? => {}
                _ => return Err(not_beneath()),
            }
        }
        folder = path;
    }
    Err(not_beneath())
}

/// Whether there is a folder at `path`. False if there is nothing.
fn is_folder(path: &Path) -> Result<bool, Error> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(metadata) => Err(unexpected_file_type(path, metadata.file_type(), FOLDER)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("look at", path)(error)),
    }
}

/// The kinds that may be at a path.
pub(crate) const FILE: &str = "a regular file";
pub(crate) const FOLDER: &str = "a folder";

/// The error for something that is there and isn't what is `wanted`.
pub(crate) fn unexpected_file_type(path: &Path, found: FileType, wanted: &'static str) -> Error {
    let path = path.to_path_buf();
    if found.is_symlink() {
        Error::Link { path }
    } else {
        Error::NotRegular { path, found: file_type_name(found), wanted }
    }
}

/// The name for the kind of an entry that is no link.
pub(crate) fn file_type_name(found: FileType) -> &'static str {
    match found {
        found if found.is_dir() => FOLDER,
        found if found.is_file() => FILE,
        found if found.is_fifo() => "a named pipe",
        found if found.is_socket() => "a socket",
        _ => "a device",
    }
}
