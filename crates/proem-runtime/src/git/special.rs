//! Finds what git would wait for: named pipes and devices where it opens files.
//!
//! Git opens its configuration, attributes, excludes, mailmap, alternates, references and packs without asking what
//! they are. A named pipe there keeps it waiting for somebody to write, and `/dev/zero` never ends.
//! [`refuse_special_files`] looks at what has a fixed place, and at what configuration names, before git runs, and
//! [`waited_for`] at everything, once git has said nothing for too long. `/dev/null` ends at once and is how people
//! switch such a file off.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    Environment, Error,
    files::{FILE, FileContent, file_type_name, read_regular},
    git::settings::named_files,
};

/// The files that git opens in folders of a work tree.
const IN_TREE: [&str; 4] = [".gitattributes", ".gitignore", ".gitmodules", ".mailmap"];

/// The folders of a git folder whose entries are looked at before git runs.
const IN_GIT: [&str; 4] = ["", "info", "objects/info", "objects/pack"];

/// The folders of a git folder that are looked at as deep as they go: references, and what begun work left.
const DEEP_IN_GIT: [&str; 7] = ["logs", "refs", "reftable", "rebase-apply", "rebase-merge", "sequencer", "worktrees"];

/// The most entries of them that are looked at before git runs; what is beyond is found once git says nothing.
const FIRST_ENTRIES: usize = 20_000;

/// How deep alternates of alternates are followed. Git goes as far (`alternates` in gitrepository-layout(5)).
const MOST_ALTERNATES: usize = 5;

/// The places of a process's descriptors.
const DESCRIPTORS: [&str; 2] = ["/dev/fd", "/proc"];

/// How many links are followed, as Linux does (`path_resolution(7)`).
const MOST_LINKS: usize = 40;

/// More than any of the small files that are read here, in bytes.
const SMALL: usize = 64 * 1024;

/// The most entries, and the longest time, of a search after git was waited for in vain.
const MOST_ENTRIES: usize = 1_000_000;
const LONGEST: Duration = Duration::from_secs(4);

/// Refuses what git would wait for in and around the repository that `folder` is in: in the places that are always
/// the same, and where configuration says so.
///
/// # Errors
///
/// [`Error::NotRegular`]
pub(super) fn refuse_special_files(folder: &Path, environment: &Environment) -> Result<(), Error> {
    checked_repository(folder, environment).map(|_| ())
}

/// The entry that git may have waited for in the repository around `folder`, as an error. `None` if there is none.
pub(super) fn waited_for(folder: &Path, environment: &Environment) -> Option<Error> {
    let found = match checked_repository(folder, environment) {
        Ok(found) => found?,
        Err(error) => return Some(error),
    };
    let mut search = FolderSearch { entries: 0, most: MOST_ENTRIES, until: Instant::now().checked_add(LONGEST)? };
    let everywhere = |git_dir: &PathBuf| search.special(git_dir, &|_| true);
    let path = found.git_dirs.iter().find_map(everywhere).or_else(|| {
        let opened = |name: &OsStr| IN_TREE.iter().any(|known| name == *known);
        found.root.as_ref().and_then(|root| search.special(root, &opened))
    });
    check_not_special(&path?).err()
}

/// The repository around `folder`, if it has nothing in its fixed places that git would wait for.
fn checked_repository(folder: &Path, environment: &Environment) -> Result<Option<RepositoryLayout>, Error> {
    let found = repository_folder_around(folder)?;
    let git_dirs = found.as_ref().map_or(&[][..], |found| &found.git_dirs);
    for git_dir in git_dirs {
        // The folder itself is first: what it leads to is read only after that.
        IN_GIT.iter().try_for_each(|below| check_entries(&git_dir.join(below)))?;
    }
    let root = found.as_ref().and_then(|found| found.root.as_deref());
    named_files(environment, root.unwrap_or(folder), git_dirs, &check_not_special)?;
    if let Some(root) = root {
        IN_TREE.iter().try_for_each(|name| check_not_special(&root.join(name)))?;
    }
    let Some(until) = Instant::now().checked_add(LONGEST) else { return Ok(found) };
    let mut search = FolderSearch { entries: 0, most: FIRST_ENTRIES, until };
    let folders = git_dirs.iter().flat_map(|git_dir| DEEP_IN_GIT.iter().map(|below| git_dir.join(below)));
    for folder in folders {
        search.special(&folder, &|_| true).map_or(Ok(()), |path| check_not_special(&path))?;
    }
    git_dirs.iter().try_for_each(|git_dir| check_alternates(&git_dir.join("objects"), MOST_ALTERNATES))?;
    Ok(found)
}

/// A repository, found without git.
struct RepositoryLayout {
    /// The root of its work tree, unless it is bare.
    root: Option<PathBuf>,
    /// The git folder of the work tree, and the one that work trees share if that is another.
    git_dirs: Vec<PathBuf>,
}

fn repository_folder_around(folder: &Path) -> Result<Option<RepositoryLayout>, Error> {
    let folder = fs::canonicalize(folder).map_err(Error::io("find", folder))?;
    for ancestor in folder.ancestors() {
        let dot_git = ancestor.join(".git");
        let found = match dot_git.metadata() {
            Ok(found) if found.is_dir() => Some((Some(ancestor.to_path_buf()), dot_git)),
            Ok(found) if found.is_file() => {
                git_folder_of_link(&dot_git).map(|git_dir| (Some(ancestor.to_path_buf()), git_dir))
            }
            Ok(_) => return check_not_special(&dot_git).map(|()| None),
            Err(_) => is_bare(ancestor).then(|| (None, ancestor.to_path_buf())),
        };
        if let Some((root, git_dir)) = found {
            check_entries(&git_dir)?;
            let shared = only_line(&git_dir.join("commondir")).map(|common| git_dir.join(common));
            let git_dirs = [Some(git_dir), shared].into_iter().flatten().collect();
            return Ok(Some(RepositoryLayout { root, git_dirs }));
        }
    }
    Ok(None)
}

/// Whether a folder is a git folder by what git itself looks for.
fn is_bare(folder: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).symlink_metadata().is_ok())
}

/// The git folder that the file `.git` of a linked work tree or a submodule names.
fn git_folder_of_link(dot_git: &Path) -> Option<PathBuf> {
    let line = only_line(&fs::canonicalize(dot_git).ok()?)?;
    let target = line.as_os_str().as_bytes().strip_prefix(b"gitdir: ")?;
    Some(dot_git.parent()?.join(OsStr::from_bytes(target)))
}

/// The only line of a small file, as a path.
fn only_line(path: &Path) -> Option<PathBuf> {
    let Ok(Some(FileContent::Whole(bytes))) = read_regular(path, SMALL) else { return None };
    Some(PathBuf::from(OsString::from_vec(bytes.trim_ascii_end().to_vec())))
}

fn check_alternates(objects: &Path, deeper: usize) -> Result<(), Error> {
    let Some(deeper) = deeper.checked_sub(1) else { return Ok(()) };
    let Ok(Some(FileContent::Whole(list))) = read_regular(&objects.join("info/alternates"), SMALL) else {
        return Ok(());
    };
    for alternate in list.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#")) {
        let alternate = objects.join(OsStr::from_bytes(alternate));
        ["info", "pack"].iter().try_for_each(|below| check_entries(&alternate.join(below)))?;
        check_alternates(&alternate, deeper)?;
    }
    Ok(())
}

/// Checks each entry of a folder, if it is one.
fn check_entries(folder: &Path) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.take(MOST_ENTRIES).flatten() {
        if entry.file_type().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            check_not_special(&entry.path())?;
        }
    }
    Ok(())
}

/// Refuses a named pipe or a device; what is missing, or can't be looked at, git itself speaks of.
fn check_not_special(path: &Path) -> Result<(), Error> {
    if is_descriptor(path) {
        return Err(Error::NotRegular { path: path.to_path_buf(), found: "a device", wanted: FILE });
    }
    match fs::metadata(path) {
        Ok(found) if is_waited_for(&found) => {
            Err(Error::NotRegular { path: path.to_path_buf(), found: file_type_name(found.file_type()), wanted: FILE })
        }
        _ => Ok(()),
    }
}

/// Whether a path leads to a descriptor of whoever opens it, such as `/dev/stdout`: it is something else for git than
/// for us, its own end of a pipe for instance.
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let Ok(folder) = fs::canonicalize(folder) else { return false };
        if DESCRIPTORS.iter().any(|descriptors| folder.starts_with(descriptors)) {
            return true;
        }
        let Ok(target) = fs::read_link(folder.join(name)) else { return false };
        path = folder.join(target);
    }
    false
}

fn is_waited_for(found: &fs::Metadata) -> bool {
    let kind = found.file_type();
    let is_null = || fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == found.rdev());
    kind.is_fifo() || kind.is_block_device() || (kind.is_char_device() && !is_null())
}

/// A search with bounds.
struct FolderSearch {
    entries: usize,
    most: usize,
    until: Instant,
}

impl FolderSearch {
    /// The first path below `folder` that `opened` names and that git would wait for. No link to a folder is
    /// followed, and no other repository is entered.
    fn special(&mut self, folder: &Path, opened: &dyn Fn(&OsStr) -> bool) -> Option<PathBuf> {
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                self.entries = self.entries.saturating_add(1);
                if self.entries > self.most || Instant::now() > self.until {
                    return None;
                }
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && entry.file_name() != ".git" {
                    folders.push(entry.path());
                } else if !kind.is_file() && opened(&entry.file_name()) && check_not_special(&entry.path()).is_err() {
                    return Some(entry.path());
                }
            }
        }
        None
    }
}
