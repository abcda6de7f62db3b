//! Sends what an endpoint does not have yet: when a command that recorded runs ends, or when a person asks for it.
//!
//! Invariants: a command waits [`LIVE_LIMIT`] at most and never fails because of an endpoint. An endpoint that failed is
//! left alone for a while, so that it delays few commands. The cursor moves behind runs only once the endpoint took
//! them, and a run that has not ended waits until it has. Dropped runs are counted.

use std::num::NonZeroU32;
use std::time::Duration;

use proem_engine::run::Time;
use proem_runtime::lock::{InstanceLock, LockRefusal};
use proem_runtime::telemetry::TraceLimits;
use proem_store::query::{RunPosition, RunScope, RunState, RunTrace, RunsWanted};
use proem_store::record::{Project as Owner, RunOutcome};
use proem_store::{Store, SyncEnd};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::cursor::{CursorPlace, ExportCursor, MOST_AGE, MOST_UNFINISHED, MOST_WAITING};
use super::delivery::{DeliveryStop, PAGE, SpanContent, SpanCounts, SpanDelivery, SpanTarget};
use super::{SpanExport, finished};
use crate::config::telemetry::TelemetryFile;
use crate::error::Error;
use crate::message::{Hint, Note, NoteKind};
use crate::places::Places;
use crate::project::OpenProject;
use crate::records::records_owner;
use crate::secrets::ConfiguredCredentials;
use crate::when;
use crate::words::count_with_noun;

/// How long a command waits at its end, at most.
pub const LIVE_LIMIT: Duration = Duration::from_secs(2);

/// How long an endpoint that failed is left alone: unless it asks for more, and at most an hour.
const PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// How often it is looked whether another process has ended its export.
const LOOK: Duration = Duration::from_millis(20);

/// The export of what a command records, as it is configured.
#[derive(Debug)]
pub(crate) struct LiveExport {
    telemetry: TelemetryFile,
    credentials: ConfiguredCredentials,
    places: Places,
    owner: Owner,
    /// When the command's records were opened.
    began: Time,
}

impl LiveExport {
    /// The export that the user's configuration asks for.
    pub(crate) fn configured(project: &OpenProject) -> Option<Self> {
        let telemetry = project.config.telemetry.clone();
        telemetry.otlp.as_ref()?;
        Some(Self {
            telemetry,
            credentials: ConfiguredCredentials::of(project),
            places: project.places.clone(),
            owner: records_owner(project),
            began: when::time_now(),
        })
    }

    /// Sends what the endpoint does not have. The note says what still waits.
    pub(crate) async fn send(&self, store: &Store) -> Option<Note> {
        let failed = |why: String| Note::new(NoteKind::Records, format!("runs were not exported: {why}"));
        let export = match self.export() {
            Ok(export) => export,
            Err(error) => return Some(failed(error.to_string())),
        };
        match self.send_to(&export, store).await {
            // Runs that have not ended wait without a word.
            Ok(Outstanding { why: None, .. }) => None,
            Ok(Outstanding { why: Some(why), runs }) => {
                let runs = format!("{} not exported yet: {why}", are_runs(runs));
                Some(Note::hinting(NoteKind::Records, runs, Hint::ExportRest))
            }
            Err(error) => Some(failed(error.to_string())),
        }
    }

    fn export(&self) -> Result<SpanExport, Error> {
        let load = |(header, name): (&String, &String)| Ok((header.clone(), self.credentials.load(name)?));
        let headers = self.telemetry.headers.iter().map(load);
        let content = if self.telemetry.content { SpanContent::Texts } else { SpanContent::Figures };
        let url = self.telemetry.otlp.as_deref().unwrap_or_default();
        let mut export = SpanExport::new(url, headers.collect::<Result<_, Error>>()?, content)?;
        export.target.limits = TraceLimits::of_attempts(NonZeroU32::MIN, LIVE_LIMIT);
        Ok(export)
    }

    async fn send_to(&self, export: &SpanExport, store: &Store) -> Result<Outstanding, Error> {
        let until = Instant::now() + LIVE_LIMIT;
        let place = CursorPlace::new(self.owner.clone(), self.places.channel, export.target.endpoint.url());
        let Some(_lock) = wait_for_lock(&self.places, &self.owner, until).await? else {
            let why = "another process is exporting runs".to_owned();
            return Ok(Outstanding { runs: 1, why: Some(why) });
        };
        let now = when::time_now();
        let mut cursor = place.load(store, self.began).await?;
        let before = cursor.clone();
        // A time that is further away than any pause was written by a clock that ran ahead.
        let pause =
            cursor.retry.filter(|retry| *retry > now && millis_between(now, *retry) <= LONGEST_PAUSE.as_millis());
        if let Some(retry) = pause {
            let seconds = millis_between(now, retry).div_ceil(1000);
            let why = format!("`{}` failed lately and is left alone for {seconds} s", export.host());
            return Ok(Outstanding { runs: self.waiting(store, &cursor).await?, why: Some(why) });
        }
        let target = SpanTarget { until: Some(until), endpoint: export.target.endpoint.clone(), ..export.target };
        let mut tell = |_| ();
        let mut spool = Spool { store, owner: &self.owner, delivery: SpanDelivery::new(&target, store, &mut tell)? };
        let ended = spool.send(&mut cursor, now).await;
        cursor.rejected = cursor.rejected.saturating_add(spool.delivery.counts().rejected);
        let (why, wait) = match ended {
            Ok(()) => (None, None),
            Err(DeliveryStop::Endpoint { message, wait }) => (Some(message), Some(wait.unwrap_or_default())),
            Err(DeliveryStop::Late) => {
                let why = format!("`{}` has not taken them within {} s", export.host(), LIVE_LIMIT.as_secs());
                (Some(why), Some(Duration::ZERO))
            }
            Err(DeliveryStop::Records(error)) => return Err(error),
        };
        cursor.retry = wait.map(|wait| pause_end(now, wait));
        let end = why.clone().map_or(SyncEnd::Reached, SyncEnd::Failed);
        if cursor != before || why.is_some() {
            place.keep(store, &cursor, end).await?;
        }
        let runs = match why {
            Some(_) => self.waiting(store, &cursor).await?,
            None => 0,
        };
        Ok(Outstanding { runs, why })
    }

    /// How many runs the endpoint does not have.
    async fn waiting(&self, store: &Store, cursor: &ExportCursor) -> Result<u64, Error> {
        Ok(store.run_backlog(&self.owner, cursor.position, Time(i64::MIN), MOST_WAITING).await?.waiting)
    }
}

/// The runs that an endpoint does not have, and why.
struct Outstanding {
    runs: u64,
    why: Option<String>,
}

fn are_runs(runs: u64) -> String {
    let verb = if runs == 1 { "is" } else { "are" };
    format!("{} {verb}", count_with_noun(runs, "run"))
}

fn millis_between(from: Time, to: Time) -> u128 {
    u128::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

fn pause_end(now: Time, asked: Duration) -> Time {
    let pause = asked.max(PAUSE).min(LONGEST_PAUSE);
    Time(now.0.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(0)))
}

/// The lock of a project's exports. `None` if another process keeps it until then.
async fn wait_for_lock(places: &Places, owner: &Owner, until: Instant) -> Result<Option<InstanceLock>, Error> {
    let project = proem_text::hex::encode_hex(Sha256::digest(owner.0.as_bytes()));
    let path = places.state.join(format!("export-{}.lock", project.get(..16).unwrap_or(&project)));
    loop {
        match InstanceLock::acquire(&path) {
            Ok(lock) => return Ok(Some(lock)),
            Err(LockRefusal::Held { .. }) if Instant::now() < until => tokio::time::sleep(LOOK).await,
            Err(LockRefusal::Held { .. }) => return Ok(None),
            Err(refused @ LockRefusal::Io { .. }) => return Err(Error::outside(refused.to_string())),
        }
    }
}

/// The runs of a project that an endpoint does not have.
struct Spool<'s, 'd> {
    store: &'s Store,
    owner: &'s Owner,
    delivery: SpanDelivery<'d>,
}

impl Spool<'_, '_> {
    /// Sends them, and moves the cursor behind those that were taken.
    async fn send(&mut self, cursor: &mut ExportCursor, now: Time) -> Result<(), DeliveryStop> {
        let oldest = Time(now.0.saturating_sub(MOST_AGE));
        let backlog = self.store.run_backlog(self.owner, cursor.position, oldest, MOST_WAITING).await?;
        cursor.dropped = cursor.dropped.saturating_add(backlog.dropped);
        cursor.position = backlog.behind;
        self.send_unfinished(cursor, oldest).await?;
        let wanted = RunsWanted {
            project: Some(self.owner.clone()),
            listed: RunScope::Acted,
            limit: Some(PAGE),
            ..RunsWanted::default()
        };
        let mut behind: Option<RunPosition> = Some(cursor.position);
        while let Some(place) = behind {
            let page = self.store.run_traces(&wanted, place).await?;
            let mut unfinished = Vec::new();
            for trace in &page.runs {
                match run_progress(trace) {
                    RunProgress::Ended => self.delivery.push(trace).await?,
                    RunProgress::Under => unfinished.push(trace.row.id.clone()),
                    RunProgress::Quiet => {}
                }
            }
            self.delivery.flush().await?;
            (cursor.position, behind) = (page.last, page.next);
            cursor.unfinished.append(&mut unfinished);
            let beyond = cursor.unfinished.len().saturating_sub(MOST_UNFINISHED);
            cursor.unfinished.drain(..beyond);
            cursor.dropped = cursor.dropped.saturating_add(u64::try_from(beyond).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Sends the runs that had not ended when the cursor passed them, and have now.
    async fn send_unfinished(&mut self, cursor: &mut ExportCursor, oldest: Time) -> Result<(), DeliveryStop> {
        if cursor.unfinished.is_empty() {
            return Ok(());
        }
        let (mut left, mut dropped) = (Vec::new(), 0_u64);
        // A run that is no longer there was deleted by its owner.
        for trace in self.store.run_traces_of(&cursor.unfinished).await? {
            match run_progress(&trace) {
                RunProgress::Ended => self.delivery.push(&trace).await?,
                RunProgress::Under if trace.row.started < oldest => dropped = dropped.saturating_add(1),
                RunProgress::Under => left.push(trace.row.id.clone()),
                RunProgress::Quiet => {}
            }
        }
        self.delivery.flush().await?;
        cursor.unfinished = left;
        cursor.dropped = cursor.dropped.saturating_add(dropped);
        Ok(())
    }
}

/// How far a run is for an export.
enum RunProgress {
    /// Its spans can be sent.
    Ended,
    /// It has not ended.
    Under,
    /// It only assembled a prompt, which is no operation that anybody watches.
    Quiet,
}

const fn run_progress(trace: &RunTrace) -> RunProgress {
    match trace.row.state {
        RunState::Ended(RunOutcome::Assembled) => RunProgress::Quiet,
        RunState::Ended(_) => RunProgress::Ended,
        RunState::Running | RunState::Asking | RunState::Interrupted => RunProgress::Under,
    }
}

/// Sends what the configured endpoint does not have of the project's runs, and takes its time for that. `tell` hears how
/// many spans were taken, after each request.
///
/// # Errors
///
/// If the records can't be read or written, another process exports, or the endpoint does not take all spans: with how
/// many it took.
pub async fn export_rest(
    project: &OpenProject,
    store: &Store,
    export: &SpanExport,
    tell: &mut dyn FnMut(u64),
) -> Result<SpanCounts, Error> {
    let owner = records_owner(project);
    let Some(_lock) = wait_for_lock(&project.places, &owner, Instant::now() + LIVE_LIMIT).await? else {
        return Err(Error::negative(
            "another process is exporting the runs of this project; try again once it has ended",
        ));
    };
    let now = when::time_now();
    let place = CursorPlace::new(owner.clone(), project.places.channel, export.target.endpoint.url());
    let mut cursor = place.load(store, now).await?;
    let mut spool = Spool { store, owner: &owner, delivery: SpanDelivery::new(&export.target, store, tell)? };
    let ended = spool.send(&mut cursor, now).await;
    let counts = spool.delivery.counts().clone();
    cursor.rejected = cursor.rejected.saturating_add(counts.rejected);
    let (end, wait) = match &ended {
        Ok(()) => (SyncEnd::Reached, None),
        Err(DeliveryStop::Endpoint { message, wait }) => {
            (SyncEnd::Failed(message.clone()), Some(wait.unwrap_or_default()))
        }
        Err(DeliveryStop::Late | DeliveryStop::Records(_)) => (SyncEnd::Open, None),
    };
    cursor.retry = wait.map(|wait| pause_end(now, wait));
    place.keep(store, &cursor, end).await?;
    finished(export.host(), ended, counts)
}
