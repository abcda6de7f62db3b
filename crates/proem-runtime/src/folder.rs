//! Lists the files of a folder: what git tracks, or all of them where there is no repository.
//!
//! Invariants: no link is followed. Paths are sorted, so that the same folder gives the same listing; what is no file
//! is listed as what it is, never left out.

use std::{
    collections::BTreeSet,
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

impl EntryKind {
    fn of(kind: fs::FileType) -> Self {
        match kind {
            kind if kind.is_file() => Self::File,
            kind if kind.is_symlink() => Self::Link,
            _ => Self::Special,
        }
    }
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

/// Lists what git doesn't track of a folder, ignored or not, and `is_wanted`: beside tracked files, and in folders whose
/// files are wanted whatever their names. `tracked` is what git tracks there.
///
/// Other folders, such as those of installed packages, are not walked. A folder that this user can't list holds nothing
/// that this user's programs load, so it is passed over.
///
/// # Errors
///
/// [`Error::TooManyFiles`] if there are more than are listed.
pub fn list_untracked_files(
    folder: &Path,
    tracked: &[FolderEntry],
    is_wanted: &dyn Fn(&Path) -> bool,
) -> Result<Vec<FolderEntry>, Error> {
    let known: BTreeSet<&Path> = tracked.iter().map(|entry| entry.path.as_path()).collect();
    let mut open: BTreeSet<PathBuf> =
        known.iter().flat_map(|path| path.ancestors().skip(1)).map(Path::to_path_buf).collect();
    open.insert(PathBuf::new());
    let mut entries = Vec::new();
    while let Some(relative) = open.pop_first() {
        for found in fs::read_dir(folder.join(&relative)).into_iter().flatten().flatten() {
            let path = relative.join(found.file_name());
            let Ok(kind) = found.file_type() else { continue };
            if kind.is_dir() {
                // A name that nobody lists, so that only the folder decides.
                if found.file_name() != ".git" && is_wanted(&path.join("\u{0}")) {
                    open.insert(path);
                }
            } else if !known.contains(path.as_path()) && is_wanted(&path) {
                entries.push(FolderEntry { path, kind: EntryKind::of(kind) });
            }
        }
        if entries.len().saturating_add(open.len()) > MOST {
            return Err(Error::TooManyFiles { path: folder.to_path_buf(), most: MOST });
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    // A folder beside tracked files is listed once as such, and once as an agent's.
    entries.dedup();
    Ok(entries)
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
            entries.push(FolderEntry { path, kind: EntryKind::of(kind) });
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
