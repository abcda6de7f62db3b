//! Reads a file as a commit has it.

use std::{path::Path, time::Duration};

use crate::{
    Error,
    git::{GitProgram, Session},
    process::Deadline,
};

/// The bytes of the file at `path`, relative to the root, in `commit`. `None` if the commit or the file doesn't exist.
///
/// # Errors
///
/// Any other reason that git gave no answer, and [`Error::TooMuchOutput`] for more than `cap` bytes.
pub fn committed_file(
    git: &GitProgram,
    folder: &Path,
    commit: &str,
    path: &str,
    cap: usize,
) -> Result<Option<Vec<u8>>, Error> {
    committed_bytes(&Session::new(git, folder, Deadline::after(Duration::from_secs(30)), cap), commit, path)
}

/// The same within a session.
pub(crate) fn committed_bytes(session: &Session<'_>, commit: &str, path: &str) -> Result<Option<Vec<u8>>, Error> {
    match session.ask_about(&["cat-file", "blob"], &[&format!("{commit}:{path}")], &[0]) {
        Ok(answer) => Ok(Some(answer.stdout)),
        // There is none, or no commit yet.
        Err(Error::GitFailed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
