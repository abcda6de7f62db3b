//! Experiments with the versions of a prompt: who meets which version, what came of it, and when one ends.
//!
//! Invariants: an experiment runs only after a person started it on this machine, and only versions that count here are
//! assigned. A journal or a store starts nothing. A guardrail that is broken leads every subject back to the version in
//! use, and nothing ever moves the version in use.

pub mod measures;
pub mod starts;
pub mod status;

use proem_engine::prompt::book::Book;
use proem_engine::prompt::book::experiment::{AssignmentUnit, Experiment, VersionAssignment};
use proem_engine::prompt::origin::Origin;
use proem_store::Store;
use serde_json::Value as Json;

use self::measures::experiment_measures;
use self::starts::{ExperimentStart, ExperimentStarts};
use self::status::guardrail_reports;
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::project::OpenProject;
use crate::when;

/// The experiments that assign versions in a project, as they were when they were looked up.
#[derive(Debug, Clone, Default)]
pub struct RunningExperiments {
    project: String,
    /// Each with its start, in milliseconds since 1970.
    running: Vec<(Experiment, i64)>,
}

impl RunningExperiments {
    /// Looks them up.
    ///
    /// An experiment that can't run any more (an edited version, another version in use, a declaration that is gone) is
    /// ignored with a note: the version in use answers.
    ///
    /// # Errors
    ///
    /// If the file of starts or the book can't be read.
    pub fn look_up(project: &OpenProject, notes: &mut Vec<Note>) -> Result<Self, Error> {
        let starts = ExperimentStarts::load(&project.places)?;
        let open: Vec<&ExperimentStart> = starts.of(&project.key).filter(|start| start.stopped.is_none()).collect();
        if open.is_empty() {
            return Ok(Self::default());
        }
        let book = project.book()?;
        let today = when::iso_date(when::time_now(), &jiff::tz::TimeZone::UTC);
        let mut running = Vec::new();
        for start in open {
            match running_experiment(&book, start) {
                Ok(experiment) if is_over(&experiment, &today) => {}
                Ok(experiment) => running.push((experiment, start.begun.at)),
                Err(why) => notes.push(Note::new(
                    NoteKind::Prompt,
                    format!("the experiment `{}` is ignored, and the version in use answers: {why}", start.name),
                )),
            }
        }
        Ok(Self { project: project.key.clone(), running })
    }

    /// Those of these prompts, each `agent/name`.
    #[must_use]
    pub fn on_prompts(mut self, prompts: &[&str]) -> Self {
        self.running.retain(|(experiment, _)| prompts.contains(&experiment.declared.prompt.as_str()));
        self
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The versions beside those in use.
    pub fn other_versions(&self) -> impl Iterator<Item = &str> {
        self.running.iter().flat_map(|(experiment, _)| {
            let versions = experiment.declared.versions.keys().map(String::as_str);
            versions.filter(move |version| *version != experiment.base)
        })
    }

    /// Whether an assignment is to the version in use.
    #[must_use]
    pub fn is_in_use(&self, assigned: &VersionAssignment) -> bool {
        let base = |(experiment, _): &(Experiment, i64)| {
            experiment.name == assigned.experiment && experiment.base == assigned.version
        };
        self.running.iter().any(base)
    }

    /// The versions for a subject.
    #[must_use]
    pub fn assignments(&self, subject: &str) -> Vec<VersionAssignment> {
        let assign = |(experiment, started): &(Experiment, i64)| {
            // The project's own book is the same in every clone, wherever that is.
            let project = if experiment.origin == Origin::Project { "" } else { &self.project };
            let unit = AssignmentUnit { project, subject };
            VersionAssignment {
                experiment: experiment.name.clone(),
                started: *started,
                prompt: experiment.declared.prompt.clone(),
                version: experiment.version_for(&unit).to_owned(),
                subject: unit.subject_hash(),
            }
        };
        self.running.iter().map(assign).collect()
    }
}

/// Chooses the versions of all experiments that run in a project, for one subject. From then on, a prompt of the
/// project's book without a named version is that version.
///
/// # Errors
///
/// As [`RunningExperiments::look_up`].
pub fn assign_versions(project: &mut OpenProject, subject: &str) -> Result<(), Error> {
    let mut notes = Vec::new();
    let running = RunningExperiments::look_up(project, &mut notes)?;
    project.notes.append(&mut notes);
    project.assignments = running.assignments(subject);
    Ok(())
}

/// The experiment of a start, if it may still assign versions.
fn running_experiment(book: &Book, start: &ExperimentStart) -> Result<Experiment, String> {
    let first_line = |error: proem_engine::Error| error.to_string().lines().next().unwrap_or_default().to_owned();
    let experiment = book.experiment(&start.name).map_err(first_line)?;
    if experiment.base != start.base || experiment.declared.prompt != start.declared.prompt {
        let (name, now) = (&start.name, &experiment.base);
        return Err(format!("{now} is the version in use by now; run `proem book experiment stop {name}`"));
    }
    Ok(experiment)
}

/// Whether the last day of an experiment is over. Days are those of UTC, so that all machines agree.
fn is_over(experiment: &Experiment, today: &str) -> bool {
    experiment.declared.until.as_deref().is_some_and(|until| today > until)
}

/// The assignments in the settings of a recorded run.
#[must_use]
pub fn recorded_assignments(settings: &Json) -> Vec<VersionAssignment> {
    let recorded = settings.get("experiments").cloned().unwrap_or_default();
    serde_json::from_value(recorded).unwrap_or_default()
}

/// Stops experiments of which a guardrail is broken, before a run with another version than the one in use asks.
/// Messages go to `notes`: nothing that a run needs depends on this.
pub(crate) async fn watch_guardrails(
    project: &OpenProject,
    store: &Store,
    assignments: &[VersionAssignment],
    notes: &mut Vec<Note>,
) {
    for assigned in assignments {
        if let Err(error) = watch_experiment(project, store, assigned, notes).await {
            notes.push(unchecked_note(&assigned.experiment, &error));
        }
    }
}

/// The same for the experiments on one prompt, before runs of many subjects ask with its versions.
pub(crate) async fn watch_prompt(project: &OpenProject, store: &Store, prompt: &str, notes: &mut Vec<Note>) {
    let starts = match ExperimentStarts::load(&project.places) {
        Ok(starts) => starts,
        Err(error) => return notes.push(unchecked_note(prompt, &error)),
    };
    let open = |start: &&ExperimentStart| start.stopped.is_none() && start.declared.prompt == prompt;
    for start in starts.of(&project.key).filter(open) {
        if let Err(error) = watch_start(project, store, start, notes).await {
            notes.push(unchecked_note(&start.name, &error));
        }
    }
}

fn unchecked_note(experiment: &str, error: &Error) -> Note {
    let text = format!("the guardrails of the experiment `{experiment}` were not checked: {error}");
    Note::new(NoteKind::Prompt, text)
}

async fn watch_experiment(
    project: &OpenProject,
    store: &Store,
    assigned: &VersionAssignment,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    let starts = ExperimentStarts::load(&project.places)?;
    let start = starts.of(&project.key).find(|start| start.is_of(assigned));
    match start.filter(|start| start.base != assigned.version && start.stopped.is_none()) {
        Some(start) => watch_start(project, store, start, notes).await,
        None => Ok(()),
    }
}

async fn watch_start(
    project: &OpenProject,
    store: &Store,
    start: &ExperimentStart,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    let measured = experiment_measures(store, project, start).await?;
    let broken = guardrail_reports(start, &measured).into_iter().find(|report| report.is_broken());
    let Some(broken) = broken else { return Ok(()) };
    let because = format!("guardrail {}", broken.outcome);
    starts::record_stop(project, start, "system", &because)?;
    notes.push(Note::new(
        NoteKind::Prompt,
        format!(
            "the guardrail `{}` stopped the experiment `{}` because of {}; from the next run on, {} answers",
            broken.outcome, start.name, broken.version, start.base
        ),
    ));
    Ok(())
}

/// The subject of a run that nobody named one for: a hash of its inputs.
#[must_use]
pub fn subject_of_inputs(inputs: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(inputs).unwrap_or_default();
    crate::trust::sha256_hex(text.as_bytes())
}
