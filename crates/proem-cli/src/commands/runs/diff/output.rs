//! The findings about requests, for programs.

use proem_app::runs::diff::Pair;
use proem_app::runs::diff::output::{RequestPairOutput, RunDiffOutput};
use proem_store::query::RunDetail;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::CommandFailure;

/// The difference of two requests, or of each of a run's requests and an earlier one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RunsDiffOutput {
    /// Two requests.
    Requests(Box<RequestPairOutput>),
    /// The requests of a run.
    Run(RunDiffOutput),
}

impl RunsDiffOutput {
    /// Two requests.
    pub(super) fn of_pair(pairs: &[Pair<'_>]) -> Result<Self, CommandFailure> {
        match pairs {
            [pair] => Ok(Self::Requests(Box::new(RequestPairOutput::new(pair)))),
            _ => Err(CommandFailure::bug("could not write JSON", "there are not exactly two requests")),
        }
    }

    /// Each call of a run with the one that its cache could have been written by.
    pub(super) fn of_run(run: &RunDetail, pairs: &[Pair<'_>]) -> Self {
        let comparisons = pairs.iter().map(RequestPairOutput::new).collect();
        Self::Run(RunDiffOutput { run: run.row.id.0.clone(), calls: run.calls.len(), comparisons })
    }
}
