//! Queries: runs, their parts, spending, statistics, failures. Nothing here writes or takes a lock that keeps a writer
//! waiting.

mod actions;
mod costs;
mod detail;
mod effects;
mod escalations;
mod evidence;
mod experiments;
mod judgements;
mod learning;
mod past;
mod quarantine;
mod queue;
mod run_calls;
mod run_feedback;
mod run_traces;
mod runs;
mod statistics;
mod status;
mod sync;
mod tools;
mod triage;
mod values;
mod version_runs;
mod witness;
mod work;

#[cfg(test)]
mod tests;

pub use self::actions::{ActionApprovalRow, ActionDetail, ActionRow, ActionsWanted, TransitionRow};
pub use self::costs::{CapNow, CostReport, CostsWanted, Estimate, SpendLine, Spender};
pub use self::detail::{ApprovalRow, AttemptRow, CallRow, FeedbackRow, RunDetail};
pub use self::effects::{CreditRow, EffectsStatus, PerformerRow, PerformingMoment, SwitchRow};
pub use self::escalations::{DecisionRow, EscalationRow};
pub use self::evidence::{EvidenceWanted, StoredEvidence};
pub use self::experiments::{ExperimentRow, ExperimentWanted, RunMeasure, VersionWanted};
pub use self::judgements::JudgementRow;
pub use self::learning::{FailureRow, FailureSource};
pub use self::quarantine::{QuarantinedItem, SenderRow};
pub use self::queue::{LineDepth, QueueLine};
pub use self::run_calls::RunCallsBatch;
pub use self::run_feedback::JudgedRow;
pub use self::run_traces::{RunBacklog, RunTrace, RunTracesBatch};
pub use self::runs::{RunPosition, RunRow, RunScope, RunState, RunsWanted};
pub use self::statistics::{CountedFigure, RunGroup, Statistics, StatisticsWanted};
pub use self::status::{EventRow, StatusRow};
pub use self::sync::SyncSourceRow;
pub use self::tools::{ToolCallRow, ToolTally};
pub use self::triage::{ArtefactVersionRow, CycleRow, SignalRow};
pub use self::version_runs::{VersionRunRow, VersionRunsWanted};
pub use self::witness::{RecordKnowledge, WitnessExtent, WitnessList, WitnessListLine};
pub use self::work::{WorkHolder, WorkRow};

use std::path::Path;
use std::sync::Arc;

use self::values::ReadFault;
use crate::Store;
use crate::error::{Error, Unusable};
use crate::sql::{Tables, run_on_file_thread};
use crate::sqlite::Site;

impl Store {
    /// Reads on a connection that nobody else reads from meanwhile, as it was at one moment, and on a thread of its
    /// own: whoever waits for a disk, or for another process, does not keep the caller's other work waiting.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Tables, &Site) -> Result<T, ReadFault> + Send + 'static,
    ) -> Result<T, Error> {
        let site = Arc::clone(&self.site);
        let work = move || {
            site.reading(|reader| {
                reader.at_one_moment(|| read(reader, &site)).map_err(|fault| store_error(reader.path(), fault))
            })
        };
        run_on_file_thread(&self.site.path, work).await
    }
}

/// The error for the caller that a fault represents.
fn store_error(place: &Path, fault: ReadFault) -> Error {
    match fault {
        ReadFault::Missing(what) => Error::NotFound(what),
        ReadFault::Odd(why) => Unusable::Corrupt { path: place.to_owned(), why }.into(),
        ReadFault::Sql(fault) => fault.into_error(place),
    }
}
