//! The subjects of a command's runs, and the versions of its prompt that they meet in an experiment.
//!
//! Invariant: a subject's version follows from the experiment and the subject alone, so a batch that is continued asks
//! its other lines with the versions that an uninterrupted one would have asked them with.

use std::collections::BTreeMap;

use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::book::experiment::VersionAssignment;
use proem_guard::show;
use proem_text::json;
use serde_json::{Value as Json, json};

use super::options::RunOptions;
use super::setting::{KnownModel, OpenRun, RunSetting};
use crate::agents::basis::EXPERIMENTS;
use crate::book::experiments::{RunningExperiments, subject_of_inputs, watch_prompt};
use crate::error::Error;
use crate::message::Note;
use crate::project::OpenProject;
use crate::records::learning::taught_profile;

/// The subject of a run, which always meets the same version of the prompt in an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RunSubject {
    /// All inputs, by their hash.
    #[default]
    Inputs,
    /// The text or number of the input of this name.
    Field(String),
    /// This one, whatever the inputs are.
    Named(String),
}

impl RunSubject {
    /// The subject of a run with these inputs.
    ///
    /// # Errors
    ///
    /// If the input that names it is missing, or is neither a text nor a number.
    pub fn of(&self, inputs: &OrderedJson) -> Result<String, Error> {
        let name = match self {
            Self::Inputs => return Ok(subject_of_inputs(inputs)),
            Self::Named(subject) => return Ok(subject.clone()),
            Self::Field(name) => name,
        };
        match inputs.fields().and_then(|fields| fields.get(name)).map(OrderedJson::to_json) {
            Some(Json::String(text)) if !text.trim().is_empty() => Ok(text),
            Some(number @ Json::Number(_)) => Ok(json::compact(&number)),
            found => {
                let state = if found.is_some() { "is neither a text nor a number" } else { "is missing" };
                let name = show::terminal_str(name);
                Err(Error::invalid(format!("the input `{name}`, which names the subject of each run, {state}")))
            }
        }
    }
}

/// The versions of a prompt for the lines of a batch.
#[derive(Debug)]
pub(super) struct LineVersions {
    subject: RunSubject,
    running: RunningExperiments,
    /// The settings of all versions except the one in use.
    others: BTreeMap<String, RunSetting>,
}

/// The setting of one line.
pub(super) struct LineSetting<'s> {
    pub(super) setting: &'s RunSetting,
    /// The assignment of its subject. Empty where no experiment runs on the prompt.
    assignments: Vec<VersionAssignment>,
}

impl LineSetting<'_> {
    /// The model as it is known by now, and what a run of this line is started with.
    pub(super) fn known_model(&self) -> KnownModel {
        let mut known = self.setting.known_model();
        if let (Some(settings), false) = (known.settings.as_object_mut(), self.assignments.is_empty()) {
            settings.insert(EXPERIMENTS.to_owned(), json!(self.assignments));
        }
        known
    }
}

impl OpenRun {
    /// The same, where the inputs of each run have a subject of their own: if an experiment runs on the prompt and the
    /// options name no version, each run asks with the version of its subject. Messages go to `notes`.
    ///
    /// # Errors
    ///
    /// If the starts of experiments or the book can't be read.
    pub async fn with_subjects(
        self,
        subject: RunSubject,
        options: &RunOptions,
        project: &OpenProject,
        notes: &mut Vec<Note>,
    ) -> Result<Self, Error> {
        let id = &self.setting.prompt.id;
        let name = format!("{}/{}", id.agent, id.name);
        if options.prompt != name {
            return Ok(self);
        }
        if let Some(records) = self.records() {
            watch_prompt(project, records.store(), &name, notes).await;
        }
        let running = RunningExperiments::look_up(project, notes)?.on_prompts(&[&name]);
        let book = project.book()?;
        let mut others = BTreeMap::new();
        for version in running.other_versions() {
            let prompt = book.prompt(&name, Some(version))?;
            let mut setting = self.setting.with_version(prompt, options, &book)?;
            let history = setting.access.history(self.records(), options.record, project);
            setting.taught = taught_profile(project, &setting.prompt, &options.adapting, history).await?.collect(notes);
            others.insert(version.to_owned(), setting);
        }
        let versions = (!running.is_empty()).then_some(LineVersions { subject, running, others });
        Ok(Self { versions, ..self })
    }

    /// The setting for a run with these inputs.
    ///
    /// # Errors
    ///
    /// If they have no subject.
    pub(super) fn line_setting(&self, inputs: &OrderedJson) -> Result<LineSetting<'_>, Error> {
        let Some(LineVersions { subject, running, others }) = &self.versions else {
            return Ok(LineSetting { setting: &self.setting, assignments: Vec::new() });
        };
        let assignments = running.assignments(&subject.of(inputs)?);
        let other = assignments.first().and_then(|assigned| others.get(&assigned.version));
        Ok(LineSetting { setting: other.unwrap_or(&self.setting), assignments })
    }
}
