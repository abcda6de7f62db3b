//! The witness of effects: a file beside the database, to which a performer adds a line before each effect and another
//! one behind it, each saved before anything follows.
//!
//! The database may be replaced by an older copy of itself, and then says of an action that was performed that it is yet
//! to be. The witness is not in that copy. Records that lack an effect which their witness has, or whose witness is gone,
//! damaged, another's or a copy, are *parked*: they are read and written as ever, nothing is approved or taken up, and a
//! person has to look at the list and adopt them (`crate::write`).
//!
//! On a server each machine has a witness of its own, of what it performed itself, and the database has a seal of where it
//! is: one that was restored, copied or promoted is parked for every machine.
//!
//! Invariants: no [`WitnessedIntent`] without a saved line, and without one of those the runtime performs nothing. No
//! key has two intents unless a person asked for the second or nothing left with the first. Lines are only added, and
//! only a line whose writing broke off is taken away. There are ids, hashes, outcomes and times in them and no texts.

mod account;
mod comparison;
mod file;
mod home;
mod line;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use proem_engine::effect::key::EffectKey;
use proem_engine::effect::{ActionVersion, BytesHash, PerformerEpoch};
use proem_engine::run::Time;
use proem_guard::InstallationKey;

pub(crate) use self::account::WitnessedEffect;
use self::account::{WitnessAccount, WitnessEnd};
use self::comparison::FoundWitness;
pub(crate) use self::comparison::{RecordedEffects, TakenUp, WitnessTrouble};
use self::file::{Lock, is_in_place, lock_witness, open_witness, place_seal, put_in_place, unusable_witness};
pub(crate) use self::file::{mark_name, witness_path};
pub(crate) use self::home::{HOME, RecordsHome, home_seal, records_home};
pub use self::line::EffectOutcome;
pub(crate) use self::line::WitnessOwner;
use self::line::{EffectPlace, LineKind, SealedLine, WitnessLine};
use crate::epoch;
use crate::error::Error;
use crate::failpoint;
use crate::file::OpenMode;
use crate::record::{digest_of, digest_text};
use crate::sql::run_on_file_thread;
use crate::sqlite::place;
use crate::store::Store;

/// Whether an effect is the first of its action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntentRepetition {
    /// Nothing of this action has left yet.
    First,
    /// A person wants the same bytes to go once more.
    Again,
}

/// An effect that is about to happen. Its taking up is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectIntent {
    /// The action.
    pub key: EffectKey,
    /// The version that taking it up made.
    pub version: ActionVersion,
    /// The performer.
    pub epoch: PerformerEpoch,
    /// The hash of the bytes that will leave.
    pub bytes: BytesHash,
    /// The time.
    pub at: Time,
    /// Whether it is the first of its action.
    pub repetition: IntentRepetition,
}

/// That an intent is saved in the witness: without it no effect is performed. [`EffectWitness::intend`] is the only maker.
#[derive(Debug)]
pub struct WitnessedIntent {
    key: EffectKey,
    version: ActionVersion,
    epoch: PerformerEpoch,
}

impl WitnessedIntent {
    /// The action that may be performed.
    #[must_use]
    pub const fn key(&self) -> &EffectKey {
        &self.key
    }
}

/// The witness as a performer has it open.
#[derive(Debug)]
pub struct EffectWitness {
    store: Store,
    /// The records' id.
    id: String,
    /// Opened with the first effect.
    open: Arc<Mutex<Option<OpenWitness>>>,
}

impl Store {
    /// Opens the witness to perform effects. Makes it before the first effect of these records.
    ///
    /// # Errors
    ///
    /// [`Error::Parked`] if records and witness disagree, [`Error::Unusable`] if it can't be read or made.
    pub async fn open_witness(&self, at: Time) -> Result<EffectWitness, Error> {
        if let Some(why) = self.examine_witness().await? {
            return Err(Error::Parked(why));
        }
        let (path, key, id) = (self.site.path.clone(), self.site.key.clone(), self.store_id().await?);
        let witness = EffectWitness { store: self.clone(), id: id.clone(), open: Arc::default() };
        // Before the first taking up, for records that have one and no witness are parked.
        run_on_file_thread(&self.site.path, move || make_if_absent(&path, &key, &WitnessOwner { store: &id, at }))
            .await?;
        Ok(witness)
    }
}

impl EffectWitness {
    /// Writes that an effect is about to happen, and saves it.
    ///
    /// # Errors
    ///
    /// [`Error::Parked`] if the witness says that the action left before, [`Error::Unusable`] if the line can't be
    /// saved. The effect must not happen then.
    pub async fn intend(&self, intent: EffectIntent) -> Result<WitnessedIntent, Error> {
        let claims = self.store.claims_of(&intent.key).await?;
        let EffectIntent { key, version, epoch, .. } = intent;
        self.on_open(move |open| open.intend(&intent, claims)).await?;
        Ok(WitnessedIntent { key, version, epoch })
    }

    /// Writes what became of an effect, and saves it.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if the line can't be saved. The witness then says that it may have happened.
    pub async fn settle(&self, intent: WitnessedIntent, outcome: EffectOutcome, at: Time) -> Result<(), Error> {
        self.on_open(move |open| open.settle(&intent, outcome, at)).await
    }

    async fn on_open(
        &self,
        work: impl FnOnce(&mut OpenWitness) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let (open, site, id) = (Arc::clone(&self.open), Arc::clone(&self.store.site), self.id.clone());
        let work = move || {
            // A thread that panicked with the lock left at most a line that broke off, which the next one takes away.
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *open {
                Some(witness) => work(witness),
                none => work(none.insert(OpenWitness::open(&site.path, site.key.clone(), id)?)),
            }
        };
        run_on_file_thread(&self.store.site.path, work).await
    }
}

/// The thing at the witness's path.
pub(crate) enum WitnessSighting {
    /// Nothing.
    Absent,
    /// Something that is no witness, and why.
    Unfit(String),
    /// A witness, and the seal of where it is.
    Found(Box<WitnessAccount>, String),
}

impl WitnessSighting {
    /// Looks at the witness of a database and reads it whole.
    pub(crate) fn of(database: &Path, key: &InstallationKey) -> Result<Self, Error> {
        let path = witness_path(database);
        let file = match open_witness(&path, OpenMode::Read) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(Self::Absent),
            Err(why) => return Ok(Self::Unfit(why)),
        };
        lock_witness(&file, &path, Lock::Shared)?;
        let failed = |error: io::Error| unusable_witness(&path, error);
        let account = WitnessAccount::read(&file, key).map_err(failed)?;
        let place = place_seal(key, &file.metadata().map_err(failed)?);
        Ok(Self::Found(Box::new(account), place))
    }

    /// The trouble between it and the records, which were read later. None if neither lacks an effect of the other.
    pub(crate) fn trouble(&self, recorded: &RecordedEffects) -> Option<WitnessTrouble> {
        match self {
            Self::Absent => comparison::compare_effects(None, recorded),
            Self::Unfit(why) => Some(WitnessTrouble::Unfit(why.clone())),
            Self::Found(account, place) => {
                comparison::compare_effects(Some(&FoundWitness { account, place }), recorded)
            }
        }
    }

    /// Whether something that the records have performed is not in it.
    pub(crate) fn lacks_any(&self, recorded: &RecordedEffects) -> bool {
        self.account().is_none_or(|account| comparison::lacking_effects(account, recorded).next().is_some())
    }

    /// Its lines, as far as they can be read.
    pub(crate) fn account(&self) -> Option<&WitnessAccount> {
        match self {
            Self::Found(account, _) => Some(account),
            Self::Absent | Self::Unfit(_) => None,
        }
    }

    /// The end of what it says, by which it is known again.
    pub(crate) fn mark(&self) -> Option<String> {
        self.account().map(|account| mark_of(&account.end))
    }
}

fn mark_of(end: &WitnessEnd) -> String {
    format!("{} {}", end.length, end.sum)
}

/// Whether a witness is the one of these records, in its place, and ends at this mark: what one look at its ends says.
pub(crate) fn ends_at(database: &Path, key: &InstallationKey, store: &str, mark: &str) -> bool {
    let found = open_witness(&witness_path(database), OpenMode::Read);
    let Ok(Some(file)) = found else { return false };
    let Ok(metadata) = file.metadata() else { return false };
    let Ok(Some((first, last))) = line::first_and_last(&file, metadata.len()) else { return false };
    let is_ours = first.store == store && first.place.as_deref() == Some(&*place_seal(key, &metadata));
    is_ours && first.follows(key, "") && mark_of(&WitnessEnd { length: metadata.len(), sum: last.sum }) == mark
}

/// A new witness that knows of these effects, with its mark, in the place of the one there was.
pub(crate) fn renew_witness<'e>(
    database: &Path,
    key: &InstallationKey,
    owner: &WitnessOwner<'_>,
    effects: impl Iterator<Item = &'e WitnessedEffect>,
) -> Result<String, Error> {
    let path = witness_path(database);
    let written = |error: serde_json::Error| unusable_witness(&path, error);
    let file = file::begin_file(&path)?;
    let metadata = file.metadata().map_err(|error| unusable_witness(&path, error))?;
    let mut end = WitnessEnd::default();
    let mut text = String::new();
    let mut add = |line: WitnessLine| -> Result<(), Error> {
        let sealed = line.sealed(key, &end.sum).map_err(written)?;
        text.push_str(&sealed.text);
        end = WitnessEnd { length: u64::try_from(text.len()).unwrap_or(u64::MAX), sum: sealed.sum };
        Ok(())
    };
    add(WitnessLine::opening(owner, place_seal(key, &metadata)))?;
    for effect in effects {
        add(WitnessLine::intent(owner.store, effect))?;
        if let Some((outcome, at)) = effect.outcome {
            add(WitnessLine::outcome(owner.store, effect.place(), outcome.kind(), at))?;
        }
    }
    put_in_place(&file, &text, &path, owner.at.0)?;
    Ok(mark_of(&end))
}

/// The effects that the records know, as a witness would have them.
pub(crate) fn recorded_effects(recorded: &RecordedEffects, at: Time) -> Vec<WitnessedEffect> {
    let purged = recorded.purged.iter().map(|(key, last)| (key, *last));
    let taken = recorded.taken.iter().map(|(key, version)| (key, *version)).chain(purged);
    let effect = |(key, version): (&String, u64)| {
        let event = recorded.performed.get(&(key.clone(), version));
        Some(WitnessedEffect {
            key: EffectKey::of_bytes(digest_of(key)?),
            version: ActionVersion(version),
            epoch: 0,
            at,
            bytes: None,
            claims: Vec::new(),
            outcome: event.map(|event| (EffectOutcome::of_event(event), at)),
        })
    };
    taken.filter_map(effect).collect()
}

/// Makes the witness of a database that has none.
fn make_if_absent(database: &Path, key: &InstallationKey, owner: &WitnessOwner<'_>) -> Result<(), Error> {
    // Two performers of different projects may begin at the same moment.
    let _turn = epoch::wait_to_open(database).map_err(|error| place::unwritable_path(database, &error))?;
    let path = witness_path(database);
    match open_witness(&path, OpenMode::Read) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => renew_witness(database, key, owner, std::iter::empty()).map(drop),
        Err(why) => Err(unusable_witness(&path, why)),
    }
}

/// The reason if a witness is not where it was.
const REMOVED: &str = "it was replaced or removed while effects were performed";

/// A witness that is open to be added to.
#[derive(Debug)]
struct OpenWitness {
    path: PathBuf,
    file: File,
    key: InstallationKey,
    store: String,
    account: WitnessAccount,
}

impl OpenWitness {
    /// Opens the witness of a database and reads it.
    fn open(database: &Path, key: InstallationKey, store: String) -> Result<Self, Error> {
        let path = witness_path(database);
        let found = open_witness(&path, OpenMode::Append).map_err(|why| unusable_witness(&path, why))?;
        let file = found.ok_or_else(|| unusable_witness(&path, REMOVED))?;
        lock_witness(&file, &path, Lock::Shared)?;
        let account = WitnessAccount::read(&file, &key).map_err(|error| unusable_witness(&path, error))?;
        let place =
            file.metadata().map(|found| place_seal(&key, &found)).map_err(|error| unusable_witness(&path, error))?;
        file.unlock().map_err(|error| unusable_witness(&path, error))?;
        if (&account.store, &account.place) != (&store, &place) {
            return Err(unusable_witness(&path, REMOVED));
        }
        Ok(Self { path, file, key, store, account })
    }

    /// Adds an intent, unless the witness says that the action, or another one for the same signal, left before.
    fn intend(&mut self, intent: &EffectIntent, claims: Vec<String>) -> Result<(), Error> {
        let effect = WitnessedEffect {
            key: intent.key,
            version: intent.version,
            epoch: intent.epoch.0,
            at: intent.at,
            bytes: Some(digest_text(&intent.bytes.0)),
            claims,
            outcome: None,
        };
        let line = WitnessLine::intent(&self.store, &effect);
        self.add(&line, |account, line| match intent.repetition {
            IntentRepetition::Again => Ok(()),
            IntentRepetition::First => left_before(account, line),
        })
    }

    fn settle(&mut self, intent: &WitnessedIntent, outcome: EffectOutcome, at: Time) -> Result<(), Error> {
        let place = EffectPlace { key: intent.key, version: intent.version, epoch: intent.epoch.0 };
        let line = WitnessLine::outcome(&self.store, place, outcome.kind(), at);
        self.add(&line, |_, _| Ok(()))
    }

    /// Adds a line behind all that others added meanwhile, if they leave room for it, and saves it.
    fn add(
        &mut self,
        line: &WitnessLine,
        may: impl FnOnce(&WitnessAccount, &WitnessLine) -> Result<(), Error>,
    ) -> Result<(), Error> {
        lock_witness(&self.file, &self.path, Lock::Sole)?;
        let done = self.catch_up().and_then(|()| may(&self.account, line)).and_then(|()| self.append(line));
        let unlocked = self.file.unlock().map_err(|error| unusable_witness(&self.path, error));
        done.and(unlocked)
    }

    /// Reads what was added by others, and takes a line away that broke off.
    fn catch_up(&mut self) -> Result<(), Error> {
        let failed = |error: io::Error| unusable_witness(&self.path, error);
        if !is_in_place(&self.file, &self.path) {
            return Err(unusable_witness(&self.path, REMOVED));
        }
        let length = self.file.metadata().map_err(failed)?.len();
        if length < self.account.end.length {
            return Err(unusable_witness(&self.path, "it was cut while effects were performed"));
        }
        if length > self.account.end.length {
            self.account.go_on(&self.file, &self.key).map_err(failed)?;
        }
        if let Some(line) = self.account.damaged {
            return Err(unusable_witness(&self.path, format!("line {line} is damaged")));
        }
        if self.account.torn.take().is_some() {
            self.file.set_len(self.account.end.length).map_err(failed)?;
        }
        Ok(())
    }

    fn append(&mut self, line: &WitnessLine) -> Result<(), Error> {
        let failed = |error: io::Error| unusable_witness(&self.path, error);
        let SealedLine { text, sum } = line
            .clone()
            .sealed(&self.key, &self.account.end.sum)
            .map_err(|error| unusable_witness(&self.path, error))?;
        let name = if line.what == LineKind::Intent { "witness-intent" } else { "witness-outcome" };
        let saved = failpoint::full(name)
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.sync_data());
        if let Err(error) = saved {
            // A part of a line says nothing. One that can't be taken away is found by the next reader.
            _ = self.file.set_len(self.account.end.length);
            return Err(failed(error));
        }
        self.account.take_sealed(line, &text, sum);
        Ok(())
    }
}

/// Refuses an intent whose action, or one of whose claims, has left or may have.
fn left_before(account: &WitnessAccount, line: &WitnessLine) -> Result<(), Error> {
    match line.action.as_deref().and_then(|key| account.left_before(key, &line.claims)) {
        Some(key) => Err(Error::Parked(format!("the witness says that `{key}` left before"))),
        None => Ok(()),
    }
}
