//! The conditions of effects: a person who switches them on, and the record of their events.

use proem_engine::run::Time;
use proem_store::query::TransitionRow;
use proem_store::record::{EffectsPower, EffectsSwitch, Project as Owner};
use proem_store::{ActionPurge, ActionPurgeCounts};

use super::desk::ActionDesk;
use crate::error::Error;
use crate::operator::Operator;
use crate::when;

impl ActionDesk<'_> {
    /// Switches the effects of this project on, for this installation's records alone, or off.
    ///
    /// # Errors
    ///
    /// If they can't be on here, with everything that has to be mended first.
    pub async fn switch_to(&self, operator: &Operator, position: EffectsPower) -> Result<(), Error> {
        let obstacles = self.lasting_obstacles();
        if position == EffectsPower::On && !obstacles.is_empty() {
            let problems: Vec<String> = obstacles.iter().map(|found| format!("effects can't be on: {found}")).collect();
            return Err(Error::negative(problems.join("\n")));
        }
        let (project, actor) = (self.owner.clone(), operator.actor().clone());
        Ok(self.store.switch_effects(EffectsSwitch { project, actor, at: when::time_now(), power: position }).await?)
    }

    /// The transitions of actions, newest first.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn log(&self, most: u64) -> Result<Vec<TransitionRow>, Error> {
        Ok(self.store.transitions(&self.owner, most).await?)
    }

    /// Deletes the texts of this project's actions that ended before a time. Their keys stay, so that none of them
    /// happens again.
    ///
    /// # Errors
    ///
    /// If the records can't be written.
    pub async fn purge(&self, operator: &Operator, before: Time) -> Result<ActionPurgeCounts, Error> {
        let (project, actor): (Option<Owner>, _) = (Some(self.owner.clone()), operator.actor().clone());
        Ok(self.store.purge_actions(ActionPurge { project, before, actor, at: when::time_now() }).await?)
    }
}
