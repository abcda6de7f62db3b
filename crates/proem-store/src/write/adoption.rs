//! Making a store this installation's own, and taking over what its witness knows.
//!
//! Invariants: nothing that the witness knows of happens again because of it; where the witness is no whole account of
//! what happened, nothing goes by itself or by an earlier yes. The new witness is in its place before the adoption is
//! committed, so that a process that dies in between leaves records that are still parked.

use std::collections::BTreeMap;

use proem_engine::effect::key::EffectKey;
use proem_engine::effect::{ActionEvent, ActionVersion, Authority, PolicyHash, ReleaseWindow, TransitionRequest};
use proem_engine::run::Time;
use serde_json::json;

use super::amount::{stored_count, stored_number};
use super::epochs;
use super::event::StoreEvent;
use super::parking::{parking_reason, set_meta};
use crate::epoch;
use crate::error::Error;
use crate::opening::StoreCreator;
use crate::record::{Actor, ActorKind, NewTransition, Project, TransitionLoad, digest_of};
use crate::sql::{Company, DatabaseKind, SqlFault, Tables, Transaction, Write};
use crate::sqlite::{form, origin};
use crate::store::Store;
use crate::witness::{
    HOME, RecordedEffects, TakenUp, WitnessOwner, WitnessSighting, WitnessTrouble, WitnessedEffect, home_seal,
    mark_name, recorded_effects, renew_witness,
};

/// That a store becomes this installation's own, with what its witness knows.
#[derive(Debug)]
struct Adoption {
    actor: Actor,
    at: Time,
}

/// The changes that an adoption made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdoptionCounts {
    /// Effects that the witness knew of and the records did not.
    pub learned: u64,
    /// Actions that are unknown from here on, as they left or may have.
    pub doubted: u64,
    /// Actions that have to be approved anew.
    pub returned: u64,
}

impl Store {
    /// Makes this store this installation's own and takes over what its witness knows: an action that left or may have
    /// is `unknown`. Records of another installation and copies get a new id, so that effects are off until a person
    /// switches them on. Only a person at a terminal may adopt.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn adopt(&self, actor: Actor, at: Time) -> Result<AdoptionCounts, Error> {
        self.write(Adoption { actor, at }).await
    }
}

impl Write for Adoption {
    type Answer = AdoptionCounts;
    const NAME: &'static str = "adopt";
    // From its commit on others may be written that are refused before.
    const COMPANY: Company = Company::None;
    const ORIGIN: StoreCreator = StoreCreator::Foreign;

    fn write(&self, to: &mut Transaction<'_>) -> Result<AdoptionCounts, Error> {
        let at = to.at(self.at);
        if to.tables.kind() == DatabaseKind::File {
            form::update(to.tables)?;
        }
        let key = to.opening.key.clone();
        let is_foreign = origin::creator_of_store(to.tables, &key)? == StoreCreator::Foreign;
        let failed = |fault: SqlFault| fault.into_error(to.tables.path());
        let sighting = WitnessSighting::of(&to.opening.path, &key)?;
        let recorded = RecordedEffects::read(to.tables, &key, &to.opening.path).map_err(failed)?;
        let trouble = sighting.trouble(&recorded);
        let counts = self.take_over(to, &sighting, &recorded)?;
        let noted = parking_reason(to.tables)?;
        let is_whole = WitnessTrouble::leaves_whole_account(trouble.as_ref(), noted.as_ref(), recorded.home);
        let returned = if is_whole { 0 } else { self.return_to_people(to)? };
        let is_copy = matches!(trouble, Some(WitnessTrouble::Copied | WitnessTrouble::Moved));
        let id = if is_foreign || is_copy { epoch::new_id(to.tables.path())? } else { origin::store_id(to.tables)? };
        set_meta(to.tables, "store_id", &id)?;
        set_meta(to.tables, "seal", &origin::creator_seal(&key, &id))?;
        let mark_name = mark_name(to.tables, &key, &to.opening.path);
        to.tables.execute("DELETE FROM meta WHERE key IN ('parked', ?)", [&mark_name])?;
        if let Some(home) = home_seal(to.tables, &key).map_err(failed)? {
            set_meta(to.tables, HOME, &home)?;
        }
        let counts = AdoptionCounts { returned, ..counts };
        let details = json!({
            "store": id, "why": trouble.as_ref().map(ToString::to_string), "learned": counts.learned,
            "doubted": counts.doubted, "returned": counts.returned,
        });
        let (project, actor) = (&to.opening.project, &self.actor);
        StoreEvent { project, actor, at, what: "adopted", details }.write(to.tables)?;
        if to.epoch().is_none() {
            epochs::begin_epoch(to, at)?;
        }
        let effects = all_effects(to.tables, &sighting, &recorded, at)?;
        if !effects.is_empty() || !matches!(sighting, WitnessSighting::Absent) {
            let mark = renew_witness(&to.opening.path, &key, &WitnessOwner { store: &id, at }, effects.values())?;
            set_meta(to.tables, &mark_name, &mark)?;
        }
        Ok(counts)
    }

    fn afterwards(_: &mut AdoptionCounts, tables: &Tables) {
        // The next opening writes it if this can't.
        _ = origin::note_store_beside(tables);
    }
}

impl Adoption {
    /// Writes down the witness's knowledge and the records don't, and puts in doubt what of it is yet to be here.
    fn take_over(
        &self,
        to: &mut Transaction<'_>,
        sighting: &WitnessSighting,
        recorded: &RecordedEffects,
    ) -> Result<AdoptionCounts, Error> {
        let mut counts = AdoptionCounts::default();
        let effects = sighting.account().into_iter().flat_map(|account| &account.effects);
        for (taken, effect) in effects.filter(|(taken, _)| !recorded.know(taken)) {
            record_witnessed(to.tables, taken, effect, &self.actor)?;
            counts.learned = counts.learned.saturating_add(1);
            if effect.may_have_happened() && self.doubt(to, effect)? {
                counts.doubted = counts.doubted.saturating_add(1);
            }
        }
        Ok(counts)
    }

    /// Makes an action unknown that has not ended here. Whether it was to be performed or decided about.
    fn doubt(&self, to: &mut Transaction<'_>, effect: &WitnessedEffect) -> Result<bool, Error> {
        let Some(action) = open_action(to.tables, &effect.key)? else { return Ok(false) };
        let outcome = effect.outcome.map(|(outcome, _)| outcome.as_str());
        let details = json!({ "witness": { "at": effect.at.0, "outcome": outcome } });
        self.happens(to, action, ActionEvent::Doubt, details)
    }

    /// Has every action that would go by itself or by an earlier yes decided anew. How many.
    fn return_to_people(&self, to: &mut Transaction<'_>) -> Result<u64, Error> {
        let keys: Vec<String> = to.tables.rows(
            "SELECT key FROM actions WHERE state IN ('held', 'approved', 'resend') ORDER BY key",
            [],
            |row| row.get(0),
        )?;
        let mut returned = 0_u64;
        for key in keys {
            let Some(key) = digest_of(&key).map(EffectKey::of_bytes) else { continue };
            let Some(action) = open_action(to.tables, &key)? else { continue };
            let details = json!({ "reasons": ["the records were adopted without a whole witness of what was sent"] });
            let happened = self.happens(to, action, ActionEvent::RequireApproval, details)?;
            returned = returned.saturating_add(u64::from(happened));
        }
        Ok(returned)
    }

    /// Lets something happen to an action. Whether it did.
    fn happens(
        &self,
        to: &mut Transaction<'_>,
        action: OpenAction,
        event: ActionEvent,
        details: serde_json::Value,
    ) -> Result<bool, Error> {
        let by = event.kind().authority();
        let kind = if by == Authority::System { ActorKind::System } else { self.actor.kind };
        let transition = NewTransition {
            key: action.key,
            project: action.project,
            actor: Actor { kind, ..self.actor.clone() },
            at: self.at,
            request: TransitionRequest { event, by, version: action.version, epoch: None },
            // No policy has a say in it.
            policy: PolicyHash([0; 32]),
            window: ReleaseWindow::default(),
            load: TransitionLoad::Nothing,
            details,
        };
        Ok(transition.write(to)?.made().is_ok())
    }
}

/// An action that is unfinished and is not being performed.
struct OpenAction {
    key: EffectKey,
    project: Project,
    version: ActionVersion,
}

fn open_action(tables: &Tables, key: &EffectKey) -> Result<Option<OpenAction>, Error> {
    tables.row(
        "SELECT project, version FROM actions WHERE key = ? \
         AND state IN ('proposed', 'held', 'waiting', 'approved', 'resend')",
        [key.to_string()],
        |row| {
            Ok(OpenAction {
                key: *key,
                project: Project(row.get(0)?),
                version: ActionVersion(stored_count(row.get(1)?)),
            })
        },
    )
}

/// Writes down an effect that the witness knows of, and the claims of what left or may have.
fn record_witnessed(tables: &Tables, taken: &TakenUp, effect: &WitnessedEffect, actor: &Actor) -> Result<(), Error> {
    let outcome = effect.outcome.map_or("intent", |(outcome, _)| outcome.as_str());
    tables.execute(
        "INSERT INTO witnessed (action, version, outcome, at, actor) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (&taken.0, stored_number(taken.1), outcome, effect.at.0, actor.to_string()),
    )?;
    if effect.may_have_happened() {
        for claim in &effect.claims {
            let line = "INSERT INTO witnessed_claims (claim, action) VALUES (?, ?) ON CONFLICT DO NOTHING";
            tables.execute(line, (claim, &taken.0))?;
        }
    }
    Ok(())
}

/// Every effect that records or witness know of. The witness's word about one is the more exact one.
fn all_effects(
    tables: &Tables,
    sighting: &WitnessSighting,
    recorded: &RecordedEffects,
    at: Time,
) -> Result<BTreeMap<TakenUp, WitnessedEffect>, Error> {
    let own =
        recorded_effects(recorded, at).into_iter().map(|effect| ((effect.key.to_string(), effect.version.0), effect));
    let mut effects: BTreeMap<TakenUp, WitnessedEffect> = own.collect();
    for (taken, effect) in sighting.account().into_iter().flat_map(|account| &account.effects) {
        effects.insert(taken.clone(), effect.clone());
    }
    for (taken, effect) in effects.iter_mut().filter(|(_, effect)| effect.claims.is_empty()) {
        let claims = "SELECT claim FROM action_claims WHERE action = ? ORDER BY claim";
        effect.claims = tables.rows(claims, [&taken.0], |row| row.get(0))?;
    }
    Ok(effects)
}
