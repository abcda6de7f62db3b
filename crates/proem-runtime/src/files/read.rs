//! Reading.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use crate::{
    Error, Extent,
    files::{FILE, Missing, unexpected, walk},
    process::read_capped,
};

/// `O_NONBLOCK`: opening a named pipe that took a file's place returns at once.
#[cfg(any(target_os = "linux", target_os = "android"))]
const NON_BLOCKING: i32 = 0o4000;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const NON_BLOCKING: i32 = 0x4;

/// The bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// All of them.
    Whole(Vec<u8>),
    /// As many as the cap allows, from the beginning; the file has more.
    Cut(Vec<u8>),
}

/// Reads at most `cap` bytes of the regular file at `path`; `None` if there is nothing.
///
/// # Errors
///
/// [`Error::Link`] or [`Error::NotRegular`] if it is something else; [`Error::Io`] if it can't be read.
pub fn read_regular(path: &Path, cap: usize) -> Result<Option<Content>, Error> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(metadata) => return Err(unexpected(path, metadata.file_type(), FILE)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("look at", path)(error)),
    };
    let file = OpenOptions::new().read(true).custom_flags(NON_BLOCKING).open(path);
    let file = file.map_err(Error::io("read", path))?;
    let opened = file.metadata().map_err(Error::io("look at", path))?;
    if (opened.dev(), opened.ino()) != (metadata.dev(), metadata.ino()) {
        return Err(Error::Io { doing: "read", path: path.to_path_buf(), source: io::ErrorKind::Interrupted.into() });
    }
    read(&file, path, cap).map(Some)
}

/// Reads like [`read_regular`], with no component of `relative` being a link.
///
/// # Errors
///
/// [`Error::NotBeneath`] if `relative` isn't a plain path below `root`; what [`read_regular`] reports.
pub fn read_beneath(root: &Path, relative: &Path, cap: usize) -> Result<Option<Content>, Error> {
    match walk(root, relative, &Missing::Report)? {
        Some(walked) => read_regular(&walked.path, cap),
        None => Ok(None),
    }
}

fn read(file: &File, path: &Path, cap: usize) -> Result<Content, Error> {
    let (bytes, extent) = read_capped(file, cap).map_err(Error::io("read", path))?;
    Ok(match extent {
        Extent::Whole => Content::Whole(bytes),
        Extent::Cut => Content::Cut(bytes),
    })
}
