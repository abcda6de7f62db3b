//! Runs whose answers an interrupted process may have recorded: those are taken from its recordings.
//!
//! Invariants: an answer is taken only if the whole exchange was recorded for the same request. Anything else is asked
//! anew.

use std::path::PathBuf;

use proem_engine::ordered_json::OrderedJson;
use proem_engine::run::{ExchangeEnd, FallbackReason};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::message::Note;
use crate::project::OpenProject;
use crate::run::course::FinishedRun;
use crate::run::options::{Carriage, RunOptions};
use crate::run::setting::{OpenRun, RunSetting};

/// A run before anything is asked, with the recordings that come first.
#[derive(Debug)]
pub(super) struct ChosenRun {
    pub(super) options: RunOptions,
    pub(super) setting: RunSetting,
    earlier: Vec<(RunOptions, RunSetting)>,
}

/// The same, whose runs are booked.
#[derive(Debug)]
pub(super) struct ResumedRun {
    run: OpenRun,
    earlier: Vec<OpenRun>,
}

impl ChosenRun {
    /// A run with these options, after the recordings in `earlier` that hold anything.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub(super) fn new(
        options: RunOptions,
        earlier: &[PathBuf],
        mut make: impl FnMut(&RunOptions) -> Result<RunSetting, Error>,
    ) -> Result<Self, Error> {
        let mut settings = Vec::new();
        for folder in earlier.iter().filter(|folder| has_cassettes(folder)) {
            let recorded = RunOptions { carriage: Carriage::Cassettes(folder.clone()), ..options.clone() };
            settings.push((recorded.clone(), make(&recorded)?));
        }
        Ok(Self { setting: make(&options)?, options, earlier: settings })
    }

    pub(super) async fn begin(self, project: &OpenProject, notes: &mut Vec<Note>) -> Result<ResumedRun, Error> {
        let mut earlier = Vec::new();
        for (options, setting) in self.earlier {
            // The recordings are this program's own, and nobody needs to hear of them.
            let mut unheard = Vec::new();
            let booking = setting.book(&options, project, &mut unheard).await?;
            earlier.push(setting.begin(booking, &options, project, &mut unheard).await?);
        }
        let booking = self.setting.book(&self.options, project, notes).await?;
        Ok(ResumedRun { run: self.setting.begin(booking, &self.options, project, notes).await?, earlier })
    }
}

impl ResumedRun {
    pub(super) const fn setting(&self) -> &RunSetting {
        self.run.setting()
    }

    /// Asks with these inputs on that line, unless the answer was recorded.
    ///
    /// # Errors
    ///
    /// Those of [`OpenRun::ask`].
    pub(super) async fn ask(
        &self,
        inputs: &OrderedJson,
        line: u32,
        stop: &CancellationToken,
    ) -> Result<FinishedRun, Error> {
        for recorded in &self.earlier {
            let ran = Box::pin(recorded.ask(inputs, Some(line), stop)).await?;
            if !is_broken_off(&ran.outcome.ended) {
                return Ok(ran);
            }
        }
        // The machine of a run is large, and a search holds several futures around it on one stack.
        Box::pin(self.run.ask(inputs, Some(line), stop)).await
    }

    /// Closes the records, with what there is to say about that.
    pub(super) async fn end(self) -> Vec<Note> {
        for recorded in self.earlier {
            _ = recorded.end().await;
        }
        self.run.end().await
    }
}

/// Whether a recording ends before the exchange did, or the provider failed in it.
const fn is_broken_off(ended: &ExchangeEnd) -> bool {
    matches!(
        ended,
        ExchangeEnd::Failed { because: FallbackReason::Failed(_) }
            | ExchangeEnd::FellBack { because: FallbackReason::Failed(_), .. }
    )
}

fn has_cassettes(folder: &PathBuf) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.filter_map(Result::ok).any(|entry| entry.path().extension().is_some_and(|ending| ending == "json"))
}
