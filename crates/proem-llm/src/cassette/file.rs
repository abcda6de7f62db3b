//! Opens the files of cassettes. A folder that was named may hold anything.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// The bytes of a file. A link is followed, and neither a named pipe nor a device is waited for.
pub(super) fn read_cassette_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0),
    );
    let mut file = options.open(path)?;
    only_a_file(&file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a file that only its owner may read. It must not be there.
pub(super) fn make_cassette_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // A file or link of somebody else's is neither followed nor overwritten.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn only_a_file(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        return Ok(());
    }
    Err(io::Error::other("it is a folder, a named pipe or a device; move it out of the folder"))
}
