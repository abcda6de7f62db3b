//! Lists commits for many assessments at once.

use std::collections::BTreeSet;

use proem_risk::change::ChangeKind;
use proem_risk::history::ObjectId;
use proem_risk::identity::{Mailmap, Person};

use super::ANSWER;
use super::listing::{NulFields, split_fields};
use super::resolve::{self, ResolvedChange, verify};
use crate::{
    Error,
    git::{GitProgram, Repository, Session},
    history::{ignored_revisions, shallow},
    process::Deadline,
};

/// The most commits that are looked through for recent ones.
const MOST_LOOKED_AT: &str = "--max-count=200000";

/// The commits that are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitSelection {
    /// Those that the second revision reaches and the first doesn't.
    Range(String, String),
    /// Those that HEAD reaches and that were committed at or after this time, in seconds since 1970.
    Since(i64),
}

/// The commits of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitListing {
    /// The commits, newest first, without merges.
    pub commits: Vec<ResolvedChange>,
    /// How many merges were left out.
    pub merges: u32,
    /// How many commits were left out because a shallow clone doesn't have their parents.
    pub parentless: u32,
    /// Whether there are more commits than were wanted.
    pub more: bool,
}

/// Lists the newest `most` commits of a batch.
///
/// # Errors
///
/// The errors of [`resolve_change`](super::resolve_change) for a revision, and git's refusals.
pub fn commits_since(
    git: &GitProgram,
    repository: &Repository,
    batch: &CommitSelection,
    most: usize,
) -> Result<CommitListing, Error> {
    let session = Session::new(git, repository.folder(), Deadline::after(git.limits().history), ANSWER);
    let (mut more, since) = match batch {
        CommitSelection::Range(from, to) => {
            let (from, to) = (verify(&session, from)?, verify(&session, to)?);
            (vec![to.to_string(), format!("^{from}")], i64::MIN)
        }
        CommitSelection::Since(since) => (vec![verify(&session, "HEAD")?.to_string()], *since),
    };
    let alone: BTreeSet<ObjectId> = ignored_revisions(&shallow(repository)?).into_iter().collect();
    more.insert(0, MOST_LOOKED_AT.to_owned());
    more.push("--".to_owned());
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let mut listing = CommitListing::default();
    let mut result = Ok(());
    let mut rest = Vec::new();
    // The dates are looked at here: git would end its list at the first commit with a wrong one.
    session.stream(&["log", "-z", "--no-color", "--format=tformat:%H,%ct,%P"], &more, Vec::new(), &mut |piece| {
        split_fields(&mut rest, piece, &mut |line| {
            if result.is_ok() {
                result =
                    list_commit(line, (since, most), &alone, &mut listing).ok_or(Error::GitAnswer { command: "log" });
            }
        });
        Ok(())
    })?;
    result.map(|()| listing)
}

fn list_commit(
    line: &[u8],
    (since, most): (i64, usize),
    alone: &BTreeSet<ObjectId>,
    listing: &mut CommitListing,
) -> Option<()> {
    let mut fields = line.split(|&byte| byte == b',');
    let (id, date, parents) = (ObjectId::parse(fields.next()?)?, fields.next()?, fields.next()?);
    // A commit without a readable date may be a new one.
    let at = std::str::from_utf8(date).ok().and_then(|date| date.parse::<i64>().ok());
    if at.is_some_and(|at| at < since) {
        return Some(());
    }
    let mut parents = parents.split(|&byte| byte == b' ').filter(|parent| !parent.is_empty()).map(ObjectId::parse);
    let base = parents.next();
    if parents.next().is_some() {
        listing.merges = listing.merges.saturating_add(1);
    } else if alone.contains(&id) {
        // Git would compare it with nothing, as if it had made all that was there.
        listing.parentless = listing.parentless.saturating_add(1);
    } else if listing.commits.len() < most {
        let base = base.map_or(Some(None), |base| base.map(Some))?;
        let (kind, at) = (ChangeKind::Commit, at.unwrap_or(0));
        let resolved =
            ResolvedChange { kind, id: Some(id), base, commits: 1, is_merge: false, at, said: resolve::NAMED_COMMIT };
        listing.commits.push(resolved);
    } else {
        listing.more = true;
    }
    Some(())
}

/// The author of all commits of a range. `None` if there are several.
pub(super) fn only_author(
    session: &Session<'_>,
    base: Option<&ObjectId>,
    end: &ObjectId,
    mailmap: &Mailmap,
) -> Result<Option<Person>, Error> {
    let ends = [Some(end.to_string()), base.map(|base| format!("^{base}")), Some("--".to_owned())];
    let more: Vec<&str> = ends.iter().flatten().map(String::as_str).collect();
    let format = "--format=tformat:%an%x00%ae";
    let answer = session.ask_about(&["log", "-z", "--no-color", "--no-merges", format], &more, &[0])?;
    let mut fields = NulFields(&answer.stdout);
    let mut authors = BTreeSet::new();
    while let (Some(name), Some(mail)) = (fields.next(), fields.next()) {
        authors.insert(mailmap.person(name, mail).mail);
        if authors.len() > 1 {
            return Ok(None);
        }
    }
    let mut fields = NulFields(&answer.stdout);
    Ok(fields.next().zip(fields.next()).map(|(name, mail)| mailmap.person(name, mail)))
}
