//! Missions read back from their records, gone on with and replayed.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use proem_agents::lisp::parse_agent;
use proem_agents::lisp::turns::TurnsMachine;
use proem_agents::lisp::turns::record::{MissionOutcome, TurnRecord};
use proem_engine::call::NanoDollars;
use proem_engine::contract::AnswerContract;
use proem_engine::run::{Event, Machine as _, Step};
use proem_lisp::{Meter, read_json};
use proem_llm::secret::Secret;
use proem_runtime::driver::ObjectPerform;
use proem_runtime::records::{Recording, Start};
use proem_runtime::tools::{ToolModels, ToolQuestions};
use proem_store::record::{RunCaller, RunId};
use serde::Deserialize as _;
use serde_json::Value as Json;

use super::world::MissionWorld;
use super::{KIND, MadeMission, Mission, MissionReport, MissionSettings, bench_of_today, held_to, passed_labels};
use crate::agents::access::{ContractedPrompt, ModelAccess, RunTerms, lessons_shown};
use crate::agents::basis::{RecordedPrompt, RecordedTexts};
use crate::agents::record::RunRecord;
use crate::agents::{
    Agent, AgentEnd, AgentMachine, AgentRun, EndedRun, OutcomeAdapter, ReadBack, RunResult, Today, WorldParts,
};
use crate::error::Error;
use crate::lisp::children::CalledAgents;
use crate::lisp::files::read_memory_text;
use crate::lisp::recorded_questions::RecordedQuestions;
use crate::lisp::running::{INPUT, MEMORY};
use crate::message::Message;
use crate::records::booking::Booking;
use crate::records::learning::profiles;
use crate::run::course::outcome_evaluation;

/// Agents whose model writes programs.
#[derive(Debug, Clone, Copy)]
pub struct ProgramAgent;

impl Agent for ProgramAgent {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn prompts(&self) -> &'static [&'static str] {
        &["lisp/agent", "lisp/single"]
    }

    fn read_back<'r>(&'r self, record: &'r RunRecord<'r>) -> BoxFuture<'r, Result<ReadBack, Message>> {
        Box::pin(async move {
            let (mission, changed) = read_mission(record).await?;
            Ok(ReadBack { run: Box::new(mission), changed })
        })
    }
}

/// A mission as its record has it, with why this is not what it was made from, if it isn't.
async fn read_mission(record: &RunRecord<'_>) -> Result<(Mission, Option<String>), Message> {
    let detail = record.detail;
    let settings = MissionSettings::deserialize(&detail.settings)
        .map_err(|error| format!("its settings were written by another version of Proem: {error}"))?;
    settings.basis.under(&record.key()?)?;
    let texts = RecordedTexts::read(record.store, detail).await?;
    let text = |name: &str| texts.files.get(name).ok_or_else(|| format!("`{name}` is missing"));
    let file = if texts.files.contains_key("agent.toml") { "agent.toml" } else { "agent.json" };
    let mut definition = parse_agent(file, text(file)?).map_err(|error| error.to_string())?;
    definition.turns = settings.turns;
    definition.passed = passed_labels(&settings.passed);
    settings.described.iter().for_each(|(tool, description)| definition.describe_tool(tool, description));
    let limits = definition.narrow_limits(settings.limits.limits());
    let context = read_json(text(INPUT)?, &mut Meter::new(limits)).map_err(|problem| problem.diagnostic.message)?;
    let memory = read_memory_text(text(MEMORY)?, &limits).map_err(|why| why.to_string())?;
    let RecordedPrompt { prompt, changed } = settings.basis.prompt(&detail.row.prompt, &texts)?;
    let taught = lessons_shown(&prompt, detail);
    let model = settings.basis.model(&detail.row, &texts)?;
    let questions = RecordedQuestions::read(&detail.settings, &definition, &texts, record.places)?;
    let access = ModelAccess::recorded(model, settings.basis.clone(), &texts, settings.arrival, record)?;
    let changed = texts.changed.clone().or(changed);
    let made = MadeMission {
        access,
        asked: ContractedPrompt { prompt, contract: AnswerContract::Text, taught },
        definition: Arc::new(definition),
        context,
        memory,
        limits,
        inputs: texts.inputs,
    };
    Ok((Mission { questions, ..Mission::of(made, settings, record.places)? }, changed))
}

impl Mission {
    fn agent_end(&self, outcome: MissionOutcome) -> AgentEnd {
        let recorded = self.recorded_end(&outcome);
        let evaluations = outcome_evaluation(&self.asked.prompt.id, &recorded).into_iter().collect();
        AgentEnd { outcome: recorded, evaluations, detail: Some(Box::new(outcome)) }
    }
}

impl AgentRun for Mission {
    fn access(&self) -> &ModelAccess {
        &self.access
    }

    fn access_mut(&mut self) -> &mut ModelAccess {
        &mut self.access
    }

    fn start(&self, id: RunId) -> Start<'_> {
        let terms = RunTerms {
            kind: KIND,
            prompt: &self.asked.prompt.id,
            inputs: &self.inputs,
            settings: &self.settings,
            policy: &self.held,
            profiles: profiles([(&self.asked.prompt.id, self.asked.taught.as_ref())]),
        };
        self.access.start(id, terms)
    }

    fn time(&self) -> Duration {
        Duration::from_secs(u64::from(self.definition.turns.mission_seconds))
    }

    fn most(&self) -> Option<NanoDollars> {
        self.most
    }

    fn secrets(&self) -> Vec<Secret> {
        self.bench.as_ref().map(|bench| bench.secrets.clone()).unwrap_or_default()
    }

    fn policy(&self, rules: &str) -> String {
        held_to(rules, self.policy)
    }

    fn machine(&self) -> AgentMachine<'_> {
        Box::new(OutcomeAdapter::new(TurnsMachine::new(self.terms()), |outcome| self.agent_end(outcome)))
    }

    fn restore(&self, state: &Json) -> Result<AgentMachine<'_>, proem_engine::Error> {
        let machine = TurnsMachine::restore(self.terms(), state)?;
        Ok(Box::new(OutcomeAdapter::new(machine, |outcome| self.agent_end(outcome))))
    }

    fn renew(&mut self, today: &Today<'_>) -> Result<(), Message> {
        let settings = MissionSettings::deserialize(&self.settings).map_err(|error| error.to_string())?;
        let (policy, bench) = bench_of_today(today.project, &settings.agent)?;
        if policy != self.policy {
            let shown = proem_guard::show::terminal_str(&settings.agent.display().to_string()).into_string();
            return Err(format!("`{shown}`, or what its tools run, is not what it was; start the mission again").into());
        }
        self.access.also = bench.endpoints();
        self.bench = Some(bench);
        Ok(())
    }

    fn recorded_questions(&self) -> Option<ToolQuestions<'_>> {
        self.questions.as_ref().map(RecordedQuestions::of_replay)
    }

    fn starting_call(&self) -> Option<(RunId, RunCaller)> {
        self.call.clone()
    }

    fn called_agents(&self) -> Option<CalledAgents> {
        let agents = self.bench.as_ref().and_then(|bench| bench.agents.clone())?;
        Some(CalledAgents { most: self.most, ..agents })
    }

    fn tool_models<'w>(
        &'w self,
        booking: &Booking,
        recording: Option<&'w Recording<'_>>,
    ) -> Result<Option<ToolModels<'w>>, Error> {
        let models = self.bench.as_ref().and_then(|bench| bench.models.as_ref());
        models.map(|models| models.of_run(booking, recording)).transpose()
    }

    fn world<'w>(&'w self, tied: WorldParts<'w>) -> Result<Box<dyn ObjectPerform + 'w>, Error> {
        let bench = self.bench.as_ref();
        let bench = bench.ok_or_else(|| Error::bug("the mission has no tools", "it was read back alone"))?;
        if let Some(recording) = tied.recording.filter(|_| self.has_hidden) {
            recording.note_hidden();
        }
        Ok(Box::new(MissionWorld::new(&bench.tools, tied, self.policy)))
    }

    fn finish<'r>(
        &'r self,
        ended: EndedRun,
        recording: Option<&'r Recording<'r>>,
    ) -> BoxFuture<'r, Result<RunResult, Error>> {
        Box::pin(MissionReport::write(self, ended, recording))
    }
}

/// The turns of a recorded mission, as far as its record has events: it is gone through again, and nothing is done.
///
/// # Errors
///
/// In words, if it can't be read back.
pub async fn recorded_turns(record: &RunRecord<'_>) -> Result<Vec<TurnRecord>, Message> {
    let (mission, _) = read_mission(record).await?;
    let steps = record.detail.steps.iter().map(|(step, _, hash)| (*step, hash.clone()));
    let hashes: BTreeMap<u32, String> = steps.collect();
    let wanted: Vec<String> = hashes.values().cloned().collect();
    let texts = record.store.contents(&wanted).await.map_err(|error| error.to_string())?;
    let mut machine = TurnsMachine::new(mission.terms());
    for hash in hashes.values() {
        let event = texts.get(hash).and_then(|bytes| serde_json::from_slice::<Event>(bytes).ok());
        let Some(event) = event else { break };
        match machine.step(event) {
            Ok(Step::Done(outcome)) => return Ok(outcome.turns),
            Ok(_) => {}
            // A value that is hidden in the record leads elsewhere than the value itself did.
            Err(_) => break,
        }
    }
    Ok(machine.turns().to_vec())
}

/// A run's mission, if it is one.
#[must_use]
pub fn as_mission(run: &dyn AgentRun) -> Option<&Mission> {
    (run as &dyn Any).downcast_ref()
}
