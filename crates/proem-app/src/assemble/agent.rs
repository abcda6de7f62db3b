//! Assemblies, as one agent among the others: their runs are shown and judged, but not made anew.

use futures_util::future::BoxFuture;
use proem_runtime::records::ASSEMBLED_ONLY;
use proem_store::record::RunOutcome;

use super::{KIND, PROMPT};
use crate::agents::record::RunRecord;
use crate::agents::{Agent, ReadBack};
use crate::message::Message;

/// Why the request of an assembly that was sent is not made anew.
const SENT: &str = "its prompt was made of a folder as it was then, which is not recorded; its bytes are";

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
        matches!(ended, RunOutcome::Assembled | RunOutcome::Answered)
    }

    fn read_back<'r>(&'r self, record: &'r RunRecord<'r>) -> BoxFuture<'r, Result<ReadBack, Message>> {
        let is_sent = record.detail.calls.iter().any(|call| !call.attempts.is_empty());
        Box::pin(async move { Err(if is_sent { SENT.into() } else { ASSEMBLED_ONLY.into() }) })
    }
}
