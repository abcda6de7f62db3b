//! Runs of a prompt, as one agent among the others.

use std::time::Duration;

use futures_util::future::BoxFuture;
use proem_agents::prompt_call::PreparedRequest;
use proem_engine::call::NanoDollars;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::run::{Exchange, Outcome};
use proem_runtime::records::{Recording, Start};
use proem_store::record::RunId;
use serde_json::Value as Json;
use tokio::time::Instant;

use super::course::{FinishedRun, outcome_evaluation};
use super::setting::RunSetting;
use super::settings_record::{KIND, RunStart};
use crate::agents::access::ModelAccess;
use crate::agents::record::RunRecord;
use crate::agents::{Agent, AgentEnd, AgentMachine, AgentRun, EndedRun, OutcomeAdapter, ReadBack, RunResult};
use crate::error::Error;
use crate::message::Message;

/// Any prompt of the book, asked until its answer meets its contract.
#[derive(Debug, Clone, Copy)]
pub struct PromptAgent;

impl Agent for PromptAgent {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn prompts(&self) -> &'static [&'static str] {
        &[]
    }

    fn read_back<'r>(&'r self, record: &'r RunRecord<'r>) -> BoxFuture<'r, Result<ReadBack, Message>> {
        Box::pin(async move {
            let mut start = RunStart::read(record).await?;
            let (inputs, changed) = (std::mem::take(&mut start.inputs), start.changed.take());
            let run = PromptRun::new(RunSetting::recorded(start, record.detail)?, inputs)?;
            Ok(ReadBack { run: Box::new(run), changed })
        })
    }
}

/// One run of a prompt.
#[derive(Debug)]
pub struct PromptRun {
    /// The setting to ask with.
    pub setting: RunSetting,
    inputs: OrderedJson,
    request: PreparedRequest,
    /// The time that making the request took.
    took: Duration,
}

impl PromptRun {
    fn new(setting: RunSetting, inputs: OrderedJson) -> Result<Self, Error> {
        let began = Instant::now();
        let request = setting.prepare(&inputs)?;
        Ok(Self { setting, inputs, request, took: began.elapsed() })
    }

    fn told(&self, outcome: Outcome) -> AgentEnd {
        let evaluations = outcome_evaluation(&self.setting.prompt.id, &outcome).into_iter().collect();
        AgentEnd { outcome, evaluations, detail: None }
    }
}

impl AgentRun for PromptRun {
    fn access(&self) -> &ModelAccess {
        &self.setting.access
    }

    fn access_mut(&mut self) -> &mut ModelAccess {
        &mut self.setting.access
    }

    fn start(&self, id: RunId) -> Start<'_> {
        self.setting.start(id, &self.inputs, &self.request)
    }

    fn time(&self) -> Duration {
        self.setting.bounds
    }

    fn most(&self) -> Option<NanoDollars> {
        self.setting.most
    }

    fn machine(&self) -> AgentMachine<'_> {
        let exchange = Exchange::new(self.setting.terms(), self.request.request.clone());
        Box::new(OutcomeAdapter::new(exchange, |outcome| self.told(outcome)))
    }

    fn restore(&self, state: &Json) -> Result<AgentMachine<'_>, proem_engine::Error> {
        let exchange = Exchange::restore(self.setting.terms(), state)?;
        Ok(Box::new(OutcomeAdapter::new(exchange, |outcome| self.told(outcome))))
    }

    fn finish<'r>(
        &'r self,
        ended: EndedRun,
        recording: Option<&'r Recording<'r>>,
    ) -> BoxFuture<'r, Result<RunResult, Error>> {
        Box::pin(async move {
            let EndedRun { end, traces, earlier, began, .. } = ended;
            let mut ran = FinishedRun {
                prepared: self.request.clone(),
                outcome: end.outcome,
                made: traces,
                run: recording.map(|recording| recording.id().clone()),
                trouble: None,
                lost: earlier.lost > 0,
            };
            if let Some(recording) = recording {
                self.setting.write_end(recording, &mut ran, self.took, began).await;
            }
            Ok(RunResult { run: ran.run.clone(), trouble: ran.trouble.clone(), output: Box::new(ran) })
        })
    }
}
