//! Events, a line each. Lines are only added.

use proem_engine::run::Time;
use proem_text::json::compact;
use serde_json::Value as Json;

use crate::error::Error;
use crate::record::{Actor, Project, RunId};
use crate::sql::Tables;

/// Something that happened to a run.
pub(super) struct RunEvent<'e> {
    pub(super) run: &'e RunId,
    pub(super) at: Time,
    pub(super) what: &'static str,
    pub(super) details: Json,
}

/// Something that happened and is not about one run.
pub(super) struct StoreEvent<'e> {
    pub(super) project: &'e Project,
    pub(super) actor: &'e Actor,
    pub(super) at: Time,
    pub(super) what: &'static str,
    pub(super) details: Json,
}

impl RunEvent<'_> {
    /// Writes it, as its run's. Nothing if the run is missing.
    pub(super) fn write(&self, tables: &Tables) -> Result<(), Error> {
        let written = tables.execute(
            "INSERT INTO events (at, project, actor, run, what, details) \
             SELECT ?, project, actor, id, ?, ? FROM runs WHERE id = ?",
            (self.at.0, self.what, compact(&self.details), &self.run.0),
        );
        written.map(drop)
    }
}

impl StoreEvent<'_> {
    pub(super) fn write(&self, tables: &Tables) -> Result<(), Error> {
        let written = tables.execute(
            "INSERT INTO events (at, project, actor, what, details) VALUES (?, ?, ?, ?, ?)",
            (self.at.0, &self.project.0, self.actor.to_string(), self.what, compact(&self.details)),
        );
        written.map(drop)
    }
}
