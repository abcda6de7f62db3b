//! Deletes runs with all that belongs to them: those that are named, or those that started before a time.

use proem_engine::run::Time;
use proem_runtime::Environment;
use proem_store::query::{RunRow, RunScope, RunsWanted};
use proem_store::record::RunId;
use proem_store::{Purge, PurgeCounts, Store, StoreAccess};

use super::find_run;
use crate::error::Error;
use crate::operator::Operator;
use crate::project::OpenProject;
use crate::records::Whose;
use crate::{records, when};

/// Records that runs are deleted from.
#[derive(Debug)]
pub struct Purging<'p> {
    store: Store,
    project: &'p OpenProject,
    whose: Whose,
    before: Time,
    purge: Purge,
}

/// The runs that started before a time.
#[derive(Debug, Clone)]
pub struct Before {
    /// They, the newest first.
    pub runs: Vec<RunRow>,
    /// How many runs there are of any time.
    pub all: usize,
}

impl<'p> Purging<'p> {
    /// Opens the records. Without a time, it covers everything started by now: a run that starts while the person is
    /// asked was not part of the question.
    ///
    /// # Errors
    ///
    /// If the time is none, or the records can't be opened.
    pub async fn begin(project: &'p OpenProject, whose: Whose, before: Option<&str>) -> Result<Self, Error> {
        let zone = records::booking_zone(&project.config.budget)?;
        let at = when::time_now();
        let before = before.map_or(Ok(at), |before| when::since(before, at, &zone))?;
        let store = records::open_records(project, StoreAccess::Write).await?.store;
        let actor = records::actor(&Environment::inherited(), project.places.channel);
        let purge = Purge { project: whose.owner(project), before: None, runs: Vec::new(), actor, at };
        Ok(Self { store, project, whose, before, purge })
    }

    /// The runs that would be deleted by their time.
    ///
    /// # Errors
    ///
    /// If they can't be read.
    pub async fn found(&self) -> Result<Before, Error> {
        let project = self.whose.owner(self.project);
        let mut runs = self.store.runs(&RunsWanted { project, ..RunsWanted::default() }).await?;
        let all = runs.len();
        runs.retain(|run| run.started < self.before);
        Ok(Before { runs, all })
    }

    /// Deletes the runs that started before the time, which a person was shown.
    ///
    /// # Errors
    ///
    /// If they can't be deleted.
    pub async fn started_before(&self, operator: &Operator) -> Result<PurgeCounts, Error> {
        let actor = operator.actor().clone();
        let purge = Purge { before: Some(self.before), actor, ..self.purge.clone() };
        Ok(self.store.purge(purge).await?)
    }

    /// Deletes the runs whose ids begin like these, and says how many they are. One that is named may be another
    /// project's.
    ///
    /// # Errors
    ///
    /// If there is no such run, or they can't be deleted.
    pub async fn named(&self, names: &[String]) -> Result<(PurgeCounts, usize), Error> {
        // To the store no names are no condition.
        if names.is_empty() {
            return Ok((PurgeCounts::default(), 0));
        }
        let mut runs: Vec<RunId> = Vec::new();
        for name in names {
            let id = find_run(&self.store, self.project, name, self.whose, RunScope::Acted).await?;
            if !runs.contains(&id) {
                runs.push(id);
            }
        }
        let named = runs.len();
        let purge = Purge { project: None, runs, ..self.purge.clone() };
        Ok((self.store.purge(purge).await?, named))
    }

    /// Closes the records.
    pub async fn end(self) {
        self.store.close().await;
    }
}
