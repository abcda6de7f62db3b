//! Asks whether git tracks a path.

use std::{path::Path, time::Duration};

use crate::{
    Error,
    git::{GitProgram, Session},
    process::Deadline,
};

/// More than any sensible number of paths below one folder, in bytes.
const PATHS: usize = 4 * 1024 * 1024;

/// Which of `paths`, given relative to the work tree's `root`, came or would go with the repository's commits.
///
/// True where git tracks the path itself or one of its parents (a link or a submodule then),
/// letters compared regardless of case, as some file systems do. All `paths` must be below
/// `.proem`.
///
/// # Errors
///
/// Any reason that git gave no answer. Nothing is known about the paths then.
pub fn tracked_paths(git: &GitProgram, root: &Path, paths: &[&str], limit: Duration) -> Result<Vec<bool>, Error> {
    let session = Session::new(git, root, Deadline::after(limit), PATHS);
    let listing = session.ask_whole(&["ls-files", "-z", "--", ":(top,icase).proem"], &[0])?;
    let known: Vec<&[u8]> = listing.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty()).collect();
    Ok(paths.iter().map(|path| known.iter().any(|known| covers(known, path.as_bytes()))).collect())
}

/// Whether `tracked` is `path` or one of its parents.
fn covers(tracked: &[u8], path: &[u8]) -> bool {
    path.split_at_checked(tracked.len())
        .is_some_and(|(head, tail)| head.eq_ignore_ascii_case(tracked) && matches!(tail.first(), None | Some(b'/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracked_parent_covers_what_is_below() {
        for (tracked, expected) in [
            (".proem/private/memory.jsonl", true),
            (".Proem/PRIVATE/memory.jsonl", true),
            (".proem/private", true),
            (".proem", true),
            (".proe", false),
            (".proem/rules.md", false),
            (".proem/private/memory.jsonl.old", false),
        ] {
            assert_eq!(covers(tracked.as_bytes(), b".proem/private/memory.jsonl"), expected, "{tracked}");
        }
    }
}
