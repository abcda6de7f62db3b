//! What is found in a repository for one task: the change that it is about, and the rule files on the way.

use std::time::{Duration, Instant};

use proem_agents::assemble::change_wanted::{ChangeWanted, IsDirty, change_wanted};
use proem_agents::assemble::found::TaskContext;
use proem_agents::assemble::gathered::PlaceFacts;
use proem_agents::assemble::settings::ContextDepth;
use proem_agents::assemble::{Task, keywords, phrases};
use proem_runtime::{GatherOptions, task_change};
use proem_select::mode::{Wording, infer};

use super::AssembleOptions;
use super::files::add_files;
use crate::error::Error;
use crate::project::OpenProject;

/// What was found, and how long it took.
#[derive(Debug)]
pub struct TaskFinding {
    /// What was found.
    pub context: TaskContext,
    /// How long finding took.
    pub took: Duration,
}

/// Finds what a task needs, as deep as the settings say; `None` if they say that nothing is looked for.
///
/// # Errors
///
/// If git refuses the repository. Anything else is a gap.
pub(super) fn find(
    options: &AssembleOptions,
    depth: ContextDepth,
    gathered: &PlaceFacts,
    gathering: &GatherOptions,
    project: &OpenProject,
) -> Result<Option<TaskFinding>, Error> {
    if depth == ContextDepth::None {
        return Ok(None);
    }
    let began = Instant::now();
    let mut context = TaskContext::default();
    if let Some(wanted) = change(options, gathered)? {
        let read = task_change(&options.root, &wanted, gathering, &mut context.gaps)?;
        context.commits.extend(read.as_ref().and_then(|read| read.subject.clone()));
        context.change = read.map(|read| read.change);
    }
    add_files(options, project, gathering, &mut context)?;
    Ok(Some(TaskFinding { context, took: began.elapsed() }))
}

/// The change that the task is about. A task from outside chooses none: nobody else says what is sent.
fn change(options: &AssembleOptions, gathered: &PlaceFacts) -> Result<Option<ChangeWanted>, Error> {
    let Task::Caller(text) = &options.task else { return Ok(None) };
    let tree = gathered.git.as_ref().and_then(|git| git.work_tree.as_ref());
    let changes = [tree.and_then(|tree| tree.staged), tree.and_then(|tree| tree.unstaged)];
    let is_dirty = changes.iter().flatten().any(|stat| stat.files > 0);
    let (phrases, keywords) = (phrases()?, keywords()?);
    let wording = Wording { phrases, keywords: &keywords };
    let mode = infer(Some(text), &options.hints, &wording, None).mode;
    Ok(change_wanted(text, mode, if is_dirty { IsDirty::Yes } else { IsDirty::No }))
}
