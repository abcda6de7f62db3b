//! The parts of a repository that matter to one task: the change that it is about, and the rule files on the way.

use std::time::{Duration, Instant};

use proem_agents::assemble::change_wanted::{ChangeWanted, IsDirty, change_wanted};
use proem_agents::assemble::place_facts::PlaceFacts;
use proem_agents::assemble::settings::ContextDepth;
use proem_agents::assemble::task_context::TaskContext;
use proem_agents::assemble::{Task, mode_keywords, phrases};
use proem_runtime::{GatherOptions, gather_facts, task_change};
use proem_select::mode::{Wording, infer};

use super::AssembleOptions;
use super::files::add_files;
use crate::error::Error;
use crate::project::OpenProject;

/// The findings, and the time they took.
#[derive(Debug)]
pub struct TaskFinding {
    /// The context.
    pub context: TaskContext,
    /// How long finding took.
    pub took: Duration,
    /// Whether files are given by their paths alone, for it is doubtful that the task is about code at all.
    pub is_by_path_alone: bool,
}

/// The findings of one concurrent step.
pub(super) struct Gathering<T> {
    /// The known facts about the folder.
    pub(super) gathered: PlaceFacts,
    /// The repository's parts for the task. `None` if the settings switch the search off.
    pub(super) finding: Option<TaskFinding>,
    /// The result of the work done meanwhile.
    pub(super) beside: T,
}

/// Finds out what is known about the folder and, as deep as the settings say, what the task needs of it. Git answers one
/// while the other is read, and when the first is known, `beside` is made of it.
///
/// # Errors
///
/// If git refuses the repository. Anything else is a gap.
pub(super) fn gather_and_find<T>(
    options: &AssembleOptions,
    depth: ContextDepth,
    gathering: &GatherOptions,
    project: &OpenProject,
    beside: impl FnOnce(&PlaceFacts) -> T,
) -> Result<Gathering<T>, Error> {
    if depth == ContextDepth::None {
        let gathered = gather_facts(&options.root, gathering)?;
        return Ok(Gathering { beside: beside(&gathered), gathered, finding: None });
    }
    let (known, files) = std::thread::scope(|scope| {
        let files = scope.spawn(|| {
            let began = Instant::now();
            let mut context = TaskContext::default();
            add_files(options, project, gathering, &mut context).map(|doubtful| (context, began.elapsed(), doubtful))
        });
        let known = gather_facts(&options.root, gathering).map(|gathered| (beside(&gathered), gathered));
        (known, files.join())
    });
    let (beside, gathered) = known?;
    let (files, took, is_doubtful) =
        files.map_err(|_| Error::bug("looking for files ended early", "a thread panicked")).and_then(|files| files)?;
    let began = Instant::now();
    let mut context = TaskContext::default();
    if let Some(wanted) = wanted_change(options, &gathered)? {
        let read = task_change(&options.root, &wanted, gathering, &mut context.gaps)?;
        context.commits.extend(read.as_ref().and_then(|read| read.subject.clone()));
        context.change = read.map(|read| read.change);
    }
    context.commits.extend(files.commits);
    context.gaps.extend(files.gaps);
    let context = TaskContext {
        files: files.files,
        folder_rules: files.folder_rules,
        weak_evidence: files.weak_evidence,
        ..context
    };
    let took = took.saturating_add(began.elapsed());
    // Code that has nothing to do with the task would only take room; whoever asks for a depth has it.
    let is_by_path_alone = is_doubtful && options.context.is_none() && depth > ContextDepth::Paths;
    let finding = TaskFinding { context, took, is_by_path_alone };
    Ok(Gathering { gathered, finding: Some(finding), beside })
}

/// The change that the task is about. A task from outside chooses none: nobody else says what is sent.
fn wanted_change(options: &AssembleOptions, gathered: &PlaceFacts) -> Result<Option<ChangeWanted>, Error> {
    let Task::Caller(text) = &options.task else { return Ok(None) };
    let tree = gathered.git.as_ref().and_then(|git| git.work_tree.as_ref());
    let changes = [tree.and_then(|tree| tree.staged), tree.and_then(|tree| tree.unstaged)];
    let is_dirty = changes.iter().flatten().any(|stat| stat.files > 0);
    let (phrases, keywords) = (phrases()?, mode_keywords());
    let wording = Wording { phrases, keywords: &keywords };
    let mode = infer(Some(text), &options.hints, &wording, None).mode;
    Ok(change_wanted(text, mode, if is_dirty { IsDirty::Yes } else { IsDirty::No }))
}
