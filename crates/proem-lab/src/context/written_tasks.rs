//! Tasks that people wrote for training and measuring: of everyday life, and in other languages.

use std::path::Path;

use serde::Deserialize;

use crate::selection::public_sets::read_data_file;

/// Which part of a set of tasks: what is learned from is never reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TaskPart {
    #[default]
    Train,
    Test,
}

/// A task of everyday life.
#[derive(Debug, Deserialize)]
struct EverydayTask {
    part: TaskPart,
    task: String,
}

/// A task about code that was written for a commit: vague, or in another language than its repository's.
#[derive(Debug, Deserialize)]
pub(super) struct WrittenTask {
    #[serde(default)]
    part: TaskPart,
    pub(super) repo: String,
    pub(super) commit: String,
    pub(super) task: String,
}

/// The everyday tasks of one part.
pub(super) fn everyday(workspace: &Path, part: TaskPart) -> Result<Vec<String>, String> {
    let all: Vec<EverydayTask> = read_json_lines(&workspace.join("evals/context/everyday.jsonl"))?;
    Ok(all.into_iter().filter(|task| task.part == part).map(|task| task.task).collect())
}

/// The tasks in other languages of one part.
pub(super) fn foreign(workspace: &Path, part: TaskPart) -> Result<Vec<WrittenTask>, String> {
    let all: Vec<WrittenTask> = read_json_lines(&workspace.join("evals/context/foreign.jsonl"))?;
    Ok(all.into_iter().filter(|task| task.part == part).collect())
}

pub(super) fn read_json_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, String> {
    read_data_file(path)?
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}")))
        .collect()
}
