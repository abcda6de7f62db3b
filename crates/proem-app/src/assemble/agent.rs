//! Assemblies, as one agent among the others: their runs are shown and judged, but they ask nobody.

use futures_util::future::BoxFuture;
use proem_runtime::records::ASSEMBLED_ONLY;
use proem_store::record::RunOutcome;

use super::{KIND, PROMPT};
use crate::agents::record::RunRecord;
use crate::agents::{Agent, ReadBack};
use crate::message::Message;

/// The prompt for a task in a repository.
#[derive(Debug, Clone, Copy)]
pub struct AssembleAgent;

impl Agent for AssembleAgent {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn prompts(&self) -> &'static [&'static str] {
        &[PROMPT]
    }

    /// The prompt is the result.
    fn is_result(&self, ended: RunOutcome) -> bool {
        ended == RunOutcome::Assembled
    }

    fn read_back<'r>(&'r self, _: &'r RunRecord<'r>) -> BoxFuture<'r, Result<ReadBack, Message>> {
        Box::pin(async { Err(ASSEMBLED_ONLY.into()) })
    }
}
