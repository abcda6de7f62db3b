//! Reading: only of regular files, so that no pipe blocks and no device is touched, and only as much as is asked for.

use std::{
    fs::{self, File, FileType, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use crate::{
    Error, Extent,
    files::{FILE, MissingFolder, file_type_name, unexpected_file_type, walk_folders},
    process::read_capped,
};

/// Opening a named pipe that took a file's place returns at once.
fn non_blocking() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0)
}

/// Opens a file that the caller named, to read it. Links are followed.
///
/// # Errors
///
/// The system's error. [`io::ErrorKind::IsADirectory`] for a folder, and an error that names a pipe, socket or device.
/// Those are never opened: opening a pipe means waiting for somebody to write into it.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Asked before opening too: some devices do something when they are opened.
    must_be_regular(fs::metadata(path)?.file_type())?;
    let file = OpenOptions::new().read(true).custom_flags(non_blocking()).open(path)?;
    must_be_regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// The text of a file that the caller named. Links are followed.
///
/// # Errors
///
/// As [`open_regular`]; if it has more than `cap` bytes, or isn't UTF-8.
pub fn read_text(path: &Path, cap: usize) -> io::Result<String> {
    match read_capped(open_regular(path)?, cap)? {
        (bytes, Extent::Whole) => String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8")),
        (_, Extent::Cut) => Err(io::Error::other(format!("it has more than {cap} bytes"))),
    }
}

fn must_be_regular(found: FileType) -> io::Result<()> {
    match found {
        found if found.is_file() => Ok(()),
        found if found.is_dir() => Err(rustix::io::Errno::ISDIR.into()),
        found => Err(io::Error::other(format!(
            "it is {}, not {FILE}; copy its content into a regular file",
            file_type_name(found)
        ))),
    }
}

/// The bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// All that it holds.
    Whole(Vec<u8>),
    /// As many as the cap allows, from the beginning. The file has more.
    Cut(Vec<u8>),
}

/// Reads at most `cap` bytes of the regular file at `path`. `None` if there is nothing.
///
/// # Errors
///
/// [`Error::Link`] or [`Error::NotRegular`] if it is something else. [`Error::Io`] if it can't be read.
pub fn read_regular(path: &Path, cap: usize) -> Result<Option<FileContent>, Error> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(metadata) => return Err(unexpected_file_type(path, metadata.file_type(), FILE)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("look at", path)(error)),
    };
    let file = OpenOptions::new().read(true).custom_flags(non_blocking()).open(path);
    let file = file.map_err(Error::io("read", path))?;
    let opened = file.metadata().map_err(Error::io("look at", path))?;
    if (opened.dev(), opened.ino()) != (metadata.dev(), metadata.ino()) {
        return Err(Error::Io { doing: "read", path: path.to_path_buf(), source: io::ErrorKind::Interrupted.into() });
    }
    read_file_capped(&file, path, cap).map(Some)
}

/// Reads like [`read_regular`], with no component of `relative` being a link.
///
/// # Errors
///
/// [`Error::NotBeneath`] if `relative` isn't a plain path below `root`; what [`read_regular`] reports.
pub fn read_beneath(root: &Path, relative: &Path, cap: usize) -> Result<Option<FileContent>, Error> {
    match walk_folders(root, relative, &MissingFolder::Report)? {
        Some(walked) => read_regular(&walked.path, cap),
        None => Ok(None),
    }
}

fn read_file_capped(file: &File, path: &Path, cap: usize) -> Result<FileContent, Error> {
    let (bytes, extent) = read_capped(file, cap).map_err(Error::io("read", path))?;
    Ok(match extent {
        Extent::Whole => FileContent::Whole(bytes),
        Extent::Cut => FileContent::Cut(bytes),
    })
}
