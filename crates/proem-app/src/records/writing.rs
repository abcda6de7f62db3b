//! Records that a command writes into: when they may be missing, and when not.
//!
//! Records that are on and can't be kept stop whatever sends: what nobody can look at later is sent only by who
//! says so, with `--no-record`, and where a budget is configured not even then, since it could not be booked. What
//! sends nothing says once that nothing is recorded and goes on.

use std::path::Path;

use proem_engine::call::NanoDollars;
use proem_engine::ledger::Priced;
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::files::{self, Access};
use proem_runtime::records::{Keeping, Kept, Ledger, Necessity, SealKey, unsent};
use proem_store::record::{Actor, Project as Owner, RunId};
use proem_store::{Access as Wanted, Origin, Purge, Store};

use super::learning::History;
use super::{actor, open, owner, zone};
use crate::config::KeepRecords;
use crate::error::Error as Failure;
use crate::message::{Hint, Note, Noted};
use crate::places::Places;
use crate::project::Project;
use crate::when;
use crate::words::counted;

/// What is said where a run would go on in records, and none are kept.
pub const NONE_TO_GO_ON_IN: &str =
    "resuming a run needs records, and none are kept; change `records.keep` in your configuration";

/// The most that the file with a day may have, in bytes.
const STAMP_BYTES: usize = 64;

/// What the caller says about records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Nothing: configuration decides.
    AsConfigured,
    /// `--no-record`.
    No,
    /// A run goes on in them, so there is no doing without.
    Needed,
}

/// What asking somebody depends on.
#[derive(Debug)]
pub struct Asking {
    /// The caps that hold.
    pub ledger: Ledger,
    /// What must not be written down.
    pub secrets: Vec<Secret>,
}

impl Asking {
    /// What is asked costs nothing and needs no credential that is known here.
    pub const fn free() -> Self {
        Self { ledger: Ledger { caps: Vec::new(), priced: Priced::Free }, secrets: Vec::new() }
    }
}

/// Records that are open for the runs of one command.
#[derive(Debug)]
pub struct Writing {
    store: Store,
    seal: SealKey,
    keeping: Keeping,
    ledger: Ledger,
    secrets: Vec<Secret>,
    owner: Owner,
    actor: Actor,
    days: u32,
}

/// What is booked for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booking {
    /// The most that its attempts could take; `None` where a price is unknown.
    pub reserved: Option<NanoDollars>,
    /// What they were settled for; `None` where that is unknown.
    pub settled: Option<NanoDollars>,
}

impl Writing {
    /// Opens the records for runs that ask somebody, or nobody; `None` if none are kept.
    ///
    /// # Errors
    ///
    /// If something would be sent and the records that are on can't be kept, or a budget needs records and there
    /// are none.
    pub async fn begin(
        places: &Places,
        project: &Project,
        record: Record,
        asking: Option<Asking>,
    ) -> Result<Noted<Option<Self>>, Failure> {
        let asks = asking.is_some();
        let Asking { ledger, secrets } = asking.unwrap_or(Asking::free());
        let is_capped = !ledger.caps.is_empty();
        let keeping = match (record, project.config.records.keep) {
            (Record::No, _) if is_capped => return Err(needed("they are declined").hinting(Hint::Record)),
            (_, KeepRecords::Nothing) if is_capped => {
                return Err(needed("`records.keep = \"nothing\"` turns them off; write \"hashes\" instead"));
            }
            (Record::No, _) | (_, KeepRecords::Nothing) => return Ok(Noted::quiet(None)),
            (Record::AsConfigured | Record::Needed, KeepRecords::Content) => Keeping::Content,
            (Record::AsConfigured | Record::Needed, KeepRecords::Hashes) => Keeping::Hashes,
        };
        zone(&project.config.budget)?;
        let made = async {
            let seal = SealKey::of(&places.key()).map_err(|error| error.to_string())?;
            let opened = open(places, project, Wanted::Write).await.map_err(|error| error.to_string())?;
            match opened.origin {
                Origin::Own => Ok((seal, opened)),
                Origin::Foreign => Err(proem_store::Error::Foreign { path: places.records() }.to_string()),
            }
        };
        match made.await {
            Ok((seal, opened)) => {
                let notes = opened.notes.into_iter().map(Note::from).collect();
                let writing = Self {
                    store: opened.store,
                    seal,
                    keeping,
                    ledger,
                    secrets,
                    owner: owner(project),
                    actor: actor(&Environment::inherited(), places.channel),
                    days: project.config.records.days(),
                };
                Ok(Noted { value: Some(writing), notes })
            }
            Err(why) if asks => {
                let necessity = if record == Record::Needed { Necessity::Required } else { Necessity::Configured };
                Err(Failure::outside(unsent(&why, necessity, &ledger.caps)))
            }
            Err(why) => Ok(Noted { value: None, notes: vec![format!("nothing is recorded: {why}").into()] }),
        }
    }

    /// Where failures are looked up by who wanted to record like that.
    pub fn history<'w>(records: Option<&'w Self>, record: Record, project: &Project) -> History<'w> {
        match (records, record, project.config.records.keep) {
            (Some(records), ..) => History::Open(&records.store),
            (None, Record::No, _) | (None, _, KeepRecords::Nothing) => History::Closed,
            (None, Record::AsConfigured | Record::Needed, _) => History::Unusable,
        }
    }

    /// The store.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// What all recordings share.
    pub fn kept(&self) -> Kept<'_> {
        Kept {
            store: &self.store,
            seal: &self.seal,
            keeping: self.keeping,
            ledger: &self.ledger,
            secrets: &self.secrets,
            project: &self.owner,
            actor: &self.actor,
        }
    }

    /// An id for a run that starts.
    ///
    /// # Errors
    ///
    /// If the system gives no random bytes.
    pub fn id() -> Result<RunId, Failure> {
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| Failure::outside(format!("the operating system provides no random bytes: {error}")))?;
        Ok(RunId::new(random))
    }

    /// What is booked for a run that is over.
    ///
    /// # Errors
    ///
    /// If it can't be read.
    pub async fn booking(&self, run: &RunId) -> Result<Booking, Failure> {
        let detail = self.store.run(run).await?;
        let attempts = || detail.calls.iter().flat_map(|call| &call.attempts);
        let sum = |mut costs: Box<dyn Iterator<Item = Option<NanoDollars>> + '_>| {
            costs.try_fold(NanoDollars::default(), |sum, cost| Some(sum.and(cost?)))
        };
        Ok(Booking {
            reserved: sum(Box::new(attempts().map(|attempt| attempt.most))),
            settled: sum(Box::new(attempts().map(|attempt| attempt.booked))),
        })
    }

    /// Deletes what is older than it may be, at most once a day, and closes the store.
    pub async fn end(self, places: &Places) -> Option<Note> {
        let retained = self.retain(places).await;
        self.store.close().await;
        retained.unwrap_or_else(|why| Some(format!("old runs were not deleted: {why}").into()))
    }

    /// What was deleted, if anything was.
    async fn retain(&self, places: &Places) -> Result<Option<Note>, String> {
        let now = when::now();
        let (stamp, today) = (places.purged(), now.0.div_euclid(when::DAY));
        let last = match files::read_text(&stamp, STAMP_BYTES) {
            // What can't be read is no day on which anything may be deleted.
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
            let (runs, days) = (counted(purged.runs, "run"), counted(u64::from(self.days), "day"));
            format!("deleted {runs} older than {days} (`records.days` says how long)").into()
        });
        let (Some(folder), Some(name)) = (stamp.parent(), stamp.file_name()) else { return Ok(note) };
        files::replace(folder, Path::new(name), format!("{today}\n").as_bytes(), Access::Private)
            .map(|()| note)
            .map_err(|error| error.to_string())
    }
}

fn needed(what: &str) -> Failure {
    Failure::usage(format!("a budget is configured, which needs records, but {what}"))
}
