//! Finds the commits that a person means.

use std::collections::BTreeSet;

use proem_risk::change::ChangeKind;
use proem_risk::history::ObjectId;

use super::{ANSWER, commit};
use crate::{
    Error, Extent,
    git::{GitProgram, Repository, RepositoryKind, Session, SetUp, filters, parse_status, status::split_at_byte},
    process::Deadline,
};

/// A person's specification of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    /// The work tree with untracked files if something there is not committed that is not set
    /// up by `proem init`, else HEAD.
    Auto,
    /// The commit that a revision names, against its first parent.
    Rev(String),
    /// The commits of the second revision since it parted from the first.
    Range(String, String),
    /// The staged changes.
    Staged,
    /// The work tree with untracked files.
    WorkTree,
}

/// Reads `REV`, `A..B` or `A...B`. Both ranges mean the same, what B has since the common ancestor. A missing end is
/// HEAD.
#[must_use]
pub fn parse_change_spec(text: &str) -> Spec {
    let range = text.split_once("...").or_else(|| text.split_once(".."));
    let end = |end: &str| if end.is_empty() { "HEAD".to_owned() } else { end.to_owned() };
    range.map_or_else(|| Spec::Rev(text.to_owned()), |(from, to)| Spec::Range(end(from), end(to)))
}

/// The name for HEAD when nobody named it.
const HEAD: &str = "HEAD, because nothing is uncommitted";

/// The name for a commit that somebody named.
pub(super) const NAMED_COMMIT: &str = "the commit";

/// The specified change, in commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedChange {
    /// The source of the change.
    pub kind: ChangeKind,
    /// The commit that it is or ends with. `None` for what is not committed.
    pub id: Option<ObjectId>,
    /// The commit that it is on. `None` if it begins the history.
    pub base: Option<ObjectId>,
    /// How many commits it has; 0 for what is not committed.
    pub commits: u32,
    /// Whether the commit has more than one parent: it is assessed against the first.
    pub is_merge: bool,
    /// When, in seconds since 1970. The caller's clock for what is not committed.
    pub at: i64,
    /// The choice, in our words.
    pub said: &'static str,
}

/// Finds the commits that `spec` means. `now` is the caller's clock in seconds since 1970.
///
/// # Errors
///
/// [`Error::NoRevision`], [`Error::AmbiguousRevision`], [`Error::NoCommits`], [`Error::NoMergeBase`],
/// [`Error::MissingParent`], [`Error::BareRepository`] or [`Error::InConflict`]; what git refuses otherwise.
pub fn resolve_change(
    git: &GitProgram,
    repository: &Repository,
    spec: &Spec,
    now: i64,
) -> Result<ResolvedChange, Error> {
    let mut session = Session::new(git, repository.folder(), Deadline::after(git.limits().question), ANSWER);
    match spec {
        Spec::Auto => {
            if matches!(repository.place, RepositoryKind::WorkTree(_)) && is_dirty(&mut session, &repository.set_up())?
            {
                return resolve_uncommitted(&session, ChangeKind::WorkTree, now, "the work tree with untracked files");
            }
            resolve_single(&session, "HEAD", HEAD)
        }
        Spec::Rev(revision) => resolve_single(&session, revision, NAMED_COMMIT),
        Spec::Range(from, to) => resolve_range(&session, from, to),
        Spec::Staged | Spec::WorkTree if repository.place == RepositoryKind::Bare => {
            Err(Error::BareRepository { git_dir: repository.common_dir.clone() })
        }
        Spec::Staged => {
            without_conflicts(&session)?;
            resolve_uncommitted(&session, ChangeKind::Staged, now, "what is staged")
        }
        Spec::WorkTree => {
            resolve_uncommitted(&session, ChangeKind::WorkTree, now, "the work tree with untracked files")
        }
    }
}

fn resolve_single(session: &Session<'_>, revision: &str, said: &'static str) -> Result<ResolvedChange, Error> {
    let id = verify(session, revision)?;
    let commit = commit::read_commit(session, &id)?;
    let base = commit.parents.first().copied();
    if let Some(base) = base
        && !is_here(session, &base)?
    {
        return Err(Error::MissingParent { commit: id });
    }
    let is_merge = commit.parents.len() > 1;
    let said = match (is_merge, said) {
        (true, HEAD) => "HEAD, a merge, against its first parent, because nothing is uncommitted",
        (true, _) => "the merge, against its first parent",
        (false, said) => said,
    };
    Ok(ResolvedChange { kind: ChangeKind::Commit, id: Some(id), base, commits: 1, is_merge, at: commit.at, said })
}

fn resolve_range(session: &Session<'_>, from: &str, to: &str) -> Result<ResolvedChange, Error> {
    let (first, last) = (verify(session, from)?, verify(session, to)?);
    let ends = [first.to_string(), last.to_string()];
    let answer = session.ask_about(&["merge-base"], &[&ends[0], &ends[1]], &[0, 1])?;
    if answer.code == 1 {
        return Err(Error::NoMergeBase { from: from.to_owned(), to: to.to_owned() });
    }
    let base = line_id(&answer.stdout, "merge-base")?;
    let counted = session.ask_about(&["rev-list", "--count"], &[&ends[1], &format!("^{base}"), "--"], &[0])?;
    let commits = std::str::from_utf8(counted.stdout.trim_ascii()).ok().and_then(|count| count.parse().ok());
    let commits = commits.ok_or(Error::GitAnswer { command: "rev-list" })?;
    let at = commit::read_commit(session, &last)?.at;
    let said = "the changes of the second revision since the common ancestor";
    Ok(ResolvedChange { kind: ChangeKind::Range, id: Some(last), base: Some(base), commits, is_merge: false, at, said })
}

fn resolve_uncommitted(
    session: &Session<'_>,
    kind: ChangeKind,
    at: i64,
    said: &'static str,
) -> Result<ResolvedChange, Error> {
    let base = match verify(session, "HEAD") {
        Ok(base) => Some(base),
        Err(Error::NoCommits) => None,
        Err(error) => return Err(error),
    };
    Ok(ResolvedChange { kind, id: None, base, commits: 0, is_merge: false, at, said })
}

/// Refuses an index of which nothing can be committed.
fn without_conflicts(session: &Session<'_>) -> Result<(), Error> {
    let unmerged = session.ask_whole(&["ls-files", "-u", "-z", "--full-name"], &[0])?.stdout;
    let paths = unmerged.split(|&byte| byte == 0).filter_map(|line| split_at_byte(line, b'\t').map(|(_, path)| path));
    match paths.collect::<BTreeSet<&[u8]>>().len() {
        0 => Ok(()),
        paths => Err(Error::InConflict { paths }),
    }
}

/// The commit that a revision names. A text that could be an option never reaches git.
pub(super) fn verify(session: &Session<'_>, revision: &str) -> Result<ObjectId, Error> {
    let none = || Error::NoRevision { revision: revision.to_owned() };
    if revision.is_empty() || revision.starts_with('-') || revision.contains(['\0', '\n']) {
        return Err(none());
    }
    // An annotated tag is an object of its own. Meant is the commit that it points at.
    let asked = format!("{revision}^{{commit}}");
    match session.ask_about(&["rev-parse", "--verify", "--end-of-options"], &[&asked], &[0]) {
        Ok(answer) => line_id(&answer.stdout, "rev-parse"),
        // Its exit code is that of every other failure. The words are English, for git is run so.
        Err(Error::GitFailed { said, .. }) if said.measure(|said| said.contains(" is ambiguous")) => {
            Err(Error::AmbiguousRevision { revision: revision.to_owned() })
        }
        Err(Error::GitFailed { code: Some(128), .. }) => {
            // A repository without a commit has no HEAD either, and somebody who named HEAD did nothing wrong.
            let head = session.ask_whole(&["rev-parse", "-q", "--verify", "HEAD"], &[0, 1])?;
            Err(if head.code == 1 && matches!(revision, "HEAD" | "@") { Error::NoCommits } else { none() })
        }
        Err(error) => Err(error),
    }
}

fn line_id(line: &[u8], command: &'static str) -> Result<ObjectId, Error> {
    // A crossed history has several merge bases. Git names the best first.
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    ObjectId::parse(line).ok_or(Error::GitAnswer { command })
}

fn is_here(session: &Session<'_>, id: &ObjectId) -> Result<bool, Error> {
    let answer = session.ask_about(&["cat-file", "-e"], &[&id.to_string()], &[0, 1, 128])?;
    Ok(answer.code == 0)
}

/// Whether something is uncommitted that Proem did not write. Submodules count by their commit alone.
fn is_dirty(session: &mut Session<'_>, set_up: &SetUp<'_>) -> Result<bool, Error> {
    filters::overrides(session)?;
    // A new folder is one line unless its files have to be told apart.
    let untracked = if set_up.is_empty() { "--untracked-files=normal" } else { "--untracked-files=all" };
    let status = ["status", "--porcelain=v2", "-z", untracked, "--ignore-submodules=dirty"];
    let answer = session.ask(&status, &[0])?.stdout;
    if set_up.is_empty() || answer.is_empty() {
        return Ok(!answer.is_empty());
    }
    let listing = parse_status(&answer);
    // A file that could not be read to its end counts as somebody else's.
    Ok(listing.extent == Extent::Cut || listing.entries.iter().any(|entry| !set_up.is_new(entry)))
}
