//! The parts of a repository that a task needs: files, definitions and commits, found without a model.
//!
//! [`find_context`] reads the changes since the last time, ranks, and looks into the best files for the
//! definitions that fit. Its results are text from outside, except counts and probabilities. `assemble` calls it, and
//! so do callers that want the list alone.

mod candidates;
mod choice;
mod evidence;
mod general;
pub mod index;
pub mod output;
mod reading;
pub(crate) mod reply;
mod search;

use std::time::Instant;

pub(crate) use self::candidates::text_for_code;
pub use self::candidates::{ContextCommit, ContextFile, ContextPatience, ContextQuery, TaskCandidates};
pub use self::choice::FileChoice;
pub(crate) use self::choice::at_mentions;
use self::search::Search;
use crate::error::Error;
use crate::project::OpenProject;

/// Finds what a task needs. `progress` hears how many of how many contents were read.
///
/// # Errors
///
/// If git refuses the repository, or the folder can't be read. Missing data is a gap and no error.
pub fn find_context(
    query: &ContextQuery<'_>,
    project: &OpenProject,
    progress: &dyn Fn(usize, usize),
) -> Result<TaskCandidates, Error> {
    let began = Instant::now();
    // A process that reads all of it at this moment is waited for, and what it kept is used.
    let _lock = (query.patience == ContextPatience::Whole).then(|| index::wait_for_index(project));
    let search = Search::open(query, project, progress)?;
    if search.is_first_look() {
        project.first_look.note();
    }
    let mut found = search.candidates(query)?;
    found.took = began.elapsed();
    Ok(found)
}
