//! The performer of a project's effects: the epoch in force.

use proem_engine::effect::PerformerEpoch;

use super::amount::{stored_count, stored_number};
use crate::error::Error;
use crate::failpoint;
use crate::record::{PerformerClaim, Project};
use crate::sql::{Tables, Transaction, Write};
use crate::store::Store;

impl Store {
    /// Begins the life of a performer. From the commit on, its epoch is in force and every earlier one is over. The
    /// caller holds the performer's lock.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn take_epoch(&self, claim: PerformerClaim) -> Result<PerformerEpoch, Error> {
        failpoint::beside("before", "epoch");
        let epoch = self.write(claim).await?;
        failpoint::beside("after", "epoch");
        Ok(epoch)
    }
}

impl Write for PerformerClaim {
    type Answer = PerformerEpoch;
    const NAME: &'static str = "take-epoch";

    fn write(&self, to: &mut Transaction<'_>) -> Result<PerformerEpoch, Error> {
        let at = to.at(self.at);
        let epoch = PerformerEpoch(performer_in_force(to.tables, &self.project)?.0.saturating_add(1));
        to.tables.execute(
            "INSERT INTO performers (project, epoch, actor, at, process) VALUES (?, ?, ?, ?, ?)",
            (&self.project.0, stored_number(epoch.0), self.actor.to_string(), at.0, &self.process),
        )?;
        Ok(epoch)
    }
}

/// The epoch in force; 0, which is nobody's, before the first.
pub(super) fn performer_in_force(tables: &Tables, project: &Project) -> Result<PerformerEpoch, Error> {
    let last: Option<Option<i64>> =
        tables.row("SELECT max(epoch) FROM performers WHERE project = ?", [&project.0], |row| row.get(0))?;
    Ok(PerformerEpoch(last.flatten().map_or(0, stored_count)))
}
