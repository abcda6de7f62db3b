//! Whether the right entries of one project's catalogue are selected for its tasks, in five languages.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use proem_agents::assemble::settings::AssembleSettings;
use proem_select::mode::Mode;
use proem_select::select::{BaseNames, Selector, choose_capabilities};
use serde::Deserialize;

use super::eval::{EvalKnowledge, SelectionBench};
use super::public_sets::{ToolCatalogue, read_data_file};

const FOLDER: &str = "evals/selection/project";

/// A task with what it needs, a line of the set.
#[derive(Debug, Clone, Deserialize)]
struct ProjectTask {
    id: String,
    part: TaskPart,
    language: String,
    query: String,
    /// The entries that must be selected.
    needed: BTreeSet<String>,
    /// The entries that may be selected besides.
    sensible: BTreeSet<String>,
}

/// Whether a task was looked at while selection was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TaskPart {
    Dev,
    Report,
}

/// The entries selected for a task.
#[derive(Debug, Clone)]
pub(super) struct TaskOutcome {
    id: String,
    part: TaskPart,
    language: String,
    query: String,
    missing: Vec<String>,
    unrelated: Vec<String>,
}

impl TaskOutcome {
    pub(super) fn is_right(&self) -> bool {
        self.missing.is_empty() && self.unrelated.is_empty()
    }

    pub(super) fn is_of(&self, part: TaskPart) -> bool {
        self.part == part
    }

    /// The task with what is wrong, in one line.
    pub(super) fn line(&self) -> String {
        let (missing, unrelated) = (self.missing.join(", "), self.unrelated.join(", "));
        format!("{} {}: missing [{missing}], unrelated [{unrelated}]", self.id, self.query)
    }
}

/// Selects for every task of the set, with the default limits.
pub(super) fn outcomes(
    bench: &SelectionBench<'_>,
    workspace: &Path,
    knowledge: EvalKnowledge,
) -> Result<Vec<TaskOutcome>, String> {
    let folder = workspace.join(FOLDER);
    let tools = ToolCatalogue::read(&folder.join("catalogue.jsonl"))?;
    let usage = Selector::shipped_usage().map_err(|error| error.to_string())?;
    let index = bench.index(tools.entries(), &usage)?;
    let caps = AssembleSettings::default().caps(Mode::Act);
    let mut outcomes = Vec::new();
    for line in read_data_file(&folder.join("tasks.jsonl"))?.lines() {
        let task: ProjectTask = serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}"))?;
        let ranking = bench.rank(tools.entries(), &index, &task.query, knowledge)?;
        let selection = choose_capabilities(tools.entries(), &ranking, &caps, &BaseNames::default());
        let name = |entry: usize| tools.entries().get(entry).map(|entry| entry.name().as_str().to_owned());
        let chosen: BTreeSet<String> = selection.chosen.iter().filter_map(|chosen| name(chosen.entry)).collect();
        let is_unrelated = |name: &&String| !task.needed.contains(*name) && !task.sensible.contains(*name);
        outcomes.push(TaskOutcome {
            missing: task.needed.difference(&chosen).cloned().collect(),
            unrelated: chosen.iter().filter(is_unrelated).cloned().collect(),
            id: task.id,
            part: task.part,
            language: task.language,
            query: task.query,
        });
    }
    Ok(outcomes)
}

/// The tables of both parts, by language.
pub(super) fn project_table(words: &[TaskOutcome], meaning: &[TaskOutcome]) -> String {
    let mut out = String::from(
        "\n## One project's tasks\n\nRight: what the task needs is selected and nothing unrelated \
         ([the set](project/README.md)). The part `dev` was looked at.\n\n\
         | part | tasks | Proem, words only | Proem |\n|---|---:|---:|---:|\n",
    );
    for (part, name) in [(TaskPart::Dev, "dev"), (TaskPart::Report, "report")] {
        for language in ["", "en", "de", "fr", "es", "pt"] {
            let is_asked = |o: &&TaskOutcome| o.part == part && (language.is_empty() || o.language == language);
            let right = |all: &[TaskOutcome]| all.iter().filter(is_asked).filter(|outcome| outcome.is_right()).count();
            let tasks = meaning.iter().filter(is_asked).count();
            let label = if language.is_empty() { "all" } else { language };
            _ = writeln!(out, "| {name}, {label} | {tasks} | {} | {} |", right(words), right(meaning));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proem_embed::StaticModel;

    #[test]
    fn tasks_in_five_languages_select_what_they_need_and_nothing_unrelated() {
        let (embedder, selector) = (StaticModel::built_in().unwrap(), Selector::shipped().unwrap());
        let bench = SelectionBench { embedder: &embedder, selector: &selector };
        let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let outcomes = outcomes(&bench, workspace, EvalKnowledge::Meaning).unwrap();
        let wrong: Vec<String> = outcomes.iter().filter(|outcome| !outcome.is_right()).map(TaskOutcome::line).collect();
        assert!(outcomes.len() >= 60, "{}", outcomes.len());
        assert!(wrong.len() * 20 <= outcomes.len(), "{} of {}:\n{}", wrong.len(), outcomes.len(), wrong.join("\n"));
    }
}
