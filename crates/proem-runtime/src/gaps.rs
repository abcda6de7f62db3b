//! Says in our words what could not be found out.
//!
//! Invariant: `what` and `why` of a gap hold no text from outside, since they are among trusted text. A path or git's
//! own words go into `about`.

use std::path::Path;

use proem_agents::assemble::place_facts::Gap;
use proem_guard::Untrusted;
use proem_text::{Label, Source};

use crate::{Error, git::by_hand::by_hand};

/// A gap that concerns no text from outside.
pub(crate) fn gap(what: &str, why: impl Into<String>) -> Gap {
    Gap { what: what.to_owned(), why: why.into(), about: None }
}

/// The gap that `error` leaves.
pub(crate) fn gap_of(what: &str, error: &Error) -> Gap {
    let (why, about) = match error {
        Error::GitFailed { said, .. } => (error.to_string(), Some(said.clone())),
        Error::DubiousOwnership { path } => {
            ("git refuses the repository, which belongs to another user".to_owned(), Some(untrusted_path(path)))
        }
        Error::BrokenRepository { path } => {
            let look = by_hand("rev-parse --git-dir");
            let why = format!(
                "there is a `.git` that git does not recognise; run `{look}` there to see why, or remove \
                               it"
            );
            (why, Some(untrusted_path(path)))
        }
        Error::ForeignWorkTree { git_dir } => {
            let why = "`core.worktree` points at a folder that the repository is not in; remove the setting if it is not yours";
            (why.to_owned(), Some(untrusted_path(git_dir)))
        }
        Error::Io { doing, path, source } => {
            (format!("could not {doing} it: {}; check its permissions", source.kind()), Some(untrusted_path(path)))
        }
        Error::NotRegular { path, found, wanted } => {
            (format!("it is {found}, not {wanted}; move it elsewhere"), Some(untrusted_path(path)))
        }
        Error::Link { path } => {
            let why = "it is a symbolic link, and links are not followed here; replace it with what it points to";
            (why.to_owned(), Some(untrusted_path(path)))
        }
        Error::NotBeneath { path }
        | Error::Exists { path }
        | Error::KeyForm { path }
        | Error::NoKey { path, .. }
        | Error::TooManyFiles { path, .. }
        | Error::TooOpen { path, .. } => ("it can't be used as it is".to_owned(), Some(untrusted_path(path))),
        Error::GitMissing
        | Error::GitTooOld
        | Error::TimedOut { .. }
        | Error::TooMuchOutput { .. }
        | Error::GitAnswer { .. }
        | Error::NotFetched { .. }
        | Error::Random(_)
        | Error::NoCommits
        | Error::InConflict { .. }
        | Error::Seal => (error.to_string(), None),
        Error::Assessment(_) | Error::Score(_) | Error::History(_) => {
            ("the history can't be assessed".to_owned(), None)
        }
        Error::NoRevision { .. }
        | Error::AmbiguousRevision { .. }
        | Error::NoMergeBase { .. }
        | Error::MissingParent { .. }
        | Error::BareRepository { .. } => ("the named file or revision does not exist".to_owned(), None),
        Error::Records(_) | Error::NotResumable { .. } | Error::NotReplayable { .. } => {
            ("the records can't be used".to_owned(), None)
        }
    };
    Gap { what: what.to_owned(), why, about }
}

fn untrusted_path(path: &Path) -> Untrusted<String> {
    Untrusted::new(path.to_string_lossy().into_owned(), Label::from_source(Source::named("file/path")))
}
