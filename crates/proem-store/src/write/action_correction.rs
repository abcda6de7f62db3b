//! Executed actions that should not have happened like this.

use proem_engine::effect::ActionState;
use serde_json::json;

use super::credit::{self, CreditChange, ProjectScope};
use super::event::StoreEvent;
use super::{action_standing, person};
use crate::error::Error;
use crate::record::ActionCorrection;
use crate::sql::{Transaction, Write};
use crate::store::Store;

impl Store {
    /// Marks an executed action as one that should not have happened like this. A second mark changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] without such an action, [`Error::Conflict`] if it was not executed or no person says so,
    /// [`Error::Unusable`].
    pub async fn correct_action(&self, correction: ActionCorrection) -> Result<(), Error> {
        self.write(correction).await
    }
}

impl Write for ActionCorrection {
    type Answer = ();
    const NAME: &'static str = "correct-action";

    fn write(&self, to: &mut Transaction<'_>) -> Result<(), Error> {
        person::must_be(&self.actor, "corrects an action")?;
        let found = action_standing::find_action(to.tables, &self.project, &self.key)?;
        let state = found.standing.state;
        if state != ActionState::Executed {
            let why = format!("the action `{}` is `{}`; only an executed one is corrected", self.key, state.as_str());
            return Err(Error::Conflict(why));
        }
        let at = to.at(self.at);
        let marked = to.tables.execute(
            "UPDATE actions SET corrected = ?, correction = ? WHERE key = ? AND corrected IS NULL",
            (at.0, &self.why, self.key.to_string()),
        )?;
        if marked == 0 {
            return Ok(());
        }
        let (project, actor) = (&self.project, &self.actor);
        credit::change_credit(to, &ProjectScope { project, actor, scope: &found.scope }, CreditChange::Loss, at)?;
        let details = json!({ "action": self.key.to_string() });
        StoreEvent { project, actor, at, what: "action-corrected", details }.write(to.tables)
    }
}
