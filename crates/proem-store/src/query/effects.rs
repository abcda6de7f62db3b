//! The state of a project's effects: the switch, the performer, counts, credit and precedents.

use std::collections::BTreeMap;
use std::path::Path;

use proem_engine::effect::{ActionState, PerformerEpoch};
use proem_engine::run::Time;

use super::values::{ReadFault, all_rows, column_count, column_value, first_row, parse_stored_number};
use crate::Store;
use crate::error::Error;
use crate::opening::StoreCreator;
use crate::record::{EffectsPower, Project};
use crate::sql::{DatabaseKind, Tables};
use crate::sqlite::place::{self, FileSystemKind};
use crate::sqlite::{Site, origin};

/// Reads the state of a project's effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectsStatus {
    /// The store's own id.
    pub store: String,
    /// The creator of the store. Only this installation's own store performs effects.
    pub creator: StoreCreator,
    /// On what kind of file system the store is. Only a local one performs effects.
    pub file_system: FileSystemKind,
    /// The last use of the switch. `None` means that nobody ever used it, so effects are off.
    pub switch: Option<SwitchRow>,
    /// Why effects are parked, as it is noted. Only an adoption ends it.
    pub parked: Option<String>,
    /// The performer in force. `None` before the first.
    pub performer: Option<PerformerRow>,
    /// How many actions, by state.
    pub actions: BTreeMap<ActionState, u64>,
    /// How many escalations are open.
    pub escalations: u64,
    /// How many fields are in quarantine.
    pub quarantined: u64,
    /// The last time that the ledger saw, in any project: a clock that went back is seen by all.
    pub last_seen: Time,
}

/// One use of the switch for effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchRow {
    /// To what. On for another store is off for this one.
    pub power: EffectsPower,
    /// For which store.
    pub store: String,
    /// The actor, as stored.
    pub actor: String,
    /// When it was switched.
    pub at: Time,
}

/// A performer of effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformerRow {
    /// The number that each new performer raises by one.
    pub epoch: PerformerEpoch,
    /// A text that identifies its process.
    pub process: String,
    /// The actor that started it, as stored.
    pub actor: String,
    /// When its epoch began.
    pub at: Time,
}

/// Credit for shorter holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreditRow {
    /// Approvals since the last no, at most one a day.
    pub approvals: u64,
    /// The day of the last one that counted, in the declared zone, as 2026-11-23. Empty without any.
    pub day: String,
}

/// The performer in force and the switch, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformingMoment {
    /// The epoch in force. `None` before the first.
    pub epoch: Option<PerformerEpoch>,
    /// Whether effects are on, and not parked.
    pub power: EffectsPower,
    /// Whether a person has stopped effects, or they are parked, or they were switched on for other records. Then tools
    /// have no effects either, which nobody has to switch on.
    pub is_stopped: bool,
}

impl EffectsStatus {
    /// Whether effects are switched on for this store.
    #[must_use]
    pub fn power(&self) -> EffectsPower {
        match &self.switch {
            Some(switch) if switch.store == self.store => switch.power,
            _ => EffectsPower::Off,
        }
    }
}

impl Store {
    /// Reads the state of a project's effects.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn effects(&self, project: &Project) -> Result<EffectsStatus, Error> {
        let project = project.clone();
        self.read(move |reader, site| read_effects_status(reader, site, &project)).await
    }

    /// The part of the records that a performer reads right before an effect.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn performing_moment(&self, project: &Project) -> Result<PerformingMoment, Error> {
        let project = project.clone();
        self.read(move |reader, _site| performing_moment(reader, &project)).await
    }
}

/// The path whose file system has this machine's files about a store. A server's are made with the first line written.
fn nearest_path<'p>(reader: &Tables, path: &'p Path) -> &'p Path {
    match reader.kind() {
        DatabaseKind::File => path,
        DatabaseKind::Server => path.ancestors().find(|above| above.exists()).unwrap_or(path),
    }
}

fn read_effects_status(reader: &Tables, site: &Site, project: &Project) -> Result<EffectsStatus, ReadFault> {
    let meta = all_rows(reader, "SELECT key, value FROM meta", [], |row| {
        Ok((column_value(row, "key")?, column_value(row, "value")?))
    })?;
    let meta: BTreeMap<String, String> = meta.into_iter().collect();
    let of = |key: &str| meta.get(key).cloned().unwrap_or_default();
    let store = of("store_id");
    let is_own = !store.is_empty() && origin::creator_seal(&site.key, &store) == of("seal");
    let counted = "SELECT state, count(*) AS actions FROM actions WHERE project = ? GROUP BY state";
    let counted = all_rows(reader, counted, [&project.0], |row| {
        let word: String = column_value(row, "state")?;
        let state = ActionState::parse(&word).ok_or_else(|| ReadFault::Odd(format!("`state` is `{word}`")))?;
        Ok((state, column_count(row, "actions")?))
    })?;
    let number = |sql: &str| {
        Ok::<u64, ReadFault>(first_row(reader, sql, [&project.0], |row| column_count(row, "open"))?.unwrap_or(0))
    };
    Ok(EffectsStatus {
        creator: if is_own { StoreCreator::Own } else { StoreCreator::Foreign },
        file_system: place::file_system(nearest_path(reader, &site.path)),
        switch: switch(reader, project)?,
        parked: meta.get("parked").cloned(),
        performer: performer(reader, project)?,
        actions: counted.into_iter().collect(),
        escalations: number("SELECT count(*) AS open FROM escalations WHERE project = ? AND state = 'open'")?,
        quarantined: number("SELECT count(*) AS open FROM quarantined WHERE project = ? AND state = 'quarantined'")?,
        last_seen: Time(parse_stored_number("last_seen", &of("last_seen"))?),
        store,
    })
}

fn performing_moment(reader: &Tables, project: &Project) -> Result<PerformingMoment, ReadFault> {
    let on = "SELECT 1 AS found FROM effects_state e JOIN meta m ON m.key = 'store_id' AND m.value = e.store \
              WHERE e.project = ? AND e.state = 'on' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'parked')";
    let is_on = first_row(reader, on, [&project.0], |_| Ok(()))?.is_some();
    let switched = "SELECT 1 AS found FROM effects_state WHERE project = ? \
                    UNION ALL SELECT 1 FROM meta WHERE key = 'parked' LIMIT 1";
    let is_switched = first_row(reader, switched, [&project.0], |_| Ok(()))?.is_some();
    Ok(PerformingMoment {
        epoch: performer(reader, project)?.map(|performer| performer.epoch),
        power: if is_on { EffectsPower::On } else { EffectsPower::Off },
        is_stopped: is_switched && !is_on,
    })
}

fn switch(reader: &Tables, project: &Project) -> Result<Option<SwitchRow>, ReadFault> {
    first_row(reader, "SELECT state, store, actor, at FROM effects_state WHERE project = ?", [&project.0], |row| {
        let power = match column_value::<String>(row, "state")?.as_str() {
            "on" => EffectsPower::On,
            _ => EffectsPower::Off,
        };
        Ok(SwitchRow {
            power,
            store: column_value(row, "store")?,
            actor: column_value(row, "actor")?,
            at: Time(column_value(row, "at")?),
        })
    })
}

fn performer(reader: &Tables, project: &Project) -> Result<Option<PerformerRow>, ReadFault> {
    let last = "SELECT epoch, process, actor, at FROM performers WHERE project = ? ORDER BY epoch DESC LIMIT 1";
    first_row(reader, last, [&project.0], |row| {
        Ok(PerformerRow {
            epoch: PerformerEpoch(column_count(row, "epoch")?),
            process: column_value(row, "process")?,
            actor: column_value(row, "actor")?,
            at: Time(column_value(row, "at")?),
        })
    })
}
