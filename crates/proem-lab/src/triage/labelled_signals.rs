//! Signals with what a project manager says of them.

use std::path::Path;

use proem_engine::run::Time;
use proem_triage::contract::{RecommendedAction, SignalCategory, SignalImportance, TimeSensitivity};
use proem_triage::{ProjectSignal, SourceContext, TriageProject, normalise_value};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::selection::public_sets::read_data_file;

pub(super) const FOLDER: &str = "crates/proem-triage/tests/it/labelled";
/// 2026-11-23, shortly after the last of them.
const NOW: Time = Time(1_795_392_000_000);

/// The kind of a made signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LabelledKind {
    Plain,
    Attacked,
    /// Harmless, with words that attacks use.
    Lookalike,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelledLine {
    id: String,
    kind: LabelledKind,
    language: String,
    category: SignalCategory,
    importance: SignalImportance,
    recommended_action: RecommendedAction,
    time_sensitivity: TimeSensitivity,
    document: Json,
}

/// A signal with its labels.
#[derive(Debug, Clone)]
pub(super) struct LabelledSignal {
    pub(super) id: String,
    pub(super) kind: LabelledKind,
    pub(super) labels: SignalLabels,
    pub(super) signal: ProjectSignal,
}

/// One answer for each dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignalLabels {
    pub(super) category: SignalCategory,
    pub(super) importance: SignalImportance,
    pub(super) action: RecommendedAction,
    pub(super) time: TimeSensitivity,
}

/// The signals of one half.
pub(super) fn read_half(workspace: &Path, name: &str) -> Result<Vec<LabelledSignal>, String> {
    let path = workspace.join(FOLDER).join(format!("{name}.jsonl"));
    let place = |number: usize| format!("`{}`, line {number}", path.display());
    let read = |(number, line): (usize, &str)| {
        let line: LabelledLine = serde_json::from_str(line).map_err(|error| format!("{}: {error}", place(number)))?;
        if !["en", "pt", "fr", "es", "de"].contains(&line.language.as_str()) {
            return Err(format!("{}: `{}` is none of the languages", place(number), line.language));
        }
        let context = SourceContext { now: NOW, mail_servers: &[], audiences: &[] };
        let found = normalise_value(line.document, &context);
        let Ok([signal]) = <[ProjectSignal; 1]>::try_from(found.signals) else {
            return Err(format!("{}: the document is not one signal", place(number)));
        };
        let labels = SignalLabels {
            category: line.category,
            importance: line.importance,
            action: line.recommended_action,
            time: line.time_sensitivity,
        };
        Ok(LabelledSignal { id: line.id, kind: line.kind, labels, signal })
    };
    (1..).zip(read_data_file(&path)?.lines()).filter(|(_, line)| !line.trim().is_empty()).map(read).collect()
}

/// The project that they belong to.
pub(super) fn labelled_project(workspace: &Path) -> Result<TriageProject, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ProjectFile {
        own_domains: Vec<String>,
        stakeholders: Vec<StakeholderLine>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct StakeholderLine {
        address: String,
        role: String,
    }
    let path = workspace.join(FOLDER).join("project.json");
    let file: ProjectFile =
        serde_json::from_str(&read_data_file(&path)?).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let stakeholders = file.stakeholders.iter().map(|stakeholder| stakeholder.address.clone()).collect();
    let roles = file.stakeholders.into_iter().map(|stakeholder| (stakeholder.address, stakeholder.role)).collect();
    Ok(TriageProject { own_domains: file.own_domains, stakeholders, roles })
}
