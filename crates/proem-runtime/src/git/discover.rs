//! Finds the repository around a folder.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    Error,
    files::{FileContent, TrustedFile, read_regular},
    git::{GitProgram, Session, printed_path, special},
    process::Deadline,
};

/// More than any path, in bytes.
const PATHS: usize = 64 * 1024;

/// A repository, found from some folder inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The absolute path of the git folder that all linked work trees share.
    pub common_dir: PathBuf,
    /// The kind of its place.
    pub place: RepositoryKind,
    /// The files that Proem itself wrote into the work tree. As long as nobody edits or commits them, they are no
    /// change.
    pub set_up: BTreeSet<TrustedFile>,
}

/// The place of a repository's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryKind {
    /// Below this absolute path, the root of the work tree.
    WorkTree(PathBuf),
    /// Nowhere: the repository is bare, or the folder is inside its git folder.
    Bare,
}

/// Finds the repository around `folder`. `None` outside one.
///
/// # Errors
///
/// - [`Error::DubiousOwnership`] if git refuses the repository for its owner;
/// - [`Error::ForeignWorkTree`] if its configuration names a work tree that it isn't in;
/// - [`Error::NotRegular`] if git would wait for a named pipe or a device in it;
/// - [`Error::BrokenRepository`] if there is a `.git` that git doesn't recognise;
/// - [`Error::GitTooOld`] if git lacks what is needed to run it safely;
/// - [`Error::TimedOut`], [`Error::GitFailed`] or [`Error::Io`] if git can't be asked.
pub fn discover_repository_around(
    git: &GitProgram,
    folder: &Path,
    limit: Duration,
) -> Result<Option<Repository>, Error> {
    special::refuse_special_files(folder, &git.environment)?;
    let session = Session::new(git, folder, Deadline::after(limit), PATHS);
    let args = [
        "rev-parse",
        "--is-bare-repository",
        "--is-inside-git-dir",
        "--is-inside-work-tree",
        "--path-format=absolute",
        "--git-common-dir",
        "--absolute-git-dir",
        "--show-prefix",
    ];
    let answer = match session.ask_whole(&args, &[0]) {
        Ok(answer) => answer,
        Err(Error::GitFailed { said, .. }) if said.measure(|said| is_outside(said)) => {
            return broken_dot_git(folder).map_or(Ok(None), |path| Err(Error::BrokenRepository { path }));
        }
        Err(error) => return Err(error),
    };
    let mut lines = answer.stdout.splitn(4, |&byte| byte == b'\n');
    let mut next = || lines.next().ok_or(Error::GitAnswer { command: "rev-parse" });
    let (bare, in_git_dir, in_work_tree, paths) = (next()?, next()?, next()?, next()?);
    let paths = PrintedPaths::of(paths, &session)?;
    let common_dir = paths.common_dir.clone();
    if !common_dir.is_absolute() {
        // Git prints an option that it doesn't know.
        return Err(Error::GitTooOld);
    }
    let place = match [bare, in_git_dir, in_work_tree].map(|answer| answer == b"true") {
        [false, _, true] => RepositoryKind::WorkTree(work_tree_root(paths, folder)?),
        [false, false, false] => return Err(Error::ForeignWorkTree { git_dir: common_dir }),
        _ => RepositoryKind::Bare,
    };
    Ok(Some(Repository { common_dir, place, set_up: BTreeSet::new() }))
}

fn is_outside(said: &str) -> bool {
    said.starts_with("fatal: not a git repository") || said.starts_with("fatal: invalid gitfile format")
}

/// The nearest `.git` at or above `folder`, which git was not content with.
fn broken_dot_git(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|ancestor| ancestor.join(".git")).find(|path| path.symlink_metadata().is_ok())
}

/// Git's output about the place of a folder.
struct PrintedPaths {
    common_dir: PathBuf,
    git_dir: PathBuf,
    /// The folder's path below the root of the work tree. Empty at the root, and outside a work tree.
    below: PathBuf,
}

impl PrintedPaths {
    /// Reads three lines. A path may contain newlines: then each is asked for alone.
    fn of(printed: &[u8], session: &Session<'_>) -> Result<Self, Error> {
        let lines: Vec<&[u8]> = printed.split_inclusive(|&byte| byte == b'\n').collect();
        if let [common_dir, git_dir, below] = lines.as_slice() {
            let path = |line: &&[u8]| printed_path(line);
            return Ok(Self { common_dir: path(common_dir), git_dir: path(git_dir), below: path(below) });
        }
        let alone = |args: &[&'static str]| Ok::<_, Error>(printed_path(&session.ask_whole(args, &[0])?.stdout));
        Ok(Self {
            common_dir: alone(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?,
            git_dir: alone(&["rev-parse", "--absolute-git-dir"])?,
            below: alone(&["rev-parse", "--show-prefix"])?,
        })
    }
}

/// The root of the work tree around `folder`, if it is the folder whose `.git` is the repository.
fn work_tree_root(paths: PrintedPaths, folder: &Path) -> Result<PathBuf, Error> {
    let PrintedPaths { git_dir, below, .. } = paths;
    let foreign = || Error::ForeignWorkTree { git_dir: git_dir.clone() };
    let real = fs::canonicalize(&git_dir).map_err(Error::io("find", &git_dir))?;
    let folder = fs::canonicalize(folder).map_err(Error::io("find", folder))?;
    if !folder.ends_with(&below) {
        return Err(foreign());
    }
    let root = folder.ancestors().nth(below.components().count()).ok_or_else(foreign)?;
    match git_folder_named_by(&root.join(".git")) {
        Ok(Some(named)) if named == real => Ok(root.to_owned()),
        _ => Err(foreign()),
    }
}

/// The git folder that a `.git` is or names.
fn git_folder_named_by(dot_git: &Path) -> io::Result<Option<PathBuf>> {
    let real = fs::canonicalize(dot_git)?;
    if real.is_dir() {
        return Ok(Some(real));
    }
    let Ok(Some(FileContent::Whole(bytes))) = read_regular(&real, PATHS) else { return Ok(None) };
    let Some(target) = bytes.strip_prefix(b"gitdir: ") else { return Ok(None) };
    let target = Path::new(OsStr::from_bytes(target.trim_ascii_end()));
    let Some(folder) = real.parent() else { return Ok(None) };
    fs::canonicalize(folder.join(target)).map(Some)
}
