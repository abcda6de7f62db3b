//! Carries calls of tools out: commands, servers, those of the Model Context Protocol among them, and recorded results.
//!
//! Invariants: a tool that may change something is called one after the other, in the order of the calls, with a permit
//! that is asked for right before, and only after its intent is recorded; what may have happened is never called again
//! unless its tool is declared idempotent, and then under the same key. Results are JSON in UTF-8, within bounds, and
//! hold no credential that was loaded.

mod attempt_end;
mod command;
mod http;
mod mcp;
mod model;
mod recorded_results;
mod set;

use std::time::Duration;

use futures_util::future::BoxFuture;
use proem_engine::effect::PolicyHash;
use proem_engine::policy::{CallRecords, CallRequest, CallRuling, EffectSwitch, Permit, call_key, decide_call};
use proem_engine::run::{Effect, EffectId, EffectResult, ToolLack, ToolOutcome, ToolPower, ToolUse};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::attempt_end::{Attempt, AttemptEnd, kept_words};
use self::command::call_command;
use self::http::call_server;
use self::model::ask_model;
use self::recorded_results::recorded_result;
use self::set::{ReadyKind, ReadyTool};
use crate::driver::Perform;
use crate::records::{Recording, ToolReport};

pub use self::attempt_end::MAX_RESULT;
pub use self::http::check_http;
pub use self::mcp::{McpServers, server_definitions};
pub use self::model::{AskedModels, ToolModels, ToolQuestions};
pub use self::set::{ToolPlace, ToolSet};

/// How many calls without effects are made at once.
const AT_ONCE: usize = 16;
/// How long it is waited before a call is made again: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// Runs the agents that a run's tools call.
pub trait ChildAgents: core::fmt::Debug + Send + Sync {
    /// Runs an agent to its end, or goes on with the run that this call began before. `effect` is that of the run that
    /// calls. Ends soon after `stop` is cancelled.
    fn call_agent<'c>(
        &'c self,
        effect: EffectId,
        call: &'c ToolUse,
        stop: &'c CancellationToken,
    ) -> BoxFuture<'c, ToolOutcome>;
}

/// Performs the calls of tools of one run.
#[derive(Debug)]
pub struct ToolPerformer<'t> {
    tools: &'t ToolSet,
    recording: Option<&'t Recording<'t>>,
    policy: PolicyHash,
    /// The models that its tools may ask.
    models: Option<&'t ToolModels<'t>>,
    /// Runs the agents that its tools call.
    agents: Option<&'t dyn ChildAgents>,
    at_once: Semaphore,
    /// Held by a call that may change something; who waits gets it in order.
    order: Mutex<()>,
}

impl<'t> ToolPerformer<'t> {
    /// The calls of a run with these tools. `recording` is `None` where none is kept.
    #[must_use]
    pub fn new(tools: &'t ToolSet, recording: Option<&'t Recording<'t>>, policy: PolicyHash) -> Self {
        Self {
            tools,
            recording,
            policy,
            models: None,
            agents: None,
            at_once: Semaphore::new(AT_ONCE),
            order: Mutex::new(()),
        }
    }

    /// The same with models that its tools may ask.
    #[must_use]
    pub const fn asking(mut self, models: Option<&'t ToolModels<'t>>) -> Self {
        self.models = models;
        self
    }

    /// The same with agents that its tools may call.
    #[must_use]
    pub const fn calling(mut self, agents: Option<&'t dyn ChildAgents>) -> Self {
        self.agents = agents;
        self
    }

    /// Whether what these tools do can be looked up later.
    fn records(&self) -> CallRecords {
        match self.recording {
            Some(recording) if recording.keeps_content() => CallRecords::Content,
            _ => CallRecords::Missing,
        }
    }

    async fn call(&self, effect: EffectId, call: &ToolUse, stop: &CancellationToken) -> ToolOutcome {
        let Some(tool) = self.tools.get(&call.tool) else {
            return ToolOutcome::Denied { message: "its definition is gone".to_owned() };
        };
        // By the definition and not by what the run says of it: the narrower holds.
        let call = &ToolUse { power: tool.definition.power.max(call.power), ..call.clone() };
        if call.power == ToolPower::Free {
            let Ok(_room) = self.at_once.acquire().await else {
                return ToolOutcome::failure("the run was given up");
            };
            if stop.is_cancelled() {
                return ToolOutcome::failure("the run was given up");
            }
            return match self.permit(tool, (effect, call), EffectSwitch::On) {
                Ok(permit) => self.attempts(tool, permit, (effect, call), stop).await,
                Err(why) => self.refuse(effect, call, why).await,
            };
        }
        let _turn = self.order.lock().await;
        if stop.is_cancelled() {
            return ToolOutcome::Denied { message: "the run was given up before".to_owned() };
        }
        let switch = match self.recording {
            Some(recording) => recording.effect_switch().await,
            None => EffectSwitch::On,
        };
        let permit = match self.permit(tool, (effect, call), switch) {
            Ok(permit) => permit,
            Err(why) => return self.refuse(effect, call, why).await,
        };
        let Some(recording) = self.recording else {
            return ToolOutcome::Denied { message: "nothing is recorded".to_owned() };
        };
        if let Err(error) = recording.intend_tool(effect, call).await {
            return ToolOutcome::Denied { message: format!("it can't be recorded: {error}") };
        }
        self.attempts(tool, permit, (effect, call), stop).await
    }

    /// Records that a call is not made.
    async fn refuse(&self, effect: EffectId, call: &ToolUse, message: String) -> ToolOutcome {
        let outcome = ToolOutcome::Denied { message };
        if let Some(recording) = self.recording {
            recording
                .refuse_tool(call, &ToolReport { effect, outcome: &outcome, took: Duration::ZERO, attempts: 0 })
                .await;
        }
        outcome
    }

    /// The permit to make the call at this moment. In words, why there is none.
    fn permit(
        &self,
        tool: &ReadyTool,
        (effect, call): (EffectId, &ToolUse),
        switch: EffectSwitch,
    ) -> Result<Permit, String> {
        let run = self.recording.map_or("", |recording| recording.id().0.as_str());
        let request = CallRequest {
            call,
            terms: &tool.definition.terms,
            records: self.records(),
            switch,
            key: call_key(run, call, effect),
            policy: self.policy,
        };
        match decide_call(&request) {
            CallRuling::Permit(permit) => Ok(permit),
            CallRuling::Ask(reasons) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                Err(format!("nobody permitted it: {}", reasons.join("; ")))
            }
            CallRuling::Refusal(reason) => Err(reason.to_string()),
        }
    }

    /// Calls until there is an outcome, and records that. The permit is good for this call and is used up by it.
    async fn attempts(
        &self,
        tool: &ReadyTool,
        permit: Permit,
        (effect, call): (EffectId, &ToolUse),
        stop: &CancellationToken,
    ) -> ToolOutcome {
        let (began, key) = (Instant::now(), permit.key().to_string());
        let (mut attempts, mut pause) = (0_u32, PAUSES.0);
        let outcome = loop {
            attempts = attempts.saturating_add(1);
            let attempt = self.attempt(tool, (effect, call), &key, stop).await;
            let may_repeat = match (&attempt.end, tool.definition.power) {
                (AttemptEnd::Answered(_) | AttemptEnd::Lacking(..) | AttemptEnd::OfAgent(_), _) => false,
                (AttemptEnd::Unbegun(_), _) => true,
                (AttemptEnd::Refused(_) | AttemptEnd::Doubtful(_), power) => power.is_repeatable(),
            };
            if !may_repeat || attempts > tool.definition.retries || stop.is_cancelled() {
                break self.outcome(attempt, call);
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => break self.outcome(attempt, call),
            }
            pause = pause.saturating_mul(2).min(PAUSES.1);
        };
        drop(permit);
        if let Some(recording) = self.recording {
            let report = ToolReport { effect, outcome: &outcome, took: began.elapsed(), attempts };
            recording.end_tool(&report).await;
        }
        outcome
    }

    async fn attempt(
        &self,
        tool: &ReadyTool,
        (effect, call): (EffectId, &ToolUse),
        key: &str,
        stop: &CancellationToken,
    ) -> Attempt {
        match &tool.kind {
            ReadyKind::Command(command) => call_command(command, &tool.definition, call, key, stop).await,
            ReadyKind::Http(server) => call_server(server, &tool.definition, call, key, stop).await,
            ReadyKind::Mcp(mcp) => {
                let limit = Duration::from_secs(tool.definition.timeout_seconds.into());
                self.tools.servers().call(mcp, call, key, (limit, stop)).await
            }
            ReadyKind::Recorded(results) => recorded_result(results, call).into(),
            ReadyKind::Agent => match self.agents {
                Some(agents) => AttemptEnd::OfAgent(agents.call_agent(effect, call, stop).await).into(),
                None => AttemptEnd::Lacking(ToolLack::Model, "no agent can be called here".to_owned()).into(),
            },
            ReadyKind::Model => {
                ask_model(self.models, &tool.definition, (effect, call), self.recording, stop).await.into()
            }
        }
    }

    /// The meaning of the last attempt for the call.
    fn outcome(&self, attempt: Attempt, call: &ToolUse) -> ToolOutcome {
        match attempt.end {
            AttemptEnd::Answered(result) => {
                // A credential that a server or a program echoes reaches no program and no record.
                ToolOutcome::Answered { result: self.tools.without_secrets(result) }
            }
            AttemptEnd::OfAgent(outcome) => outcome,
            AttemptEnd::Lacking(lack, message) => ToolOutcome::Unavailable { lack, message },
            AttemptEnd::Doubtful(message) if call.power != ToolPower::Free => {
                ToolOutcome::Unknown { message, wrote: self.words(attempt.wrote, call) }
            }
            AttemptEnd::Unbegun(message) | AttemptEnd::Refused(message) | AttemptEnd::Doubtful(message) => {
                ToolOutcome::Failed { message, wrote: self.words(attempt.wrote, call) }
            }
        }
    }

    /// A tool's own words about a failure, for the record.
    fn words(&self, wrote: String, call: &ToolUse) -> String {
        // A tool may repeat what it was given, and what is hidden stays so.
        let is_hidden = call.labels.decision.secret || call.labels.arguments.values().any(|label| label.secret);
        // Credentials go first: a part of one would not be found.
        if is_hidden { String::new() } else { kept_words(&self.tools.without_secrets(wrote)) }
    }
}

impl Perform for ToolPerformer<'_> {
    async fn perform(&self, id: EffectId, effect: &Effect, stop: &CancellationToken) -> EffectResult {
        let outcome = match effect {
            Effect::Tool { call } => self.call(id, call, stop).await,
            _ => ToolOutcome::Denied { message: "a program asks for calls of tools only".to_owned() },
        };
        EffectResult::Tool { outcome }
    }
}

#[cfg(test)]
mod tests;
