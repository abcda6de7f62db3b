//! The errors at this edge, in words that give the remedy.
//!
//! Invariant: a path in a text is escaped, and a command to copy is quoted for the shell, because the repository's
//! author may have chosen the names. Git's own words are never in a text.

use std::{io, path::Path, path::PathBuf, time::Duration};

use proem_guard::Untrusted;

use crate::git::by_hand::{by_hand, look_at};

/// The errors of git, files and keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No `git` to run.
    #[error("git was not found in any absolute folder of PATH; install git 2.31 or later, or add its folder to PATH")]
    GitMissing,
    /// A git that would ignore what keeps it from running a repository's commands.
    #[error("this version of git is too old to run safely in other people's repositories; install git 2.31 or later")]
    GitTooOld,
    /// The repository belongs to another user, and git refuses to work in it.
    #[error(
        "git refuses `{}`, which belongs to another user; if you trust its owner, run \
         `git config --global --add safe.directory {}`", path_on_screen(.path), for_shell(.path)
    )]
    DubiousOwnership {
        /// The repository, as git names it.
        path: PathBuf,
    },
    /// git did not end in time and was killed.
    #[error("`git {command}` took longer than the {} ms it may take; ignore large files and folders in `.gitignore`, or raise `git.question_seconds` or `git.history_seconds` in your configuration", .limit.as_millis())]
    TimedOut {
        /// The git command, such as `status`.
        command: &'static str,
        /// The time that was given.
        limit: Duration,
    },
    /// git wrote more than it may.
    #[error("`git {command}` printed more than the limit of {cap} bytes; {}", look_at(.command))]
    TooMuchOutput {
        /// The git command, such as `config`.
        command: &'static str,
        /// The cap in bytes.
        cap: usize,
    },
    /// git ended with a code that says it failed, or by a signal.
    #[error("`git {command}` failed with {}; `{}` finds the damage", ending(*.code), by_hand("fsck"))]
    GitFailed {
        /// The git command, such as `status`.
        command: &'static str,
        /// Its exit code. `None` when a signal ended it.
        code: Option<i32>,
        /// The beginning of what it wrote to standard error.
        said: Untrusted<String>,
    },
    /// An object that a partial clone left at its remote.
    #[error(
        "`git {command}` needs trees that this partial clone left out; clone the repository again, without `--filter` or \
         with `--filter=blob:none`"
    )]
    NotFetched {
        /// The git command, such as `ls-tree`.
        command: &'static str,
    },
    /// git answered in a form that it isn't documented to use.
    #[error("the output of `git {command}` can't be parsed; check which git is on PATH")]
    GitAnswer {
        /// The git command, such as `cat-file`.
        command: &'static str,
    },
    /// There is a `.git`, and git doesn't take it for a repository.
    #[error(
        "git does not recognise `{}` as a repository; run `{}` there to see why, or remove it",
        path_on_screen(.path), by_hand("rev-parse --git-dir")
    )]
    BrokenRepository {
        /// The path of that `.git`, a folder or a file.
        path: PathBuf,
    },
    /// The repository's own configuration names a work tree that isn't around it.
    #[error(
        "`core.worktree` of `{}` points at a folder that the repository is not in; \
         remove the setting if it is not yours", path_on_screen(.git_dir)
    )]
    ForeignWorkTree {
        /// The repository's folder of git's own files, which the setting is in.
        git_dir: PathBuf,
    },
    /// A folder holds more files than are listed.
    #[error("more than {most} files and folders are below `{}`; name a folder in it", path_on_screen(.path))]
    TooManyFiles {
        /// The folder that is too full.
        path: PathBuf,
        /// How many are listed.
        most: usize,
    },
    /// The operating system refused something.
    #[error("could not {doing} `{}`: {source}", path_on_screen(.path))]
    Io {
        /// The attempted operation, such as `read`.
        doing: &'static str,
        /// The file or folder that it was tried with.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Something is there, of another type than is wanted.
    #[error("`{}` is {found}, not {wanted}; move it elsewhere", path_on_screen(.path))]
    NotRegular {
        /// The folder, pipe or device that was to be read.
        path: PathBuf,
        /// The kind found, such as `a named pipe`.
        found: &'static str,
        /// The expected kind, such as `a regular file`.
        wanted: &'static str,
    },
    /// A link where none is followed.
    #[error("`{}` is a symbolic link, and links are not followed here; replace it with what it points to", path_on_screen(.path))]
    Link {
        /// The path of the symbolic link.
        path: PathBuf,
    },
    /// A path that would leave the folder it is meant to stay in.
    #[error("`{}` is not a path below a folder; leave out `..` and a leading `/`", path_on_screen(.path))]
    NotBeneath {
        /// The path as given.
        path: PathBuf,
    },
    /// Something is already there.
    #[error("`{}` exists already; remove it first, or choose another name", path_on_screen(.path))]
    Exists {
        /// The name that is taken already.
        path: PathBuf,
    },
    /// The installation key is not a key.
    #[error(
        "the key in `{}` is not 64 hexadecimal digits and a newline; restore it from a backup, or remove it (then data \
         encrypted with it can't be read any more)", path_on_screen(.path)
    )]
    KeyForm {
        /// The file that should hold it.
        path: PathBuf,
    },
    /// There is no installation key, and none can be made.
    #[error(
        "there is no key in `{}`, and it can't be created: {source}; set XDG_STATE_HOME to a folder that can be \
         written, or PROEM_KEY_FILE to a file with a key, and record nothing where a run would be recorded", path_on_screen(.path)
    )]
    NoKey {
        /// The file that it would be in.
        path: PathBuf,
        /// Why it can't be made there.
        source: io::Error,
    },
    /// Others may read the installation key, or replace it.
    #[error("other users can access `{}` (mode {mode:03o}); run `chmod {wanted:o} {}`", path_on_screen(.path), for_shell(.path))]
    TooOpen {
        /// The key's file or its folder.
        path: PathBuf,
        /// Its permission bits, as chmod(2) has them: the low nine.
        mode: u32,
        /// The permission bits that it should have.
        wanted: u32,
    },
    /// The operating system's random source failed.
    #[error("the operating system gave no random bytes ({0}); try again")]
    Random(getrandom::Error),
    /// A state is too long to be sealed.
    #[error("the run's state is too large to be stored; use smaller inputs")]
    Seal,
    /// The records can't be read or written.
    #[error(transparent)]
    Records(#[from] proem_store::Error),
    /// A change can't be assessed.
    #[error("the change can't be assessed: {0}")]
    Assessment(proem_risk::Error),
    /// Git's list is no history.
    #[error(
        "the history of the repository can't be read: {0}; `{look}` finds the damage",
        look = by_hand("fsck")
    )]
    History(proem_risk::Error),
    /// A revision that names no commit.
    #[error("there is no commit `{}`; name a branch, a tag or a commit that exists in this repository", .revision.escape_debug())]
    NoRevision {
        /// The revision as given.
        revision: String,
    },
    /// A revision that more than one commit fits.
    #[error("more than one commit begins with `{}`; give more of its digits", .revision.escape_debug())]
    AmbiguousRevision {
        /// The revision as given.
        revision: String,
    },
    /// Two commits without a common ancestor.
    #[error(
        "`{}` and `{}` have no common ancestor in this clone; fetch more of the history, or name related commits",
        .from.escape_debug(), .to.escape_debug()
    )]
    NoMergeBase {
        /// The revision that the range begins behind, as given.
        from: String,
        /// The revision that it ends with, as given.
        to: String,
    },
    /// A commit whose parent a shallow clone left out.
    #[error(
        "the parent of `{commit}` is not in this clone, so its change is unknown; clone the repository again without \
         `--depth`"
    )]
    MissingParent {
        /// The commit whose parent is missing.
        commit: proem_risk::history::ObjectId,
    },
    /// A repository without a commit, where one is wanted.
    #[error("the repository has no commits; commit something")]
    NoCommits,
    /// A bare repository, where a work tree or an index is wanted.
    #[error("`{}` is a bare repository, which has nothing uncommitted; name a commit", path_on_screen(.git_dir))]
    BareRepository {
        /// The repository's folder of git's own files.
        git_dir: PathBuf,
    },
    /// An index of which nothing can be committed.
    #[error(
        "{}, so what is staged can't be committed; resolve the conflicts and stage the files",
        in_conflict(*.paths)
    )]
    InConflict {
        /// How many paths are in conflict.
        paths: usize,
    },
    /// The shipped score is damaged.
    #[error("the scoring model that ships with Proem can't be read: {0}")]
    Score(proem_risk::score::Error),
    /// A recorded run can't be gone on with.
    #[error("run `{run}` can't be resumed: {why}")]
    NotResumable {
        /// The run's id, shortened as it is shown.
        run: String,
        /// Why not, and what to do.
        why: String,
    },
    /// A recorded run can't be replayed.
    #[error("run `{run}` can't be replayed: {why}")]
    NotReplayable {
        /// The run's id, shortened as it is shown.
        run: String,
        /// The obstacle in its record.
        why: String,
    },
}

impl Error {
    /// An [`Error::Io`], for `map_err`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { doing, path, source }
    }
}

/// A path with everything escaped that could steer a terminal.
pub(crate) fn path_on_screen(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// A path as one word of a shell command.
fn for_shell(path: &Path) -> String {
    let shown = path_on_screen(path);
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:".contains(c);
    if !shown.is_empty() && shown.chars().all(plain) { shown } else { format!("'{}'", shown.replace('\'', "'\\''")) }
}

fn in_conflict(paths: usize) -> String {
    if paths == 1 { "1 path is in conflict".to_owned() } else { format!("{paths} paths are in conflict") }
}

fn ending(code: Option<i32>) -> String {
    code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"))
}
