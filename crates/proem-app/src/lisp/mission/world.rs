//! A mission's effects, and the report of its end.

use proem_agents::lisp::turns::record::MissionOutcome;
use proem_engine::call::{NanoDollars, Usage};
use proem_engine::effect::PolicyHash;
use proem_engine::ledger::Pricing;
use proem_engine::run::{Attempt, Effect, EffectId, EffectResult, ExchangeEnd, Outcome};
use proem_runtime::driver::{CallPerformer, Perform};
use proem_runtime::records::{Recording, RunEnd};
use proem_runtime::tools::{ToolPerformer, ToolSet};
use proem_store::record::{Numbers, RunId};
use tokio_util::sync::CancellationToken;

use super::Mission;
use crate::agents::base::run_numbers;
use crate::agents::{EndedRun, RunResult, WorldParts};
use crate::error::Error;
use crate::when;

/// Performs a mission's effects: questions to its model, and calls of its tools.
#[derive(Debug)]
pub(super) struct MissionWorld<'w> {
    calls: &'w CallPerformer<'w>,
    tools: ToolPerformer<'w>,
}

impl<'w> MissionWorld<'w> {
    pub(super) fn new(tools: &'w ToolSet, tied: WorldParts<'w>, policy: PolicyHash) -> Self {
        let tools = ToolPerformer::new(tools, tied.recording, policy).asking(tied.models).calling(tied.agents);
        Self { calls: tied.calls, tools }
    }
}

impl Perform for MissionWorld<'_> {
    async fn perform(&self, id: EffectId, effect: &Effect, stop: &CancellationToken) -> EffectResult {
        match effect {
            Effect::Tool { .. } => self.tools.perform(id, effect, stop).await,
            _ => self.calls.perform(id, effect, stop).await,
        }
    }
}

/// The report of a mission's run.
#[derive(Debug)]
pub struct MissionReport {
    /// Its id, if it is recorded.
    pub run: Option<RunId>,
    /// Failures to record after something was sent, in words.
    pub trouble: Option<String>,
    /// The result of the mission.
    pub outcome: MissionOutcome,
    /// The tokens of all calls, those of tools among them. `None` if a call didn't report them.
    pub usage: Option<Usage>,
    /// The cost of all calls. `None` if it is unknown for one.
    pub cost: Option<NanoDollars>,
    /// The guard's changes to texts that tools asked models with.
    pub noted: Vec<String>,
}

impl MissionReport {
    /// Writes a mission's end to its record, and reports it.
    pub(super) async fn write(
        mission: &Mission,
        ended: EndedRun,
        recording: Option<&Recording<'_>>,
    ) -> Result<RunResult, Error> {
        let EndedRun { end, asked, began, .. } = ended;
        let outcome = end.detail.and_then(|detail| detail.downcast::<MissionOutcome>().ok());
        let outcome = *outcome.ok_or_else(|| Error::bug("the mission failed", "its end is none of a mission"))?;
        let own = end.outcome.attempts.iter();
        let attempts: Vec<Attempt> = own.chain(&asked.attempts).cloned().collect();
        let all = Outcome { ended: end.outcome.ended, attempts };
        let usage = all.usage();
        // Tools may ask other models at other prices, which the ledger alone tells apart.
        let is_priced = asked.attempts.is_empty();
        let cost = match mission.access.asked.priced() {
            Pricing::Free if is_priced => Some(NanoDollars(0)),
            _ if is_priced => all.cost(|usage| mission.access.asked.cost(usage)),
            _ => None,
        };
        if let Some(recording) = recording {
            let counted = run_numbers(&all.attempts.iter().collect::<Vec<_>>(), began);
            let numbers = Numbers { degraded: !matches!(all.ended, ExchangeEnd::Answered { .. }), ..counted };
            let (at, evaluations) = (when::time_now(), end.evaluations);
            recording.finish(RunEnd { at, outcome: all, assembly: None, numbers, evaluations }).await;
        }
        let run = recording.map(|recording| recording.id().clone());
        let trouble = recording.and_then(Recording::trouble);
        let report = Self { run: run.clone(), trouble: trouble.clone(), usage, cost, outcome, noted: asked.noted };
        Ok(RunResult { run, trouble, output: Box::new(report) })
    }
}
