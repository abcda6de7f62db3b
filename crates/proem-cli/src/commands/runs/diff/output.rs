//! The findings about requests, for programs.

use proem_store::query::RunDetail;
use serde_json::{Value as Json, json};

use crate::failure::CommandFailure;
use proem_app::runs::diff::Pair;
use proem_app::runs::diff::output::{RequestPairOutput, RunDiffOutput};

/// Two requests.
pub(super) fn pair_json(pairs: &[Pair<'_>]) -> Result<Json, CommandFailure> {
    match pairs {
        [pair] => Ok(json!(RequestPairOutput::new(pair))),
        _ => Err(CommandFailure::bug("could not write JSON", "there are not exactly two requests")),
    }
}

/// Each call of a run with the one that its cache could have been written by.
pub(super) fn run_pairs_json(run: &RunDetail, pairs: &[Pair<'_>]) -> Json {
    let comparisons = pairs.iter().map(RequestPairOutput::new).collect();
    json!(RunDiffOutput { run: run.row.id.0.clone(), calls: run.calls.len(), comparisons })
}
