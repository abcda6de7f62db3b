//! Lists the files of a folder: what git tracks, or all of them where there is no repository.
//!
//! Invariants: no link is followed. Paths are sorted, so that the same folder gives the same listing; what is no file
//! is listed as what it is, never left out.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    Environment, Error,
    git::{self, GitProgram, RepositoryKind, TrackedKind, discover_repository_around},
};

/// The most files of a folder without a repository, and of folders in it.
const MOST: usize = 1_000_000;

/// How long git may take for each question.
const GIT_TIME: Duration = Duration::from_secs(30);

/// The entries below a folder.
#[derive(Debug)]
pub struct FolderListing {
    /// Everything below the folder, sorted by path.
    pub entries: Vec<FolderEntry>,
    /// The lister, which decides about missing entries: git leaves out those that it ignores.
    pub origin: ListingOrigin,
}

/// Something below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its path, relative to the folder.
    pub path: PathBuf,
    /// Whether it is a file, a link or something else.
    pub kind: EntryKind,
}

/// The kind of an entry below a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link, which is not followed.
    Link,
    /// Another repository, which is not looked into.
    Submodule,
    /// A pipe, a socket or a device.
    Special,
}

/// The lister of a folder's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingOrigin {
    /// git: what it tracks.
    Tracked {
        /// How many files it neither tracks nor ignores. `None` if it didn't say.
        untracked: Option<usize>,
    },
    /// The file system: the folder is in no repository, or is one without files of its own.
    NoRepository,
    /// The file system: there is no git on this machine.
    NoGit,
    /// The file system, because the caller wants all files.
    Everything,
}

/// Lists what is below `folder`.
///
/// # Errors
///
/// The errors of [`discover_repository_around`] for a repository that git refuses or doesn't recognise. [`Error::Io`]
/// if a folder can't be read. [`Error::TooManyFiles`] if there are more than are listed.
pub fn list_files_below(environment: &Environment, folder: &Path) -> Result<FolderListing, Error> {
    let git = match GitProgram::find(environment) {
        Ok(git) => git,
        Err(Error::GitMissing) => {
            return Ok(FolderListing { entries: walk_untracked_folder(folder)?, origin: ListingOrigin::NoGit });
        }
        Err(error) => return Err(error),
    };
    let repository = discover_repository_around(&git, folder, GIT_TIME)?;
    if !repository.is_some_and(|repository| matches!(repository.place, RepositoryKind::WorkTree(_))) {
        return Ok(FolderListing { entries: walk_untracked_folder(folder)?, origin: ListingOrigin::NoRepository });
    }
    let entry = |(path, kind): (PathBuf, TrackedKind)| FolderEntry {
        path,
        kind: match kind {
            TrackedKind::File => EntryKind::File,
            TrackedKind::Link => EntryKind::Link,
            TrackedKind::Submodule => EntryKind::Submodule,
        },
    };
    let entries = git::tracked_below(&git, folder, GIT_TIME)?.into_iter().map(entry).collect();
    // How much is left out is worth knowing, and no reason to look at nothing.
    let untracked = git::count_untracked_below(&git, folder, GIT_TIME).ok();
    Ok(FolderListing { entries, origin: ListingOrigin::Tracked { untracked } })
}

/// Lists all that is below `folder`, whether git tracks it or not.
///
/// # Errors
///
/// [`Error::Io`] if a folder can't be read. [`Error::TooManyFiles`] if there are more than are listed.
pub fn list_everything_below(folder: &Path) -> Result<FolderListing, Error> {
    Ok(FolderListing { entries: walk_untracked_folder(folder)?, origin: ListingOrigin::Everything })
}

/// All that is below a folder, without the inside of repositories' own folders.
fn walk_untracked_folder(folder: &Path) -> Result<Vec<FolderEntry>, Error> {
    let mut entries = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        let path = folder.join(&relative);
        for found in fs::read_dir(&path).map_err(Error::io("list", &path))? {
            let found = found.map_err(Error::io("list", &path))?;
            let kind = found.file_type().map_err(Error::io("look at", &found.path()))?;
            let path = relative.join(found.file_name());
            if kind.is_dir() {
                if found.file_name() != ".git" {
                    open.push(path);
                }
                continue;
            }
            let kind = match kind {
                kind if kind.is_file() => EntryKind::File,
                kind if kind.is_symlink() => EntryKind::Link,
                _ => EntryKind::Special,
            };
            entries.push(FolderEntry { path, kind });
        }
        if entries.len().saturating_add(open.len()) > MOST {
            return Err(Error::TooManyFiles { path: folder.to_path_buf(), most: MOST });
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_repository_is_walked_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["b/c.txt", "b/a.txt", "a.txt", "nested/.git/config", "nested/x"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
        let found: Vec<String> = walk_untracked_folder(folder.path())
            .unwrap()
            .iter()
            .map(|e| format!("{} {:?}", e.path.display(), e.kind))
            .collect();
        assert_eq!(found, ["a.txt File", "b/a.txt File", "b/c.txt File", "link Link", "nested/x File"]);
    }
}
