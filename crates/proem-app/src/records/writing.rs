//! Records that a command writes into: when they may be missing, and when not.
//!
//! Records that are on and can't be kept stop everything that sends: a request that nobody can look at afterwards
//! leaves only with `--no-record`, and not even then if a budget is configured, because it could not be booked. A
//! command that sends nothing says once that nothing is recorded and goes on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proem_engine::assembly::PromptId;
use proem_engine::call::NanoDollars;
use proem_engine::ledger::{Cap, Pricing};
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::files::{self, FileAccess};
use proem_runtime::records::{Ledger, Necessity, RecordDepth, RecordingContext, SealKey, unsent_reason};
use proem_store::record::{Actor, HashedContent, NewRun, Project as Owner, Replayable, RunId};
use proem_store::{Purge, Store, StoreAccess as Wanted, StoreCreator};
use serde_json::Value as Json;

use super::learning::FailureHistory;
use super::{actor, booking_zone, open_records, records_location, records_owner};
use crate::config::KeepRecords;
use crate::error::Error;
use crate::message::{Hint, Message, Note, NoteKind, WithNotes};
use crate::project::OpenProject;
use crate::telemetry::LiveExport;
use crate::when;
use crate::words::count_with_noun;

/// The message when a run would go on in records, and none are kept.
pub const NONE_TO_GO_ON_IN: &str =
    "resuming a run needs records, and none are kept; change `records.keep` in your configuration";

/// The most that the file with a day may have, in bytes.
const STAMP_BYTES: usize = 64;

/// The caller's choice about records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordChoice {
    /// Nothing: configuration decides.
    AsConfigured,
    /// `--no-record`.
    No,
    /// A run goes on in them, so there is no doing without.
    Needed,
}

/// The budget, price and depth of records that a run's calls share.
#[derive(Debug)]
pub struct CallTerms {
    /// The caps that hold.
    pub ledger: Ledger,
    /// The texts that must not be written down.
    pub secrets: Vec<Secret>,
}

impl CallTerms {
    /// The terms of a call that costs nothing and needs no known credential.
    pub const fn free() -> Self {
        Self { ledger: Ledger { caps: Vec::new(), priced: Pricing::Free }, secrets: Vec::new() }
    }
}

/// Records that are open for the runs of one command.
#[derive(Debug)]
pub struct OpenRecords {
    store: Store,
    seal: SealKey,
    keeping: RecordDepth,
    ledger: Ledger,
    secrets: Vec<Secret>,
    owner: Owner,
    actor: Actor,
    days: u32,
    /// The file with the day of the last deletion.
    stamp: PathBuf,
    /// The export of the runs when the command has ended.
    live: Option<LiveExport>,
}

/// The booking of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BookedCost {
    /// The most that its attempts could take. `None` where a price is unknown.
    pub reserved: Option<NanoDollars>,
    /// The amount they were settled for. `None` if it is unknown.
    pub settled: Option<NanoDollars>,
}

impl OpenRecords {
    /// Opens the records for runs that ask somebody, or nobody. `None` if none are kept.
    ///
    /// # Errors
    ///
    /// If something would be sent and the records that are on can't be kept, or a budget needs records and there
    /// are none.
    pub async fn begin(
        project: &OpenProject,
        record: RecordChoice,
        asking: Option<CallTerms>,
    ) -> Result<WithNotes<Option<Self>>, Error> {
        let asks = asking.is_some();
        let CallTerms { ledger, secrets } = asking.unwrap_or(CallTerms::free());
        let is_capped = !ledger.caps.is_empty();
        // A budget is counted in the records. So under a cap, having none is an error before it is anybody's choice.
        let keeping = match (record, project.config.records.keep) {
            (RecordChoice::No, _) if is_capped => {
                return Err(budget_needs_records("they are declined").hinting(Hint::Record));
            }
            (_, KeepRecords::Nothing) if is_capped => {
                return Err(budget_needs_records(
                    "`records.keep = \"nothing\"` turns them off; write \"hashes\" instead",
                ));
            }
            (RecordChoice::No, _) | (_, KeepRecords::Nothing) => return Ok(WithNotes::quiet(None)),
            (RecordChoice::AsConfigured | RecordChoice::Needed, KeepRecords::Content) => RecordDepth::Content,
            (RecordChoice::AsConfigured | RecordChoice::Needed, KeepRecords::Hashes) => RecordDepth::Hashes,
        };
        booking_zone(&project.config.budget)?;
        let place = records_location(project)?;
        let made = async {
            let seal = SealKey::of(&project.places.key())?;
            let opened = open_records(project, Wanted::Write).await?;
            match opened.origin {
                StoreCreator::Own => Ok((seal, opened)),
                StoreCreator::Foreign => Err(Error::from(proem_store::Error::Foreign { path: place.path() })),
            }
        };
        match made.await {
            Ok((seal, opened)) => {
                let notes = opened.notes.into_iter().map(|words| Note::new(NoteKind::Records, words)).collect();
                let writing = Self {
                    store: opened.store,
                    seal,
                    keeping,
                    ledger,
                    secrets,
                    owner: records_owner(project),
                    actor: actor(&Environment::inherited(), project.places.channel),
                    days: project.config.records.days(),
                    stamp: project.places.purged(),
                    live: LiveExport::configured(project),
                };
                Ok(WithNotes { value: Some(writing), notes })
            }
            Err(why) if asks => {
                let necessity =
                    if record == RecordChoice::Needed { Necessity::Required } else { Necessity::Configured };
                let hint = match (why.hint(), necessity) {
                    (Some(hint), _) => Some(hint.clone()),
                    (None, Necessity::Configured) if !is_capped => Some(Hint::DeclineRecords),
                    (None, _) => None,
                };
                let failure = Error::outside(unsent_reason(&why.to_string(), necessity, &ledger.caps));
                Err(hint.into_iter().fold(failure, Error::hinting))
            }
            // Nothing leaves this machine here, so a note is enough.
            Err(why) => Ok(WithNotes {
                value: None,
                notes: vec![Note {
                    kind: NoteKind::Records,
                    message: Message { text: format!("nothing is recorded: {why}"), hint: why.hint().cloned() },
                }],
            }),
        }
    }

    /// The source of failures, according to the choice about recording.
    pub fn history<'w>(records: Option<&'w Self>, record: RecordChoice, project: &OpenProject) -> FailureHistory<'w> {
        match (records, record, project.config.records.keep) {
            (Some(records), ..) => FailureHistory::Open(&records.store),
            (None, RecordChoice::No, _) | (None, _, KeepRecords::Nothing) => FailureHistory::Closed,
            (None, RecordChoice::AsConfigured | RecordChoice::Needed, _) => FailureHistory::Unusable,
        }
    }

    /// The open store that the records are in.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn caps(&self) -> &[Cap] {
        &self.ledger.caps
    }

    /// Whether texts are kept, so that what a run did can be looked up later.
    #[must_use]
    pub(crate) fn keeps_content(&self) -> bool {
        self.keeping == RecordDepth::Content
    }

    /// The common part of all recordings.
    pub fn kept(&self) -> RecordingContext<'_> {
        RecordingContext {
            store: &self.store,
            seal: &self.seal,
            keeping: self.keeping,
            ledger: &self.ledger,
            secrets: &self.secrets,
            project: &self.owner,
            actor: &self.actor,
        }
    }

    /// A text as it is kept: with its bytes, or by its hash alone.
    pub(crate) fn content(&self, text: impl AsRef<[u8]>) -> HashedContent {
        let content = HashedContent::new(text);
        if self.keeps_content() { content } else { content.forgotten() }
    }

    /// The line of a run that asks no model, begun now, without settings.
    pub(crate) fn unasked_run(&self, id: &RunId, kind: &str, prompt: PromptId, inputs: &str) -> NewRun {
        NewRun {
            id: id.clone(),
            project: self.owner.clone(),
            actor: self.actor.clone(),
            kind: kind.to_owned(),
            parent: None,
            caller: None,
            prompt,
            role: String::new(),
            model: String::new(),
            endpoint: String::new(),
            line: None,
            started: when::time_now(),
            files: BTreeMap::new(),
            inputs: self.content(inputs),
            settings: Json::Null,
            profiles: None,
            replayable: Replayable::No("it asked no model".to_owned()),
        }
    }

    /// An id for a run that starts.
    ///
    /// # Errors
    ///
    /// If the system gives no random bytes.
    pub fn id() -> Result<RunId, Error> {
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| Error::outside(format!("the operating system provides no random bytes: {error}")))?;
        Ok(RunId::new(random))
    }

    /// The booking of a finished run.
    ///
    /// # Errors
    ///
    /// If it can't be read.
    pub async fn booking(&self, run: &RunId) -> Result<BookedCost, Error> {
        let detail = self.store.run(run).await?;
        let attempts = || detail.calls.iter().flat_map(|call| &call.attempts);
        let sum = |mut costs: Box<dyn Iterator<Item = Option<NanoDollars>> + '_>| {
            costs.try_fold(NanoDollars::default(), |sum, cost| Some(sum.and(cost?)))
        };
        Ok(BookedCost {
            reserved: sum(Box::new(attempts().map(|attempt| attempt.most))),
            settled: sum(Box::new(attempts().map(|attempt| attempt.booked))),
        })
    }

    /// Exports the runs if that is configured, deletes what is older than it may be, at most once a day, and closes the
    /// store.
    pub async fn end(self) -> Vec<Note> {
        let exported = match &self.live {
            Some(live) => live.send(&self.store).await,
            None => None,
        };
        let retained = self.retain().await;
        self.store.close().await;
        let failed = |why| Some(Note::new(NoteKind::Records, format!("old runs were not deleted: {why}")));
        exported.into_iter().chain(retained.unwrap_or_else(failed)).collect()
    }

    /// Closes the store, for a run within another one's command, which does the rest at its end.
    pub(crate) async fn close(self) {
        self.store.close().await;
    }

    /// The note on deleted runs, if any were deleted.
    async fn retain(&self) -> Result<Option<Note>, String> {
        let now = when::time_now();
        let (stamp, today) = (&self.stamp, now.0.div_euclid(when::DAY));
        let last = match files::read_text(stamp, STAMP_BYTES) {
            // An unreadable file is no day on which anything may be deleted.
            Ok(day) => Some(day.trim().parse().unwrap_or(0)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("`{}` can't be read: {error}", stamp.display())),
        };
        if last == Some(today) {
            return Ok(None);
        }
        // A clock that ran ahead is not believed at once: no day is later than the one after the last.
        let day = last.map_or(today, |last: i64| today.min(last.saturating_add(1)));
        let before = now.0.min(day.saturating_add(1).saturating_mul(when::DAY));
        let before = before.saturating_sub(i64::from(self.days).saturating_mul(when::DAY));
        let purge = Purge {
            project: None,
            before: Some(proem_engine::run::Time(before)),
            runs: Vec::new(),
            actor: self.actor.clone(),
            at: now,
        };
        let purged = self.store.purge(purge).await.map_err(|error| error.to_string())?;
        let note = (purged.runs > 0).then(|| {
            let (runs, days) = (count_with_noun(purged.runs, "run"), count_with_noun(u64::from(self.days), "day"));
            let words = format!("deleted {runs} older than {days} (`records.days` says how long)");
            Note::new(NoteKind::Records, words)
        });
        let (Some(folder), Some(name)) = (stamp.parent(), stamp.file_name()) else { return Ok(note) };
        files::replace_file(folder, Path::new(name), format!("{today}\n").as_bytes(), FileAccess::Private)
            .map(|()| note)
            .map_err(|error| error.to_string())
    }
}

pub(super) fn budget_needs_records(what: &str) -> Error {
    Error::invalid(format!("a budget is configured, which needs records, but {what}"))
}
