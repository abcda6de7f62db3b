//! Lists what git tracks below a folder.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    Error,
    git::{GitProgram, Session},
    process::Deadline,
};

/// More than the paths of the largest public repositories, in bytes.
const PATHS: usize = 256 * 1024 * 1024;

/// The entries of the index below the folder: modes, ids, stages and paths from there.
pub(crate) const INDEX_ENTRIES: [&str; 3] = ["ls-files", "-s", "-z"];

/// The files below the folder that are neither tracked nor ignored: paths from there.
pub(crate) const UNTRACKED_PATHS: [&str; 4] = ["ls-files", "-o", "-z", "--exclude-standard"];

/// The kind of a tracked path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackedKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// Another repository, of which only a commit is tracked.
    Submodule,
}

/// The paths that git tracks below `folder`, relative to it and sorted by their bytes.
///
/// # Errors
///
/// Any reason that git gave no answer.
pub fn tracked_below(git: &GitProgram, folder: &Path, limit: Duration) -> Result<Vec<(PathBuf, TrackedKind)>, Error> {
    let session = Session::new(git, folder, Deadline::after(limit), PATHS);
    let listing = session.ask_whole(&INDEX_ENTRIES, &[0])?;
    // A path in conflict is listed once for each side.
    let mut paths = BTreeMap::new();
    for record in listing.stdout.split(|&byte| byte == 0).filter(|record| !record.is_empty()) {
        let (path, kind) = parse_index_record(record).ok_or(Error::GitAnswer { command: "ls-files" })?;
        paths.insert(path, kind);
    }
    Ok(paths.into_iter().map(|(path, kind)| (PathBuf::from(OsStr::from_bytes(path)), kind)).collect())
}

/// How many files below `folder` git neither tracks nor ignores.
///
/// # Errors
///
/// Any reason that git gave no answer.
pub fn count_untracked_below(git: &GitProgram, folder: &Path, limit: Duration) -> Result<usize, Error> {
    let session = Session::new(git, folder, Deadline::after(limit), PATHS);
    let listing = session.ask_whole(&UNTRACKED_PATHS, &[0])?;
    Ok(listing.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty()).count())
}

/// `100644 <id> 0<tab>path`: git-ls-files(1), "Output".
fn parse_index_record(record: &[u8]) -> Option<(&[u8], TrackedKind)> {
    let tab = record.iter().position(|&byte| byte == b'\t')?;
    let (head, path) = record.split_at_checked(tab)?;
    let kind = match head.get(..6)? {
        b"120000" => TrackedKind::Link,
        b"160000" => TrackedKind::Submodule,
        mode if mode.starts_with(b"100") => TrackedKind::File,
        _ => return None,
    };
    Some((path.get(1..)?, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_modes_and_paths() {
        let id = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        for (record, expected) in [
            (format!("100644 {id} 0\ta b\tc"), Some((&b"a b\tc"[..], TrackedKind::File))),
            (format!("100755 {id} 0\tx.sh"), Some((b"x.sh", TrackedKind::File))),
            (format!("120000 {id} 0\tl"), Some((b"l", TrackedKind::Link))),
            (format!("160000 {id} 0\tm"), Some((b"m", TrackedKind::Submodule))),
            (format!("040000 {id} 0\td"), None),
            ("100644".to_owned(), None),
        ] {
            assert_eq!(parse_index_record(record.as_bytes()), expected, "{record}");
        }
    }
}
