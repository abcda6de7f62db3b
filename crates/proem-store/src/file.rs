//! Opens files and nothing else, wherever somebody else may have put something.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The access that a file is opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// To be read.
    Read,
    /// To be read and written. It is made for this user only if it isn't there.
    Write,
    /// To be read and added to at its end. It must be there.
    Append,
    /// To be read and written. It must not be there.
    New,
}

/// Opens a file: no link is followed, and neither a named pipe nor a device is waited for.
pub(crate) fn open_plain_file(path: &Path, how: OpenMode) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).mode(0o600).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    match how {
        OpenMode::Read => &mut options,
        OpenMode::Write => options.write(true).create(true),
        OpenMode::Append => options.append(true),
        OpenMode::New => options.write(true).create_new(true),
    };
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is a folder, a named pipe or a device; remove it"))
}
