//! Opens files and nothing else, wherever somebody else may have put something.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a file as `options` say: no link is followed, and neither a named pipe nor a device is waited for.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0)).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is a folder, a named pipe or a device; remove it"))
}
