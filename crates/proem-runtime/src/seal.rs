//! The secret that this installation seals with.
//!
//! Invariants: the key exists once, is readable by the user alone, and is never part of an error.

use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};

use proem_guard::InstallationKey;
use proem_text::hex;

use crate::{
    Error,
    files::{FileAccess, FileContent, read_regular, write_new},
};

const KEY_BYTES: usize = 32;

/// 64 hexadecimal digits and a newline.
const FILE_BYTES: usize = 65;

/// Reads the key in the file at `path`, or makes one on first use.
///
/// Processes that start at the same time agree on one key.
///
/// # Errors
///
/// [`Error::TooOpen`] if others may use the file or change its folder. [`Error::KeyForm`] if it holds something else.
/// [`Error::Link`] or [`Error::NotRegular`] if it isn't a file. [`Error::NoKey`], [`Error::Io`] or [`Error::Random`] if
/// the system fails.
pub fn installation_key(path: &Path) -> Result<InstallationKey, Error> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::NotBeneath { path: path.to_path_buf() });
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let unmade = |source: io::Error| Error::NoKey { path: path.to_path_buf(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unmade)?;
    closed_to(folder, 0o022, 0o700)?;
    if let Some(key) = read_installation_key(path)? {
        return Ok(key);
    }
    match write_new(folder, Path::new(name), &to_text(&random()?), FileAccess::Private) {
        Ok(()) | Err(Error::Exists { .. }) => {}
        Err(Error::Io { source, .. }) => return Err(unmade(source)),
        Err(error) => return Err(error),
    }
    // Read back even what was just written: another process may have come first.
    read_installation_key(path)?.ok_or_else(|| Error::io("read", path)(io::ErrorKind::NotFound.into()))
}

/// The key that delimits text from outside: the installation's, or one for this process alone, with the reason, if a key
/// can't be kept there.
///
/// Nobody can guess either, so containment holds. With the second, the same inputs give other bytes each time.
///
/// # Errors
///
/// As [`installation_key`] has them, but for [`Error::NoKey`].
pub fn delimiting_key(path: &Path) -> Result<(InstallationKey, Option<Error>), Error> {
    match installation_key(path) {
        Ok(key) => Ok((key, None)),
        Err(unkept @ Error::NoKey { .. }) => Ok((InstallationKey::new(random()?), Some(unkept))),
        Err(error) => Err(error),
    }
}

fn random() -> Result<[u8; KEY_BYTES], Error> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(Error::Random)?;
    Ok(key)
}

fn read_installation_key(path: &Path) -> Result<Option<InstallationKey>, Error> {
    let Some(content) = read_regular(path, FILE_BYTES)? else { return Ok(None) };
    closed_to(path, 0o077, 0o600)?;
    let key = match content {
        FileContent::Whole(bytes) => key_from_text(&bytes),
        FileContent::Cut(_) => None,
    };
    key.map(|bytes| Some(InstallationKey::new(bytes))).ok_or_else(|| Error::KeyForm { path: path.to_path_buf() })
}

/// Refuses a file or folder that has one of the permission bits `forbidden`.
fn closed_to(path: &Path, forbidden: u32, wanted: u32) -> Result<(), Error> {
    let metadata = path.metadata().map_err(Error::io("look at", path))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & forbidden == 0 { Ok(()) } else { Err(Error::TooOpen { path: path.to_path_buf(), mode, wanted }) }
}

fn to_text(key: &[u8; KEY_BYTES]) -> Vec<u8> {
    format!("{}\n", hex::encode_hex(key)).into_bytes()
}

fn key_from_text(text: &[u8]) -> Option<[u8; KEY_BYTES]> {
    let digits = text.strip_suffix(b"\n").filter(|digits| digits.len() == 2 * KEY_BYTES)?;
    let bytes: Option<Vec<u8>> = digits.as_chunks().0.iter().copied().map(hex::hex_byte).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_text() {
        let key: [u8; KEY_BYTES] = std::array::from_fn(|n| u8::try_from(n * 8 + 7).unwrap());
        assert_eq!(key_from_text(&to_text(&key)), Some(key));
        assert_eq!(to_text(&key).len(), FILE_BYTES);
    }

    #[test]
    fn anything_else_is_no_key() {
        let digits = "0".repeat(64);
        for text in [
            String::new(),
            digits.clone(),
            format!("{digits}0\n"),
            format!("{}g\n", "0".repeat(63)),
            format!("{digits}\n\n"),
        ] {
            assert_eq!(key_from_text(text.as_bytes()), None, "{text:?}");
        }
    }
}
