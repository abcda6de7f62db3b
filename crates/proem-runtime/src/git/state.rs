//! Finds out the state of a repository.
//!
//! An answer that git doesn't give in time or in full is `None` with a gap, never a zero.

use std::{collections::BTreeMap, time::Duration};

use proem_agents::assemble::place_facts::{Divergence, Gap, Git, GitHead, WorkTree};
use proem_guard::Untrusted;
use proem_text::{Label, Source};

use crate::{
    Error, Extent,
    gaps::{gap, gap_of},
    git::{
        GitProgram, Repository, RepositoryKind, Session, SetUp, StatusListing, UNTRACKED_PATHS, Upstream, filters,
        parse_numstat, parse_status,
        state::changes::{LinesByPath, changes, diff_stat},
    },
    parallel::join_thread,
    process::Deadline,
};

mod changes;

/// Bounds on finding out a repository's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateLimits {
    /// Time for what HEAD is.
    pub head: Duration,
    /// Time for all uncommitted changes together.
    pub changes: Duration,
    /// Bytes read from one git command.
    pub bytes: usize,
    /// Paths kept of those that changed.
    pub paths: usize,
}

/// The state of a repository and what is missing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryState {
    /// The state.
    pub git: Git,
    /// The gaps, with their reasons.
    pub gaps: Vec<Gap>,
}

/// Finds out the state of `repository`.
///
/// The branches of a bare repository aren't compared with an upstream. Files of `Repository::set_up` that are not
/// committed yet and have those bytes are no changes.
///
/// # Errors
///
/// Any reason that git gave no state of HEAD, and [`Error::NotRegular`] if it waited for a named pipe or a device.
/// Other missing parts are gaps.
pub fn repository_state(
    git: &GitProgram,
    repository: &Repository,
    limits: &StateLimits,
) -> Result<RepositoryState, Error> {
    let folder = repository.folder();
    let of_head = || read_head(&Session::new(git, folder, Deadline::after(limits.head), limits.bytes));
    let mut gaps = Vec::new();
    let RepositoryKind::WorkTree(_) = repository.place else {
        let (head, commit) = of_head()?;
        return Ok(RepositoryState { git: Git { head, commit, upstream: None, work_tree: None }, gaps });
    };
    // Beside each other: for what changed, git looks at every file.
    let (of_head, of_files) = std::thread::scope(|scope| {
        let of_head = scope.spawn(of_head);
        let mut session = Session::new(git, folder, Deadline::after(limits.changes), limits.bytes);
        (join_thread(of_head), read_work_tree(&mut session, limits.paths, &repository.set_up(), &mut gaps))
    });
    let ((head, commit), (upstream, work_tree)) = (of_head?, of_files?);
    let git_state = Git { head, commit, upstream, work_tree: Some(work_tree) };
    Ok(RepositoryState { git: git_state, gaps })
}

/// Which commit is checked out. It is asked for in the same words by all, so that git is asked once.
pub(crate) const HEAD_COMMIT: [&str; 4] = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];

fn read_head(session: &Session<'_>) -> Result<(GitHead, Option<String>), Error> {
    let unreadable = || Error::GitAnswer { command: "rev-parse" };
    let reference = session.ask_whole(&["symbolic-ref", "-q", "HEAD"], &[0, 1])?;
    let mut commit = session.ask_whole(&HEAD_COMMIT, &[0, 1, 128])?;
    if commit.code != 0 {
        // No commit yet, or one that is missing, whose id is known all the same.
        commit = session.ask_whole(&["rev-parse", "-q", "--verify", "HEAD"], &[0, 1])?;
    }
    let commit = (commit.code == 0).then(|| object_id(&commit.stdout).ok_or_else(unreadable)).transpose()?;
    if reference.code == 1 {
        return commit.map(|commit| (GitHead::Detached, Some(commit))).ok_or_else(unreadable);
    }
    let name = reference.stdout.strip_suffix(b"\n").unwrap_or(&reference.stdout);
    let name = proem_text::path_as_text(name.strip_prefix(b"refs/heads/").unwrap_or(name));
    let name = Untrusted::new(name, Label::from_source(Source::named("git/branch")));
    Ok((if commit.is_some() { GitHead::Branch(name) } else { GitHead::Unborn(name) }, commit))
}

fn object_id(line: &[u8]) -> Option<String> {
    let id = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let hexadecimal = id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (hexadecimal && matches!(id.len(), 40 | 64)).then(|| id.to_owned())
}

/// The differences between HEAD, the index and the work tree, and the branch's distance from its upstream.
pub(crate) const STATUS: [&str; 8] = [
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",
    "--ahead-behind",
    "--untracked-files=no",
    "--ignore-submodules=dirty",
    "--find-renames",
];

const DIFF: [&str; 10] = [
    "diff",
    "--numstat",
    "-z",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--ignore-submodules=dirty",
    "--find-renames",
    "-O/dev/null",
];

fn read_work_tree(
    session: &mut Session<'_>,
    paths: usize,
    set_up: &SetUp<'_>,
    gaps: &mut Vec<Gap>,
) -> Result<(Option<Divergence>, WorkTree), Error> {
    let nothing = WorkTree { staged: None, unstaged: None, untracked: None, changes: None };
    if let Err(error) = filters::overrides(session) {
        note_missing("upstream and uncommitted changes", error, gaps)?;
        return Ok((None, nothing));
    }
    let session = &*session;
    let Some(mut status) = read_git_status(session, gaps)? else {
        let untracked = read_untracked(session, set_up, gaps)?;
        return Ok((None, WorkTree { untracked: untracked.and_then(UntrackedPaths::count), ..nothing }));
    };
    status.entries.retain(|entry| !set_up.is_new(entry));
    let upstream = upstream(status.upstream, gaps);
    let staged = read_side_lines(session, DiffSide::Staged, &status, gaps)?;
    let unstaged = read_side_lines(session, DiffSide::Unstaged, &status, gaps)?;
    let untracked = read_untracked(session, set_up, gaps)?;
    let found = untracked.as_ref().map_or(&[][..], |untracked| &untracked.paths);
    let work_tree = WorkTree {
        staged: staged.as_ref().map(diff_stat),
        unstaged: unstaged.as_ref().map(diff_stat),
        changes: Some(changes(&status, found, [staged.as_ref(), unstaged.as_ref()], paths, gaps)),
        untracked: untracked.and_then(UntrackedPaths::count),
    };
    Ok((upstream, work_tree))
}

/// The part that an error leaves out is a gap, unless git waited for a named pipe: it would wait again.
fn note_missing(what: &str, error: Error, gaps: &mut Vec<Gap>) -> Result<(), Error> {
    if let Error::NotRegular { .. } = error {
        return Err(error);
    }
    gaps.push(gap_of(what, &error));
    Ok(())
}

/// The status listing without untracked files, at least in part.
fn read_git_status(session: &Session<'_>, gaps: &mut Vec<Gap>) -> Result<Option<StatusListing>, Error> {
    match session.ask(&STATUS, &[0]) {
        Ok(answer) => {
            let status = parse_status(&answer.stdout);
            if status.extent == Extent::Cut {
                let why = format!("only the first {} could be read; commit or revert some", status.entries.len());
                gaps.push(gap("changed files", why));
            }
            Ok(Some(status))
        }
        Err(error) => note_missing("upstream and changed files", error, gaps).map(|()| None),
    }
}

fn upstream(upstream: Upstream, gaps: &mut Vec<Gap>) -> Option<Divergence> {
    match upstream {
        Upstream::None => None,
        Upstream::Apart { ahead, behind } => Some(Divergence { ahead, behind }),
        Upstream::Gone => {
            gaps.push(gap(
                "upstream",
                "the upstream of this branch is missing from this clone: it was deleted there, or never fetched"
                    .to_owned(),
            ));
            None
        }
    }
}

/// Which of the two diffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffSide {
    /// From HEAD to the index.
    Staged,
    /// From the index to the work tree.
    Unstaged,
}

/// The lines of every path that `status` says changed on `side`.
///
/// The diff alone would not do: it lists binary files that were only touched, and paths in
/// conflict, which belong to neither side.
fn read_side_lines(
    session: &Session<'_>,
    side: DiffSide,
    status: &StatusListing,
    gaps: &mut Vec<Gap>,
) -> Result<Option<LinesByPath>, Error> {
    let (what, more) = match side {
        DiffSide::Staged => ("staged lines", &["--cached"][..]),
        DiffSide::Unstaged => ("unstaged lines", &[][..]),
    };
    if status.extent == Extent::Cut {
        gaps.push(gap(what, "the list of changed files is not complete"));
        return Ok(None);
    }
    if !status.entries.iter().any(|entry| changes::is_on(side, entry.kind)) {
        // Nothing is asked of git where there is nothing to count.
        return Ok(Some(LinesByPath::new()));
    }
    let args: Vec<&'static str> = DIFF.iter().chain(more).copied().collect();
    let listing = session.ask_whole(&args, &[0]).map(|answer| parse_numstat(&answer.stdout));
    let listing = match listing {
        Ok(listing) if listing.extent == Extent::Whole => listing,
        Ok(_) => {
            gaps.push(gap_of(what, &Error::GitAnswer { command: "diff" }));
            return Ok(None);
        }
        Err(error) => return note_missing(what, error, gaps).map(|()| None),
    };
    let mut counted: BTreeMap<Vec<u8>, Option<(u64, u64)>> =
        listing.entries.into_iter().map(|entry| (entry.path, entry.lines)).collect();
    let changed = status.entries.iter().filter(|entry| changes::is_on(side, entry.kind));
    // A path that only status lists has a change without lines, such as another mode.
    Ok(Some(changed.map(|entry| (entry.path.clone(), counted.remove(&entry.path).unwrap_or(Some((0, 0))))).collect()))
}

/// Untracked paths, perhaps not all.
struct UntrackedPaths {
    paths: Vec<Vec<u8>>,
    extent: Extent,
}

impl UntrackedPaths {
    /// How many there are, if that is known.
    fn count(self) -> Option<u64> {
        (self.extent == Extent::Whole).then(|| u64::try_from(self.paths.len()).ok())?
    }
}

fn read_untracked(
    session: &Session<'_>,
    set_up: &SetUp<'_>,
    gaps: &mut Vec<Gap>,
) -> Result<Option<UntrackedPaths>, Error> {
    match session.ask(&UNTRACKED_PATHS, &[0]) {
        Ok(answer) => {
            let mut paths: Vec<Vec<u8>> = answer.stdout.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
            // The text after the last NUL is empty, or a path that was cut.
            paths.pop();
            if answer.extent == Extent::Cut {
                let why = format!("there are more than {}; add irrelevant files to `.gitignore`", paths.len());
                gaps.push(gap("untracked files", why));
            }
            paths.retain(|path| !set_up.wrote(path));
            Ok(Some(UntrackedPaths { paths, extent: answer.extent }))
        }
        Err(error) => note_missing("untracked files", error, gaps).map(|()| None),
    }
}
