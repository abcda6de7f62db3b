//! Records and their witness side by side: whether effects are parked, and what a person should see before adopting.

use std::collections::BTreeMap;

use proem_engine::effect::ActionState;
use proem_engine::effect::key::EffectKey;
use proem_engine::run::Time;

use super::values::{ReadFault, all_rows, column_value, first_row};
use crate::Store;
use crate::error::Error;
use crate::opening::StoreCreator;
use crate::sql::{Tables, run_on_file_thread};
use crate::sqlite::origin;
use crate::witness::{
    EffectOutcome, RecordedEffects, RecordsHome, WitnessSighting, WitnessTrouble, ends_at, mark_name, records_home,
};
use crate::write::WitnessFinding;

/// Everything that a person should see before adopting records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessList {
    /// Why effects are parked. `None` if they are not.
    pub parked: Option<String>,
    /// How far the list can be relied on.
    pub extent: WitnessExtent,
    /// Effects as the witness has them, the latest first.
    pub lines: Vec<WitnessListLine>,
}

/// How far a list of effects can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WitnessExtent {
    /// Everything that happened is in it or in the records.
    Whole,
    /// Something may have happened that is in neither.
    Partial,
}

/// An effect as the witness has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessListLine {
    /// The action.
    pub key: EffectKey,
    /// When it was about to happen.
    pub at: Time,
    /// Its outcome. `None` if none is written, so that it may have happened.
    pub outcome: Option<EffectOutcome>,
    /// Whether the records know of it.
    pub knowledge: RecordKnowledge,
    /// The action's state in the records. `None` if they don't have it.
    pub state: Option<ActionState>,
}

/// Whether the records know of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKnowledge {
    /// They do.
    Known,
    /// They don't.
    Unknown,
}

/// The records' notes about their witness.
struct WitnessNotes {
    parked: Option<String>,
    mark: Option<String>,
    store: String,
    creator: StoreCreator,
    home: RecordsHome,
}

impl Store {
    /// Compares the records with their witness, and notes in the records what was found, as far as they may be written:
    /// why effects are parked. `None` if they are not. Once noted, only an adoption takes it back.
    ///
    /// Nothing is compared twice: if records and witness both ended at the same mark before, they agree.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if the records or the witness can't be read.
    pub async fn examine_witness(&self) -> Result<Option<String>, Error> {
        let notes = self.witness_notes().await?;
        if notes.parked.is_some() {
            return Ok(notes.parked);
        }
        if let Some(mark) = notes.mark.clone().filter(|_| notes.home != RecordsHome::Moved) {
            let (path, key, store) = (self.site.path.clone(), self.site.key.clone(), notes.store.clone());
            let work = move || Ok(ends_at(&path, &key, &store, &mark));
            if run_on_file_thread(&self.site.path, work).await? {
                return Ok(None);
            }
        }
        let (sighting, _, trouble) = self.compare_witness().await?;
        let parked = trouble.map(|trouble| trouble.to_string());
        let mark = if parked.is_none() { sighting.mark() } else { None };
        let is_news = parked.is_some() || (mark.is_some() && mark != notes.mark);
        if is_news && self.queue.is_some() && notes.creator == StoreCreator::Own {
            self.write(WitnessFinding { parked: parked.clone(), mark }).await?;
        }
        Ok(parked)
    }

    /// The effects that the witness knows, and whether the records know them.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if the records or the witness can't be read.
    pub async fn witness_list(&self) -> Result<WitnessList, Error> {
        let notes = self.witness_notes().await?;
        let (sighting, recorded, trouble) = self.compare_witness().await?;
        let states = self.read(|reader, _site| action_states(reader)).await?;
        let effects = sighting.account().map(|account| &account.effects);
        let mut lines: Vec<WitnessListLine> = effects
            .into_iter()
            .flatten()
            .map(|(place, effect)| WitnessListLine {
                key: effect.key,
                at: effect.at,
                outcome: effect.outcome.map(|(outcome, _)| outcome),
                knowledge: if recorded.know(place) { RecordKnowledge::Known } else { RecordKnowledge::Unknown },
                state: states.get(&place.0).copied(),
            })
            .collect();
        lines.sort_by_key(|line| (std::cmp::Reverse(line.at), line.key));
        let is_whole = WitnessTrouble::leaves_whole_account(trouble.as_ref(), notes.parked.as_ref(), notes.home);
        let extent = if is_whole { WitnessExtent::Whole } else { WitnessExtent::Partial };
        Ok(WitnessList { parked: notes.parked.or_else(|| trouble.map(|trouble| trouble.to_string())), extent, lines })
    }

    /// The claims of an action, in hexadecimal digits.
    pub(crate) async fn claims_of(&self, key: &EffectKey) -> Result<Vec<String>, Error> {
        let key = key.to_string();
        let claims = "SELECT claim FROM action_claims WHERE action = ? ORDER BY claim";
        self.read(move |reader, _site| all_rows(reader, claims, [&key], |row| column_value(row, "claim"))).await
    }

    /// The records' own id.
    pub(crate) async fn store_id(&self) -> Result<String, Error> {
        Ok(self.witness_notes().await?.store)
    }

    /// Reads the witness, then the records, and compares them.
    async fn compare_witness(&self) -> Result<(WitnessSighting, RecordedEffects, Option<WitnessTrouble>), Error> {
        let look = || {
            let (path, key) = (self.site.path.clone(), self.site.key.clone());
            run_on_file_thread(&self.site.path, move || WitnessSighting::of(&path, &key))
        };
        let read = || self.read(|reader, site| Ok(RecordedEffects::read(reader, &site.key, &site.path)?));
        let mut sighting = look().await?;
        let mut recorded = read().await?;
        let mut trouble = sighting.trouble(&recorded);
        // A performer may have made the witness, or added to it, since it was looked at.
        if trouble == Some(WitnessTrouble::Missing) {
            sighting = look().await?;
            recorded = read().await?;
            trouble = sighting.trouble(&recorded);
        }
        if matches!(trouble, Some(WitnessTrouble::KnowsLess(_))) && !look().await?.lacks_any(&recorded) {
            trouble = None;
        }
        Ok((sighting, recorded, trouble))
    }

    async fn witness_notes(&self) -> Result<WitnessNotes, Error> {
        self.read(|reader, site| {
            let meta = |name: &str| {
                first_row(reader, "SELECT value FROM meta WHERE key = ?", [name], |row| {
                    column_value::<String>(row, "value")
                })
            };
            let (store, seal) = (meta("store_id")?.unwrap_or_default(), meta("seal")?.unwrap_or_default());
            let is_own = !store.is_empty() && origin::creator_seal(&site.key, &store) == seal;
            let creator = if is_own { StoreCreator::Own } else { StoreCreator::Foreign };
            let mark = meta(&mark_name(reader, &site.key, &site.path))?;
            let home = records_home(reader, &site.key)?;
            Ok(WitnessNotes { parked: meta("parked")?, mark, store, creator, home })
        })
        .await
    }
}

fn action_states(reader: &Tables) -> Result<BTreeMap<String, ActionState>, ReadFault> {
    let rows = all_rows(reader, "SELECT key, state FROM actions", [], |row| {
        Ok((column_value::<String>(row, "key")?, column_value::<String>(row, "state")?))
    })?;
    Ok(rows.into_iter().filter_map(|(key, state)| Some((key, ActionState::parse(&state)?))).collect())
}
