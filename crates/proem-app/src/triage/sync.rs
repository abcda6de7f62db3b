//! Reads signals from live sources: which parts, from where on, and what came of it.
//!
//! [`sources`] turns the user's configuration and the project's file into feeds, [`account`] holds the credential of one
//! of them, and this module walks each feed page by page.
//!
//! Invariants: the signals of a page are on the disk before the cursor behind it, so an end at any place costs a second
//! reading and loses nothing. A signal that is known already changes nothing. A feed that fails stops no other. The
//! process loads the credentials of sources alone, none that sends.

mod account;
mod sources;

use proem_engine::run::Time;
use proem_runtime::fetch::{FetchFailure, FetchLimits, FetchRequest, FetchedAnswer, fetch_json};
use proem_runtime::lock::{InstanceLock, LockRefusal};
use proem_store::{SyncEnd, SyncProgress};
use proem_text::json;
use proem_triage::sync::{SyncObject, SyncPage, SyncWalk, begin_walk, object_request, object_value};
use proem_triage::{NormalisedSignals, SignalKind};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use self::account::SourceAccount;
pub(crate) use self::sources::GRAPH;
pub use self::sources::{SyncFeed, project_feeds};
use super::desk::{IntakeCounts, TriageDesk};
use super::normalise::NormaliseOptions;
use crate::error::Error;
use crate::when;

/// The most requests of one reading of a feed: a server that always has one page more ends there.
const MOST_REQUESTS: u64 = 100_000;

/// How sources are read.
#[derive(Debug, Clone, Default)]
pub struct SyncOptions {
    /// The sources, by name. Without any, all that the project has.
    pub only: Vec<String>,
    /// Reads again what changed since this time, whatever was read before.
    pub since: Option<Time>,
    /// Whether anything is kept.
    pub keeping: SyncKeeping,
    /// How long servers may take, and how often they are asked again.
    pub limits: FetchLimits,
}

/// Whether what was read is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncKeeping {
    /// Signals and cursors are kept.
    #[default]
    Kept,
    /// Sources are read and nothing is kept.
    Nothing,
}

/// The result of reading one feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedReport {
    /// The source, by its name in the configuration.
    pub source: String,
    /// `jira`, `graph` or `asana`.
    pub system: String,
    /// The part that was read: a project's key or number, or a mailbox.
    pub part: String,
    /// The pages that were read and kept.
    pub pages: u64,
    /// The signals in them.
    pub read: u64,
    /// Their outcome.
    #[serde(flatten)]
    pub counts: FeedCounts,
    /// Why the reading broke off. The next one goes on there. Null if it did not.
    pub failure: Option<String>,
}

/// The signals of a feed, counted by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedCounts {
    /// Those that were not known.
    pub new: u64,
    /// Those that were known and say something else.
    pub changed: u64,
    /// Those that were there already.
    pub unchanged: u64,
    /// Those of the new and changed ones that say that something is gone.
    pub deleted: u64,
    /// The parts that could not be read, and were unknown. They are kept for a person.
    pub malformed: u64,
    /// Objects that the server no longer gives, although it named them: they are gone, or hidden from the account.
    pub missing: u64,
}

impl FeedReport {
    fn new(feed: &SyncFeed) -> Self {
        Self {
            source: feed.source.clone(),
            system: feed.plan.system.as_str().to_owned(),
            part: feed.plan.part.clone(),
            pages: 0,
            read: 0,
            counts: FeedCounts::default(),
            failure: None,
        }
    }
}

impl FeedCounts {
    fn add(&mut self, counts: IntakeCounts) {
        let IntakeCounts { new, revised, same, malformed, .. } = counts;
        self.new = self.new.saturating_add(new);
        self.changed = self.changed.saturating_add(revised);
        self.unchanged = self.unchanged.saturating_add(same);
        self.malformed = self.malformed.saturating_add(malformed);
    }
}

/// The results of reading sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TriageSync")]
pub struct SyncReport {
    /// One for each feed, in the order of their names.
    pub feeds: Vec<FeedReport>,
}

impl SyncReport {
    /// Whether a feed broke off.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.feeds.iter().any(|feed| feed.failure.is_some())
    }
}

impl TriageDesk<'_> {
    /// Reads the project's sources once, feed by feed. `tell` hears of each page.
    ///
    /// # Errors
    ///
    /// If a source is configured wrongly, another process reads for the project, or the records can't be written. A
    /// server's failure is in the report.
    pub async fn sync(
        &self,
        options: &SyncOptions,
        stop: &CancellationToken,
        tell: &mut dyn FnMut(&FeedReport),
    ) -> Result<SyncReport, Error> {
        let feeds = self.wanted_feeds(options)?;
        let _lock = InstanceLock::acquire(&self.desk.lock_file("sync")).map_err(|refused| match refused {
            LockRefusal::Held { holder } => {
                Error::negative(format!("{holder} reads the sources of this project already; wait until it has ended"))
            }
            LockRefusal::Io { .. } => Error::outside(refused.to_string()),
        })?;
        let known = self.desk.store.sync_sources(&self.desk.owner).await?;
        let mut reports = Vec::new();
        for feed in &feeds {
            let row = known.iter().find(|row| row.source == feed.name());
            let cursor: Option<Json> = row.and_then(|row| serde_json::from_str(&row.cursor).ok());
            let cursor = cursor.filter(|cursor| !cursor.is_null());
            let motion = match (options.since, &cursor) {
                (Some(_), Some(_)) => CursorMotion::Stays,
                _ => CursorMotion::Follows,
            };
            let report = FeedReport::new(feed);
            let mut reading = FeedReading { desk: self, feed, options, stop, cursor, motion, report };
            reading.walk(tell).await?;
            reports.push(reading.report);
        }
        Ok(SyncReport { feeds: reports })
    }

    /// Reads single objects that a webhook named by their ids, and takes them in. Objects that are gone are left out.
    ///
    /// # Errors
    ///
    /// If the project has no such source, its server refuses or fails, or the records can't be written.
    pub async fn sync_objects(
        &self,
        source: &str,
        objects: &[(SyncObject, String)],
        limits: FetchLimits,
        stop: &CancellationToken,
    ) -> Result<IntakeCounts, Error> {
        let only = vec![source.to_owned()];
        let options = SyncOptions { only, limits, ..SyncOptions::default() };
        let feeds = self.wanted_feeds(&options)?;
        let Some(feed) = feeds.first() else { return Ok(IntakeCounts::default()) };
        let mut account = SourceAccount::open(self.desk.project, feed)?;
        let mut values = Vec::new();
        for (object, id) in objects {
            let request = object_request(&feed.plan, *object, id)
                .ok_or_else(|| Error::invalid(format!("`{source}` has no such object; check its id")))?;
            let answer = account
                .ask(&request, &options.limits, stop)
                .await
                .map_err(|failure| Error::outside(format!("`{source}` could not be read: {failure}")))?;
            let value = object_value(answer).map_err(|fault| Error::outside(format!("`{source}`: {fault}")))?;
            values.extend(value);
        }
        let mut counts = IntakeCounts::default();
        for part in self.read_values(&values)? {
            counts = counts.and(self.take_in(&part).await?);
        }
        Ok(counts)
    }

    fn wanted_feeds(&self, options: &SyncOptions) -> Result<Vec<SyncFeed>, Error> {
        let mut feeds = project_feeds(self.desk.project, &self.charter)?;
        for name in &options.only {
            if !feeds.iter().any(|feed| feed.source == *name) {
                let shown = proem_guard::show::terminal_str(name).into_string();
                return Err(Error::invalid(format!(
                    "this project has no source `{shown}`; `[sources]` in your configuration names them"
                )));
            }
        }
        if feeds.is_empty() {
            let problem = "this project has no source; declare one under `[sources]` in your configuration";
            return Err(Error::invalid(problem));
        }
        feeds.retain(|feed| options.only.is_empty() || options.only.contains(&feed.source));
        for feed in &mut feeds {
            feed.plan.since = options.since;
        }
        Ok(feeds)
    }

    /// The signals of values as a server answers with them, read as those of a file are.
    fn read_values(&self, values: &[Json]) -> Result<Vec<NormalisedSignals>, Error> {
        if values.is_empty() {
            return Ok(Vec::new());
        }
        let options = NormaliseOptions::of_project(&self.charter, when::time_now());
        let items: Vec<String> = values.iter().map(json::compact).collect();
        let text = format!("[{}]", items.join(","));
        let mut file = options.open_stream(text.as_bytes())?;
        Ok(file.parts()?.collect())
    }
}

/// A feed while it is read.
struct FeedReading<'r, 'p> {
    desk: &'r TriageDesk<'p>,
    feed: &'r SyncFeed,
    options: &'r SyncOptions,
    stop: &'r CancellationToken,
    /// The last cursor that is kept, or was.
    cursor: Option<Json>,
    motion: CursorMotion,
    report: FeedReport,
}

/// The effect of a reading on the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CursorMotion {
    /// It follows what was read.
    Follows,
    /// It stays where it was, since what lies between it and the time that the user named was perhaps never read.
    Stays,
}

impl FeedReading<'_, '_> {
    async fn walk(&mut self, tell: &mut dyn FnMut(&FeedReport)) -> Result<(), Error> {
        let cursor = self.cursor.as_ref().filter(|_| self.motion == CursorMotion::Follows);
        let mut walk = begin_walk(&self.feed.plan, cursor);
        let end = match SourceAccount::open(self.desk.desk.project, self.feed) {
            Err(error) => SyncEnd::Failed(error.to_string()),
            Ok(mut account) => self.walk_with(walk.as_mut(), &mut account, tell).await?,
        };
        if let SyncEnd::Failed(why) = &end {
            self.report.failure = Some(why.clone());
        }
        let is_whole = self.motion == CursorMotion::Follows || end != SyncEnd::Reached;
        self.keep(if is_whole { end } else { SyncEnd::Open }).await
    }

    async fn walk_with(
        &mut self,
        walk: &mut dyn SyncWalk,
        account: &mut SourceAccount<'_>,
        tell: &mut dyn FnMut(&FeedReport),
    ) -> Result<SyncEnd, Error> {
        let mut asked = 0_u64;
        while let Some(request) = walk.request() {
            if asked >= MOST_REQUESTS {
                return Ok(SyncEnd::Failed(format!(
                    "there are more than {MOST_REQUESTS} requests; run it again to go on"
                )));
            }
            asked = asked.saturating_add(1);
            let page = match account.ask(&request, &self.options.limits, self.stop).await {
                Ok(answer) => walk.take(answer).map_err(|fault| fault.to_string()),
                Err(failure) => Err(failure.to_string()),
            };
            match page {
                Ok(page) => {
                    if let Some(end) = self.take_page(page, tell).await? {
                        return Ok(end);
                    }
                }
                Err(why) => {
                    let page = self.report.pages.saturating_add(1);
                    return Ok(SyncEnd::Failed(format!("page {page} could not be read: {why}")));
                }
            }
        }
        Ok(SyncEnd::Reached)
    }

    /// Keeps the signals of a page, then the cursor behind them. A server that speaks for another system is left: that
    /// is the end.
    async fn take_page(&mut self, page: SyncPage, tell: &mut dyn FnMut(&FeedReport)) -> Result<Option<SyncEnd>, Error> {
        let own = self.feed.plan.system.signal_source();
        for part in self.desk.read_values(&page.values)? {
            if part.signals.iter().any(|signal| signal.source != own) {
                let page = self.report.pages.saturating_add(1);
                let why = format!("page {page} holds what another system says; check the address of the source");
                return Ok(Some(SyncEnd::Failed(why)));
            }
            let count = u64::try_from(part.signals.len()).unwrap_or(u64::MAX);
            self.report.read = self.report.read.saturating_add(count);
            if self.options.keeping == SyncKeeping::Nothing {
                continue;
            }
            let NormalisedSignals { signals, malformed, .. } = part;
            let (gone, there): (Vec<_>, Vec<_>) = signals.into_iter().partition(|signal| is_deletion(&signal.kind));
            let there = NormalisedSignals { signals: there, malformed, ..NormalisedSignals::default() };
            let gone = NormalisedSignals { signals: gone, ..NormalisedSignals::default() };
            self.report.counts.add(self.desk.take_in(&there).await?);
            let counts = self.desk.take_in(&gone).await?;
            let told = &mut self.report.counts;
            told.deleted = told.deleted.saturating_add(counts.new).saturating_add(counts.revised);
            self.report.counts.add(counts);
        }
        self.report.counts.missing = self.report.counts.missing.saturating_add(page.missing);
        if let Some(cursor) = page.cursor {
            self.report.pages = self.report.pages.saturating_add(1);
            if self.motion == CursorMotion::Follows {
                self.cursor = Some(cursor);
            }
            self.keep(SyncEnd::Open).await?;
            tell(&self.report);
        }
        Ok(None)
    }

    async fn keep(&self, end: SyncEnd) -> Result<(), Error> {
        if self.options.keeping == SyncKeeping::Nothing {
            return Ok(());
        }
        let cursor = self.cursor.as_ref().map_or_else(|| "null".to_owned(), json::compact);
        let progress = SyncProgress {
            project: self.desk.desk.owner.clone(),
            source: self.feed.name(),
            actor: self.desk.desk.system(),
            at: when::time_now(),
            cursor,
            end,
        };
        Ok(self.desk.desk.store.keep_sync_progress(progress).await?)
    }
}

fn is_deletion(kind: &SignalKind) -> bool {
    matches!(kind, SignalKind::TicketDeleted | SignalKind::CommentDeleted | SignalKind::EmailDeleted)
}
