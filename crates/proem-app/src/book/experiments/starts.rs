//! The starts of experiments on this machine, in the state folder: what a person started, and what stopped it.
//!
//! A start keeps the declaration that it was made with. Shares may change while it runs. The outcome, the limits and the
//! bounds of amounts may not, because a test whose terms follow its data is none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proem_engine::prompt::book::experiment::{Experiment, ExperimentDeclaration, ExperimentOutcome, VersionAssignment};
use proem_engine::prompt::origin::Origin;
use proem_engine::run::Time;
use proem_store::{Store, failpoint};
use serde::{Deserialize, Serialize};

use super::measures::{AmountScale, earlier_scale};
use crate::book::journal::{JournalDecision, NewDecision, append_decision};
use crate::error::Error;
use crate::places::Places;
use crate::project::{BOOK, OpenProject};
use crate::state_file::{StateFile, lock_folder};
use crate::when;

/// The file that keeps them.
const FILE: StateFile = StateFile { name: "experiments.json", version: 1 };
/// The lock that every writer of it holds.
const LOCK: &str = "experiments.lock";

/// All starts, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentStarts {
    version: u32,
    starts: Vec<ExperimentStart>,
}

/// One start of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentStart {
    /// The project's key.
    project: String,
    /// The experiment's name.
    pub name: String,
    /// When, and who.
    pub begun: ExperimentBeginning,
    /// The declaration as it was.
    pub declared: ExperimentDeclaration,
    /// The version in use, which the others are compared with.
    pub base: String,
    /// The scales of amounts, from earlier runs of the version in use.
    pub scales: BTreeMap<String, AmountScale>,
    /// When, by whom and why it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<ExperimentStop>,
}

/// When an experiment was started on this machine, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentBeginning {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The person.
    pub by: String,
}

/// The end of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentStop {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The person, or `system` for a guardrail.
    pub by: String,
    /// Why.
    pub because: String,
}

impl Default for ExperimentStarts {
    fn default() -> Self {
        Self { version: FILE.version, starts: Vec::new() }
    }
}

impl ExperimentStarts {
    /// Reads them. None if nothing was ever started.
    ///
    /// # Errors
    ///
    /// If the file is there and can't be used.
    pub fn load(places: &Places) -> Result<Self, Error> {
        Ok(FILE.load::<Self>(places)?.unwrap_or_default())
    }

    /// Those of a project, oldest first.
    pub fn of<'s>(&'s self, project: &'s str) -> impl DoubleEndedIterator<Item = &'s ExperimentStart> {
        self.starts.iter().filter(move |start| start.project == project)
    }

    /// The last start of an experiment of a project.
    #[must_use]
    pub fn last<'s>(&'s self, project: &'s str, name: &str) -> Option<&'s ExperimentStart> {
        self.of(project).rev().find(|start| start.name == name)
    }

    /// The last start of an experiment of a project in which this version of a prompt was compared with another.
    #[must_use]
    pub fn last_with_version<'s>(
        &'s self,
        project: &'s str,
        prompt: &str,
        version: &str,
    ) -> Option<&'s ExperimentStart> {
        let compares = |start: &&ExperimentStart| {
            start.declared.prompt == prompt && start.base != version && start.declared.versions.contains_key(version)
        };
        self.of(project).rev().find(compares)
    }
}

impl ExperimentStart {
    /// Whether an assignment was made by this start.
    #[must_use]
    pub fn is_of(&self, assigned: &VersionAssignment) -> bool {
        self.name == assigned.experiment && self.begun.at == assigned.started
    }

    /// The scale of an outcome: that of shares is 1.
    #[must_use]
    pub fn scale(&self, outcome: &ExperimentOutcome) -> AmountScale {
        self.scales.get(&outcome.to_string()).copied().unwrap_or(AmountScale::OF_SHARES)
    }
}

/// Starts an experiment from now on, with a line in the book's journal.
///
/// # Errors
///
/// If it may not run, its last day is over, one of its versions is unlocked, another experiment runs on the same prompt,
/// an amount has no scale yet, or something can't be read or written.
pub async fn start_experiment(
    project: &OpenProject,
    store: &Store,
    name: &str,
    (by, now): (&str, Time),
) -> Result<ExperimentStart, Error> {
    let book = project.book()?;
    let experiment = book.experiment(name)?;
    let declared = &experiment.declared;
    let today = when::iso_date(now, &jiff::tz::TimeZone::UTC);
    if let Some(until) = declared.until.as_deref().filter(|until| **until < *today) {
        return Err(Error::invalid(format!(
            "experiments.{name}.until is {until}, and today is {today}; write a later day into book.toml"
        )));
    }
    let unlocked = book.unlocked_versions(&experiment)?;
    if !unlocked.is_empty() {
        return Err(Error::invalid(format!(
            "{} of `{}` is not locked, so its words could change while the experiment runs; run `proem book lock`",
            unlocked.join(" and "),
            declared.prompt
        )));
    }
    let mut scales = BTreeMap::new();
    let guarded = declared.guardrails.iter().map(|guardrail| &guardrail.outcome);
    for outcome in guarded.chain([&declared.outcome]).filter(|outcome| !outcome.is_share()) {
        scales.insert(outcome.to_string(), earlier_scale(store, project, &experiment, outcome).await?);
    }
    let start = ExperimentStart {
        project: project.key.clone(),
        name: name.to_owned(),
        begun: ExperimentBeginning { at: now.0, by: by.to_owned() },
        declared: declared.clone(),
        base: experiment.base.clone(),
        scales,
        stopped: None,
    };
    let _lock = lock_folder(&project.places.state, LOCK)?;
    let mut starts = ExperimentStarts::load(&project.places)?;
    if let Some(other) =
        starts.of(&project.key).find(|other| other.stopped.is_none() && other.declared.prompt == declared.prompt)
    {
        let stop = format!("run `proem book experiment stop {}` first", other.name);
        return Err(Error::invalid(format!(
            "the experiment `{}` already runs on `{}`, and a subject can be in one at a time; {stop}",
            other.name, declared.prompt
        )));
    }
    // A clock that went back must not give two starts one name.
    let last = starts.of(&project.key).map(|start| start.begun.at).max();
    let start = match last.filter(|last| *last >= start.begun.at) {
        Some(last) => ExperimentStart {
            begun: ExperimentBeginning { at: last.saturating_add(1), ..start.begun.clone() },
            ..start
        },
        None => start,
    };
    let decision = JournalDecision::ExperimentStarted { experiment: name.to_owned() };
    write_decision(project, experiment.origin, &start, (by, now), (&decision, None))?;
    starts.starts.push(start.clone());
    FILE.store(&project.places, &starts)?;
    Ok(start)
}

/// Stops the experiment that runs under this name, with a line in the book's journal. The line is first: whoever is
/// interrupted between the two stops again.
///
/// # Errors
///
/// If none of that name runs, or something can't be written.
pub fn stop_experiment(
    project: &OpenProject,
    name: &str,
    (by, now): (&str, Time),
    because: &str,
) -> Result<ExperimentStart, Error> {
    let starts = ExperimentStarts::load(&project.places)?;
    let Some(start) = starts.last(&project.key, name) else {
        return Err(Error::invalid(never_started(&starts, project, name)));
    };
    if let Some(stopped) = &start.stopped {
        let at = when::iso_date(Time(stopped.at), &jiff::tz::TimeZone::UTC);
        return Err(Error::invalid(format!("the experiment `{name}` was stopped on {at}: {}", stopped.because)));
    }
    let decision = JournalDecision::ExperimentStopped { experiment: name.to_owned() };
    // A declaration that is gone stops no one from stopping.
    let origin = project.book()?.experiment(name).map_or(Origin::User, |experiment: Experiment| experiment.origin);
    write_decision(project, origin, start, (by, now), (&decision, Some(because)))?;
    failpoint::pass("experiment-stop-decided");
    let stopped = record_stop(project, start, by, because)?;
    failpoint::pass("experiment-stopped");
    Ok(stopped)
}

/// That an experiment was never started here, with those that were.
fn never_started(starts: &ExperimentStarts, project: &OpenProject, name: &str) -> String {
    let mut known: Vec<&str> = starts.of(&project.key).map(|start| start.name.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let name = proem_guard::show::terminal_str(name);
    format!(
        "the experiment `{name}` was not started in this project (started: {known}); `proem book experiment list` shows all"
    )
}

/// Writes down that a start ended. One that has ended keeps its end.
///
/// # Errors
///
/// If the file can't be written.
pub(super) fn record_stop(
    project: &OpenProject,
    stopped: &ExperimentStart,
    by: &str,
    because: &str,
) -> Result<ExperimentStart, Error> {
    let _lock = lock_folder(&project.places.state, LOCK)?;
    let mut starts = ExperimentStarts::load(&project.places)?;
    let stop = ExperimentStop { at: when::time_now().0, by: by.to_owned(), because: because.to_owned() };
    let mut done = stopped.clone();
    for start in &mut starts.starts {
        if start.project == stopped.project && start.name == stopped.name && start.begun == stopped.begun {
            start.stopped.get_or_insert_with(|| stop.clone());
            done = start.clone();
        }
    }
    FILE.store(&project.places, &starts)?;
    Ok(done)
}

fn write_decision(
    project: &OpenProject,
    origin: Origin,
    start: &ExperimentStart,
    (by, at): (&str, Time),
    (decision, because): (&JournalDecision, Option<&str>),
) -> Result<(), Error> {
    let about = &start.declared.prompt;
    let decision = NewDecision { at, by, about, decision, because, evidence: None };
    append_decision(&book_folder(project, origin), &project.places, &decision).map(drop)
}

/// The folder of the book that declares an experiment.
fn book_folder(project: &OpenProject, origin: Origin) -> PathBuf {
    match (origin, &project.root) {
        (Origin::Project, Some(root)) => root.join(BOOK),
        _ => project.places.book(),
    }
}
