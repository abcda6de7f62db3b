//! Failures that count no more, or again.

use proem_engine::run::Time;
use serde_json::json;

use super::amount::length_as_u64;
use super::event::StoreEvent;
use crate::error::Error;
use crate::record::{Actor, Project};
use crate::sql::{Transaction, Write};
use crate::store::Store;

/// The failures that no longer count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clearing {
    /// Of which project.
    pub project: Project,
    /// Of which agent. `None` is all.
    pub agent: Option<String>,
    /// The way of clearing.
    pub way: ClearingWay,
    /// The actor that asks for it.
    pub actor: Actor,
    /// When it was said.
    pub at: Time,
}

/// The direction of a clearing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearingWay {
    /// They count no more.
    Clear,
    /// Those of the last clearing count again.
    Undo,
}

impl Store {
    /// Clears failures, so that they count no more, or undoes that. Returns how many.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn clear_failures(&self, clearing: Clearing) -> Result<u64, Error> {
        self.write(clearing).await
    }
}

impl Write for Clearing {
    type Answer = u64;
    const NAME: &'static str = "clear";

    fn write(&self, to: &mut Transaction<'_>) -> Result<u64, Error> {
        let (at, project, agent) = (to.at(self.at), &self.project.0, &self.agent);
        let last = "SELECT max(cleared) FROM failures WHERE project = ? AND agent = coalesce(?, agent)";
        let last: Option<i64> = to.tables.row(last, (project, agent), |row| row.get(0))?.flatten();
        let (what, changed) = match self.way {
            ClearingWay::Clear => {
                // Two clearings are never at the same time, so that each can be undone alone.
                let when = at.0.max(last.map_or(i64::MIN, |last| last.saturating_add(1)));
                let clear = "UPDATE failures SET cleared = ? WHERE project = ? AND agent = coalesce(?, agent) \
                             AND cleared IS NULL";
                ("failures-cleared", to.tables.execute(clear, (when, project, agent))?)
            }
            ClearingWay::Undo => {
                let undo = "UPDATE failures SET cleared = NULL WHERE project = ? AND agent = coalesce(?, agent) \
                            AND cleared = ?";
                ("failures-restored", to.tables.execute(undo, (project, agent, last))?)
            }
        };
        let count = length_as_u64(changed);
        let details = json!({ "agent": self.agent, "count": count });
        StoreEvent { project: &self.project, actor: &self.actor, at, what, details }.write(to.tables)?;
        Ok(count)
    }
}
