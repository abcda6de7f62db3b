//! Whether a project's effects are on.

use serde_json::json;

use super::event::StoreEvent;
use super::person;
use crate::error::Error;
use crate::record::{EffectsSwitch, Project};
use crate::sql::{Tables, Transaction, Write};
use crate::sqlite::origin;
use crate::store::Store;

impl Store {
    /// Switches a project's effects on, for this store's id alone, or off. Only an operator may.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] unless a person does it, [`Error::Unusable`].
    pub async fn switch_effects(&self, switch: EffectsSwitch) -> Result<(), Error> {
        self.write(switch).await
    }
}

impl Write for EffectsSwitch {
    type Answer = ();
    const NAME: &'static str = "switch-effects";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        person::must_be(&self.actor, "switches effects on or off")?;
        let (at, store) = (to.at(self.at), origin::store_id(to.tables)?);
        to.tables.execute(
            "INSERT INTO effects_state (project, store, actor, at, state) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (project) DO UPDATE SET store = excluded.store, actor = excluded.actor, at = excluded.at, \
             state = excluded.state",
            (&self.project.0, &store, self.actor.to_string(), at.0, self.power.as_str()),
        )?;
        let details = json!({ "state": self.power.as_str(), "store": store });
        StoreEvent { project: &self.project, actor: &self.actor, at, what: "effects-switched", details }
            .write(to.tables)
    }
}

/// Whether they are on, for this store.
pub(super) fn are_effects_on(tables: &Tables, project: &Project) -> Result<bool, Error> {
    let on = tables.row(
        "SELECT 1 FROM effects_state e JOIN meta m ON m.key = 'store_id' AND m.value = e.store \
         WHERE e.project = ? AND e.state = 'on'",
        [&project.0],
        |_| Ok(()),
    )?;
    Ok(on.is_some())
}
