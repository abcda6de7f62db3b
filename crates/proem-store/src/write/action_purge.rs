//! Deleting the texts of actions that have ended.
//!
//! Invariants: an action that has not ended stays with everything that it needs. Of one that has, key, claims, name,
//! type, state and times stay, so that nothing happens twice and precedents count on.

use std::collections::BTreeMap;

use proem_engine::effect::ActionState;
use proem_engine::run::Time;
use serde_json::json;

use super::amount::{length_as_u64, stored_count};
use super::disposal;
use super::event::StoreEvent;
use crate::error::Error;
use crate::record::{Actor, Project};
use crate::sql::{Company, Tables, Transaction, Write};
use crate::store::Store;

/// The ended actions that lose their texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionPurge {
    /// Of which project. `None` is all.
    pub project: Option<Project>,
    /// Those that ended before.
    pub before: Time,
    /// The actor that asks for it.
    pub actor: Actor,
    /// When it was said.
    pub at: Time,
}

/// The numbers of deleted lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActionPurgeCounts {
    /// How many actions, by the state that they ended in.
    pub actions: BTreeMap<ActionState, u64>,
    /// How many escalations that were decided or withdrawn, with options, decision and words.
    pub escalations: u64,
    /// How many fields in quarantine that a person released or dismissed.
    pub quarantined: u64,
    /// How many contents that nothing refers to any more.
    pub contents: u64,
    /// How many bytes the file became smaller.
    pub bytes: u64,
    /// Whether some of it is still in the store's files, for somebody read them meanwhile.
    pub held: bool,
}

impl ActionPurgeCounts {
    /// Whether nothing was there to delete.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.actions.is_empty() && self.escalations == 0 && self.quarantined == 0
    }
}

/// Tables whose lines go with the action that they belong to, and which of the lines. An approval that was used makes its
/// action a precedent, and holds no text.
const OF_ACTIONS: [(&str, &str); 3] =
    [("transitions", "true"), ("action_approvals", "used IS NULL"), ("action_texts", "true")];

impl Store {
    /// Deletes the texts of actions that ended before a time, with their transitions and unused approvals, and those of
    /// escalations and quarantined fields that were settled before it. Keys and claims stay.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn purge_actions(&self, purge: ActionPurge) -> Result<ActionPurgeCounts, Error> {
        self.write(purge).await
    }
}

impl Write for ActionPurge {
    type Answer = ActionPurgeCounts;
    const NAME: &'static str = "purge-actions";
    const COMPANY: Company = Company::None;

    fn write(&self, to: &mut Transaction<'_>) -> Result<ActionPurgeCounts, Error> {
        let tables = to.tables;
        let at = to.at(self.at);
        let mut purged =
            ActionPurgeCounts { actions: choose_actions_to_purge(tables, self)?, ..ActionPurgeCounts::default() };
        disposal::deleting(tables, || {
            purge_actions(tables, at)?;
            purged.escalations = escalations(tables, self, at)?;
            purged.quarantined = purge_quarantined(tables, self)?;
            Ok(())
        })?;
        tables.script("DROP TABLE purging_actions")?;
        if !purged.is_nothing() {
            purged.contents = disposal::delete_unreferenced(tables)?;
            let project = self.project.as_ref().unwrap_or(&to.opening.project);
            let details = json!({
                "project": self.project, "before": self.before, "actions": purged.actions.values().sum::<u64>(),
                "escalations": purged.escalations, "quarantined": purged.quarantined, "contents": purged.contents,
            });
            StoreEvent { project, actor: &self.actor, at, what: "actions-purged", details }.write(tables)?;
        }
        Ok(purged)
    }

    fn afterwards(purged: &mut ActionPurgeCounts, tables: &Tables) {
        if purged.is_nothing() {
            disposal::spare(tables);
        } else {
            let shrinkage = disposal::shrink_file(tables);
            purged.held = shrinkage.held;
            purged.bytes = shrinkage.bytes;
        }
    }
}

/// Writes down which actions lose their texts, in a table of this connection's. How many, by state.
fn choose_actions_to_purge(tables: &Tables, purge: &ActionPurge) -> Result<BTreeMap<ActionState, u64>, Error> {
    tables.script("CREATE TEMP TABLE purging_actions (action TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL)")?;
    tables.execute(
        "INSERT INTO purging_actions SELECT key, state FROM actions WHERE ended < ?1 AND purged IS NULL \
         AND project = coalesce(?2, project)",
        (purge.before.0, purge.project.as_ref().map(|project| &project.0)),
    )?;
    let counted = tables.rows("SELECT state, count(*) FROM purging_actions GROUP BY state", [], |row| {
        Ok((row.get::<_, String>(0)?, stored_count(row.get(1)?)))
    })?;
    Ok(counted.into_iter().filter_map(|(state, count)| Some((ActionState::parse(&state)?, count))).collect())
}

/// Takes what belongs to the chosen ones, and their texts.
fn purge_actions(tables: &Tables, at: Time) -> Result<(), Error> {
    for (table, which) in OF_ACTIONS {
        let chosen = "action IN (SELECT action FROM purging_actions)";
        tables.script(&format!("DELETE FROM {table} WHERE {which} AND {chosen}"))?;
    }
    tables.execute(
        "UPDATE actions SET target = '', recipient = '', form = NULL, bytes = NULL, decision = 'null', run = NULL, \
         step = NULL, correction = NULL, purged = ? WHERE key IN (SELECT action FROM purging_actions)",
        [at.0],
    )?;
    Ok(())
}

/// Takes what escalations say, unless they are about an action that has not ended. How many.
fn escalations(tables: &Tables, purge: &ActionPurge, at: Time) -> Result<u64, Error> {
    let project = purge.project.as_ref().map(|project| &project.0);
    let chosen = tables.execute(
        "UPDATE escalations SET reason = '', sensitivity = '', purged = ?1 WHERE ended < ?2 AND purged IS NULL \
         AND project = coalesce(?3, project) \
         AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.key = escalations.action AND a.ended IS NULL)",
        (at.0, purge.before.0, project),
    )?;
    for table in ["escalation_options", "decisions"] {
        tables.script(&format!(
            "DELETE FROM {table} WHERE (project, escalation) IN \
             (SELECT project, id FROM escalations WHERE purged IS NOT NULL)"
        ))?;
    }
    Ok(length_as_u64(chosen))
}

/// Takes the texts of fields that a person released or dismissed, and who sent them. How many.
fn purge_quarantined(tables: &Tables, purge: &ActionPurge) -> Result<u64, Error> {
    let chosen = tables.execute(
        "UPDATE quarantined SET text = NULL, findings = '[]', sender = '' WHERE settled < ?1 AND text IS NOT NULL \
         AND project = coalesce(?2, project)",
        (purge.before.0, purge.project.as_ref().map(|project| &project.0)),
    )?;
    Ok(length_as_u64(chosen))
}
