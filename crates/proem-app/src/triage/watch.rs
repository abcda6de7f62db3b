//! A folder that is watched: signals are taken from files as they come, worked on by and by, and what is due is
//! performed by a process beside this one.
//!
//! Each piece of work opens project and records anew, so that a file that nobody trusts any more, another policy or
//! another level counts from the next one on, and whatever ends this process leaves nothing half done.
//!
//! Invariants: one process watches for a project. No credential of an effect is ever read here. A file is read when it
//! has settled, and never changed; what could not be taken in is tried again. Nothing new is no work but the line of a
//! cycle.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::LocalBoxFuture;
use proem_runtime::lock::{InstanceLock, LockRefusal};
use proem_runtime::schedule::inbox::{FolderNews, LeftAlone, SettledFile, WatchedFolder};
use proem_runtime::schedule::own_process::{OwnProcess, OwnProgram, ProcessEnd};
use proem_runtime::schedule::{ClockReading, DueJob, PeriodicJobs};
use proem_store::StoreAccess;
use proem_triage::{AnswerEnd, MalformedSignal};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::cycle_report::CycleReport;
use super::desk::{IntakeCounts, TriageDesk};
use super::model_calls::AskingTerms;
use super::models::{TriageModelOptions, open_triage_run};
use super::normalise::NormaliseOptions;
use crate::error::Error;
use crate::message::{Note, WithNotes};
use crate::places::Places;
use crate::project::OpenProject;
use crate::when;

/// The endings of files that are read.
pub const ENDINGS: &[&str] = &["json", "jsonl", "ndjson", "eml"];
/// How long a file must stay as it is before it is read.
const SETTLE: Duration = Duration::from_secs(2);
/// How often the folder is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a file that ends in the middle of a value is waited for.
const PATIENCE: Duration = Duration::from_mins(1);
/// After how long what went wrong is tried again.
const RETRY: Duration = Duration::from_secs(30);
/// How long a process that performs actions is waited for at the end.
const FAREWELL: Duration = Duration::from_secs(10);

/// How a folder is watched.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// A folder in the project.
    pub root: PathBuf,
    /// The folder that files come to.
    pub folder: PathBuf,
    /// The time between two cycles.
    pub cycle: Duration,
    /// The time between two looks at what is due.
    pub sweep: Duration,
    /// How models are asked, where the user's configuration says that they may be. `None` asks none.
    pub models: Option<TriageModelOptions>,
    /// The program that performs due actions, and reports them as JSON.
    pub sweeper: OwnProgram,
}

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchWork {
    /// Looking at the folder.
    Look,
    /// Signals are taken in and become artefacts, actions and questions.
    Cycle,
    /// Performing what is due.
    Sweep,
}

/// Anything that the watch did or noticed.
#[derive(Debug)]
pub enum WatchEvent<'e> {
    /// The folder is watched from now on.
    Began {
        /// The project's name.
        project: &'e str,
    },
    /// Messages beside some work. Each is shown once.
    Noted(&'e [Note]),
    /// A file was taken in.
    Taken {
        /// The file of signals.
        file: &'e Path,
        /// The intake.
        counts: IntakeCounts,
        /// The unreadable signals in it.
        malformed: &'e [MalformedSignal],
    },
    /// A file ends in the middle of a value. It is waited for.
    Unfinished {
        /// The file of signals.
        file: &'e Path,
    },
    /// A file can't be read. It is tried again when it changes.
    Unread {
        /// The file of signals.
        file: &'e Path,
        /// The problem with it.
        error: &'e Error,
    },
    /// Something in the folder is left alone.
    Left {
        /// The file's path.
        path: &'e Path,
        /// Why it is left alone.
        why: LeftAlone,
    },
    /// A cycle ended.
    Cycle {
        /// The account of its signals.
        report: &'e CycleReport,
        /// How many were due meanwhile and are made up for by this one.
        missed: u64,
        /// How long it took.
        took: Duration,
    },
    /// Due actions were performed, or the obstacles to them changed.
    Swept(&'e SweepAccount),
    /// A part of the work could not be done. It is tried again. Each problem is said once until it is over.
    Problem {
        /// The part of the work.
        work: WatchWork,
        /// The failure.
        error: &'e Error,
    },
    /// The last one: this process ends, and one that performs actions may go on by itself.
    Ended {
        /// The number of that process.
        still_performing: Option<u32>,
    },
}

/// The account of a process that performs actions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SweepAccount {
    /// The obstacles to performing actions, by name.
    pub obstacles: Vec<String>,
    /// The actions that moved, in the order in which they did.
    pub changes: Vec<SweepChange>,
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SweepChange {
    /// The action's key.
    pub id: String,
    /// The action's name.
    pub action: String,
    /// The word for the action's place in the machine of effects.
    pub state: String,
    /// Why, fit for a screen.
    pub why: String,
}

/// A folder that is watched.
struct Watch<'w> {
    options: &'w WatchOptions,
    places: &'w Places,
    tell: &'w mut dyn FnMut(&WatchEvent<'_>),
    folder: WatchedFolder,
    begun: Instant,
    /// The messages shown so far.
    noted: BTreeSet<Note>,
    problems: Vec<(WatchWork, String)>,
    waited_for: BTreeSet<PathBuf>,
    last_sweep: SweepAccount,
}

/// When a cycle began.
#[derive(Debug, Clone, Copy)]
struct CycleStart {
    begun: Instant,
    steady: Duration,
    missed: u64,
}

/// The result of a cycle.
struct CycleWork {
    notes: Vec<Note>,
    report: Result<CycleReport, Error>,
}

impl CycleWork {
    async fn done(options: &WatchOptions, places: &Places, stop: &CancellationToken) -> Self {
        let mut notes = Vec::new();
        let report = Self::work(options, places, stop, &mut notes).await;
        Self { notes, report }
    }

    async fn work(
        options: &WatchOptions,
        places: &Places,
        stop: &CancellationToken,
        notes: &mut Vec<Note>,
    ) -> Result<CycleReport, Error> {
        let (mut project, run) = match &options.models {
            Some(models) => open_triage_run(&options.root, places, models)?,
            None => (OpenProject::without_book(&options.root, places)?, None),
        };
        notes.append(&mut project.notes);
        let WithNotes { value: desk, notes: more } = TriageDesk::open(&project, StoreAccess::Write).await?;
        notes.extend(more);
        let report = match (run, &options.models) {
            (Some(mut run), Some(options)) => {
                desk.work_asking(AskingTerms { run: &mut run, options, stop }, notes, &mut |_| {}).await
            }
            _ => desk.work(&mut |_| {}).await,
        };
        desk.close().await;
        report
    }

    /// The least time from its beginning to the next one's, where the budget wants cycles to come less often. One that asked
    /// nobody cost nothing, and puts nothing off.
    fn least_pause(&self) -> Option<Duration> {
        let report = self.report.as_ref().ok().filter(|report| !report.runs.is_empty())?;
        let place = report.budget?;
        place.every_minutes.map(|minutes| Duration::from_mins(u64::from(minutes.get())))
    }
}

/// Watches a folder until `stop` is cancelled. A cycle under way is ended first. `tell` hears what happens.
///
/// # Errors
///
/// If the project can't be triaged, the folder is unreadable, or another process watches for the project.
pub async fn watch(
    options: &WatchOptions,
    places: &Places,
    stop: &CancellationToken,
    tell: &mut dyn FnMut(&WatchEvent<'_>),
) -> Result<(), Error> {
    let mut watch = Watch {
        options,
        places,
        tell,
        folder: WatchedFolder::new(options.folder.clone(), SETTLE, ENDINGS),
        begun: Instant::now(),
        noted: BTreeSet::new(),
        problems: Vec::new(),
        waited_for: BTreeSet::new(),
        last_sweep: SweepAccount::default(),
    };
    let _lock = watch.begin().await?;
    watch.go_on(stop).await
}

impl Watch<'_> {
    /// Finds out whether everything is there, so that what is wrong from the start is said at the start.
    async fn begin(&mut self) -> Result<InstanceLock, Error> {
        let project = OpenProject::without_book(&self.options.root, self.places)?;
        let WithNotes { value: desk, notes } = TriageDesk::open(&project, StoreAccess::Write).await?;
        let lock = InstanceLock::acquire(&desk.desk.lock_file("watch")).map_err(|refused| match refused {
            LockRefusal::Held { holder } => {
                Error::negative(format!("{holder} watches for this project already; end it first, or let it go on"))
            }
            LockRefusal::Io { .. } => Error::outside(refused.to_string()),
        });
        let name = desk.charter.name.clone();
        desk.close().await;
        let lock = lock?;
        fs::read_dir(&self.options.folder).map_err(|error| self.unlisted(&error))?;
        self.note(&notes);
        (self.tell)(&WatchEvent::Began { project: &name });
        Ok(lock)
    }

    async fn go_on(mut self, stop: &CancellationToken) -> Result<(), Error> {
        // Files from before the start are worked on at once.
        let mut jobs = PeriodicJobs::new([
            (WatchWork::Look, LOOK, Duration::ZERO),
            (WatchWork::Cycle, self.options.cycle, Duration::ZERO),
            (WatchWork::Sweep, self.options.sweep, Duration::ZERO),
        ]);
        let mut sweeping: Option<OwnProcess> = None;
        // A cycle that waits for models keeps nothing else waiting.
        let mut cycle: Option<(CycleStart, LocalBoxFuture<'_, CycleWork>)> = None;
        let (options, places) = (self.options, self.places);
        while !stop.is_cancelled() {
            for DueJob { job, missed } in jobs.begin(self.reading()) {
                match job {
                    WatchWork::Look => self.look().await,
                    WatchWork::Cycle => {
                        let start = CycleStart { begun: Instant::now(), steady: self.steady(), missed };
                        cycle = Some((start, Box::pin(CycleWork::done(options, places, stop))));
                        continue;
                    }
                    WatchWork::Sweep => {
                        sweeping = self.start_sweep();
                        if sweeping.is_some() {
                            continue;
                        }
                    }
                }
                jobs.ended(job);
            }
            let rest = jobs.rest(self.reading());
            let swept = async {
                match &mut sweeping {
                    Some(process) => process.end().await,
                    None => std::future::pending().await,
                }
            };
            let worked = async {
                match &mut cycle {
                    Some((start, work)) => (*start, work.await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = stop.cancelled() => {}
                (start, work) = worked => {
                    cycle = None;
                    jobs.ended(WatchWork::Cycle);
                    if let Some(every) = work.least_pause() {
                        jobs.put_off(WatchWork::Cycle, start.steady.saturating_add(every));
                    }
                    self.cycle(start, &work);
                }
                end = swept => {
                    sweeping = None;
                    jobs.ended(WatchWork::Sweep);
                    self.swept(end);
                }
            }
        }
        if let Some((start, work)) = cycle {
            let work = work.await;
            self.cycle(start, &work);
        }
        let still_performing = match sweeping {
            None => None,
            Some(mut process) => match tokio::time::timeout(FAREWELL, process.end()).await {
                Ok(end) => {
                    self.swept(end);
                    None
                }
                Err(_) => Some(process.id),
            },
        };
        (self.tell)(&WatchEvent::Ended { still_performing });
        Ok(())
    }

    fn steady(&self) -> Duration {
        self.begun.elapsed()
    }

    fn reading(&self) -> ClockReading {
        ClockReading { steady: self.steady(), wall: when::time_now() }
    }

    /// Takes in what is new in the folder.
    async fn look(&mut self) {
        match self.folder.look(self.steady(), SystemTime::now()) {
            Err(error) => {
                let error = self.unlisted(&error);
                self.problem(WatchWork::Look, &error);
            }
            Ok(news) => {
                self.leave(&news);
                if news.settled.is_empty() {
                    return;
                }
                match self.take_in(&news.settled).await {
                    Ok(()) => self.well(WatchWork::Look),
                    Err(error) => {
                        let again = self.steady().saturating_add(RETRY);
                        // Those that were taken in are known by the records, so a second time changes nothing.
                        news.settled.iter().for_each(|file| self.folder.again(file, again));
                        self.problem(WatchWork::Look, &error);
                    }
                }
            }
        }
    }

    async fn take_in(&mut self, files: &[SettledFile]) -> Result<(), Error> {
        let project = OpenProject::without_book(&self.options.root, self.places)?;
        let WithNotes { value: desk, notes } = TriageDesk::open(&project, StoreAccess::Write).await?;
        self.note(&notes);
        let mut taken = Ok(());
        for file in files {
            taken = self.take_file(&desk, file).await;
            if taken.is_err() {
                break;
            }
        }
        desk.close().await;
        taken
    }

    async fn take_file(&mut self, desk: &TriageDesk<'_>, file: &SettledFile) -> Result<(), Error> {
        let options = NormaliseOptions::of_project(&desk.charter, when::time_now());
        let path = file.path.as_path();
        let mut opened = match options.open(path) {
            Ok(opened) => opened,
            Err(error) => {
                // A file that was moved away meanwhile comes again if it comes back.
                if path.exists() {
                    (self.tell)(&WatchEvent::Unread { file: path, error: &error });
                }
                return Ok(());
            }
        };
        let mut counts = IntakeCounts::default();
        let mut malformed = Vec::new();
        for mut part in opened.parts()? {
            let is_unfinished = part.end == AnswerEnd::Rest && file.settled < PATIENCE;
            if is_unfinished {
                // The value that has no end is the last thing there.
                part.malformed.pop();
            }
            counts = counts.and(desk.take_in(&part).await?);
            malformed.append(&mut part.malformed);
            if is_unfinished {
                if self.waited_for.insert(path.to_owned()) {
                    (self.tell)(&WatchEvent::Unfinished { file: path });
                }
                self.folder.again(file, self.steady().saturating_add(PATIENCE.saturating_sub(file.settled)));
                return Ok(());
            }
        }
        self.waited_for.remove(path);
        (self.tell)(&WatchEvent::Taken { file: path, counts, malformed: &malformed });
        Ok(())
    }

    fn cycle(&mut self, start: CycleStart, work: &CycleWork) {
        self.note(&work.notes);
        match &work.report {
            Ok(report) => {
                self.well(WatchWork::Cycle);
                (self.tell)(&WatchEvent::Cycle { report, missed: start.missed, took: start.begun.elapsed() });
            }
            Err(error) => self.problem(WatchWork::Cycle, error),
        }
    }

    fn start_sweep(&mut self) -> Option<OwnProcess> {
        match self.options.sweeper.start() {
            Ok(process) => Some(process),
            Err(error) => {
                let error = Error::outside(format!("no process could be started that performs what is due: {error}"));
                self.problem(WatchWork::Sweep, &error);
                None
            }
        }
    }

    /// The account of a process that performs actions. Only news is shown: with effects off the account is the same
    /// each time.
    fn swept(&mut self, end: std::io::Result<ProcessEnd>) {
        let account = end.map_err(|error| Error::outside(error.to_string())).and_then(|end| {
            serde_json::from_slice::<SweepAccount>(&end.output).map_err(|_| {
                let said = String::from_utf8_lossy(&end.error);
                let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
                let last = proem_guard::show::terminal_str(last.trim_start_matches("error: "));
                Error::outside(format!("due actions were not performed: {last}"))
            })
        });
        match account {
            Err(error) => self.problem(WatchWork::Sweep, &error),
            Ok(account) => {
                self.well(WatchWork::Sweep);
                if !account.changes.is_empty() || account.obstacles != self.last_sweep.obstacles {
                    (self.tell)(&WatchEvent::Swept(&account));
                }
                self.last_sweep = account;
            }
        }
    }

    fn leave(&mut self, news: &FolderNews) {
        for (path, why) in &news.left {
            (self.tell)(&WatchEvent::Left { path, why: *why });
        }
    }

    fn note(&mut self, notes: &[Note]) {
        let new: Vec<Note> = notes.iter().filter(|note| self.noted.insert((*note).clone())).cloned().collect();
        if !new.is_empty() {
            (self.tell)(&WatchEvent::Noted(&new));
        }
    }

    fn problem(&mut self, work: WatchWork, error: &Error) {
        let said = (work, error.to_string());
        if !self.problems.contains(&said) {
            self.problems.push(said);
            (self.tell)(&WatchEvent::Problem { work, error });
        }
    }

    fn well(&mut self, work: WatchWork) {
        self.problems.retain(|problem| problem.0 != work);
    }

    fn unlisted(&self, error: &std::io::Error) -> Error {
        let folder = proem_guard::show::terminal_str(&self.options.folder.to_string_lossy()).into_string();
        Error::outside(format!("the folder `{folder}` can't be read: {error}"))
    }
}
