//! Recorded runs as documents for programs.
//!
//! Ids are given in full, times as RFC 3339, and an unknown figure is null.

use proem_engine::run::Time;
use proem_store::query::{AttemptRow, CallRow, RunDetail, RunRow, RunState};
use proem_store::record::{CallState, Replayable, SectionRow};
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json as document};

use super::TextsByHash;
use super::diff::run_call::call_prompt_name;
use crate::when;

/// A run in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunSummary {
    #[serde(flatten)]
    identity: RunIdentity,
    #[serde(flatten)]
    prompt: RunPrompt,
    #[serde(flatten)]
    asked: RunEndpoint,
    #[serde(flatten)]
    course: RunCourse,
    #[serde(flatten)]
    usage: RunUsage,
    /// Sums and counts, by name.
    #[schemars(with = "std::collections::BTreeMap<String, Json>")]
    numbers: Json,
}

/// A run among the others.
#[derive(Debug, Serialize, JsonSchema)]
struct RunIdentity {
    /// Its id, by which commands name it.
    id: String,
    /// The project whose records it is in.
    project: String,
    /// The actor that started it.
    actor: String,
    /// `prompt`, `assemble` or an agent's name.
    kind: String,
    /// The run that it is a fork of.
    parent: Option<String>,
}

/// The prompt of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct RunPrompt {
    /// The prompt, as `agent/name`.
    prompt: String,
    /// The prompt's version.
    version: String,
    /// The hash of everything that the prompt was made of.
    closure: String,
}

/// The model that a run asks.
#[derive(Debug, Serialize, JsonSchema)]
struct RunEndpoint {
    /// The role that was asked for.
    role: String,
    /// The model behind the role.
    model: String,
    /// The endpoint that was asked.
    endpoint: String,
    /// The line of a batch.
    line: Option<u32>,
}

/// The state of a run, and its times.
#[derive(Debug, Serialize, JsonSchema)]
struct RunCourse {
    /// When it started.
    started: String,
    /// When it ended.
    ended: Option<String>,
    /// `running`, `asking`, `interrupted` or `ended`.
    state: &'static str,
    /// How it ended: `answered`, `fell-back`, `failed`, `refused` or `assembled`.
    outcome: Option<&'static str>,
}

/// The tokens and the cost of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunUsage {
    /// The tokens of its prompts, cached ones included.
    input_tokens: Option<u64>,
    /// Those of them that were read from the cache.
    cache_read_tokens: Option<u64>,
    /// The tokens of its answers.
    output_tokens: Option<u64>,
    /// The cost of all its attempts, in thousand-millionths of a dollar.
    cost_nano_dollars: Option<u64>,
}

impl RunSummary {
    /// The document of a run.
    #[must_use]
    pub fn new(row: &RunRow) -> Self {
        let (state, outcome) = match row.state {
            RunState::Running => ("running", None),
            RunState::Asking => ("asking", None),
            RunState::Interrupted => ("interrupted", None),
            RunState::Ended(outcome) => ("ended", Some(outcome.as_str())),
        };
        Self {
            identity: RunIdentity {
                id: row.id.0.clone(),
                project: row.project.0.clone(),
                actor: row.actor.clone(),
                kind: row.kind.clone(),
                parent: row.parent.as_ref().map(|parent| parent.0.clone()),
            },
            prompt: RunPrompt {
                prompt: format!("{}/{}", row.prompt.agent, row.prompt.name),
                version: row.prompt.version.clone(),
                closure: row.prompt.closure.clone(),
            },
            asked: RunEndpoint {
                role: row.role.clone(),
                model: row.model.clone(),
                endpoint: row.endpoint.clone(),
                line: row.line,
            },
            course: RunCourse {
                started: when::rfc3339(row.started),
                ended: row.ended.map(when::rfc3339),
                state,
                outcome,
            },
            usage: RunUsage {
                input_tokens: row.input_tokens,
                cache_read_tokens: row.cache_read_tokens,
                output_tokens: row.output_tokens,
                cost_nano_dollars: row.cost.map(|cost| cost.0),
            },
            numbers: document!(row.numbers),
        }
    }
}

/// A run with its calls, without the texts that were sent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunOverview {
    /// The run itself.
    run: RunSummary,
    /// Its value, if that is kept: a model's answer, or the prompt's fallback.
    value: Option<Json>,
    /// Whether it can be made anew from its records.
    replayable: bool,
    /// Why it can't.
    not_replayable: Option<String>,
    /// Its calls to models, in their order.
    calls: Vec<CallOverview>,
}

/// A call to a model: its prompt, and who was asked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallIdentity {
    /// Its place among the run's calls, from 0.
    call: usize,
    /// When it was made.
    at: String,
    /// Its prompt, as `agent/name`.
    prompt: String,
    /// The prompt's version.
    version: String,
    /// The model that was asked.
    model: String,
    /// The endpoint that was asked.
    endpoint: String,
}

/// A call to a model.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallOverview {
    #[serde(flatten)]
    identity: CallIdentity,
    /// How far it is. Null for a call that was never sent.
    #[schemars(with = "Option<String>")]
    state: Option<CallState>,
    /// Why the model stopped.
    finish: Option<String>,
    /// The request's tokens, by our count.
    tokens: u64,
    /// Those of them in front of the last boundary of the cache.
    stable_tokens: u64,
    /// The sections of the request, in its order.
    sections: Vec<SectionOverview>,
    /// The attempts, in their order.
    attempts: Vec<AttemptOverview>,
}

/// A section of a request, without its text.
#[derive(Debug, Serialize, JsonSchema)]
struct SectionOverview {
    /// As the prompt file names it.
    name: String,
    /// `system` or `user`.
    role: String,
    /// `constitution`, `rules`, `trusted`, `untrusted` or `task`.
    trust: String,
    /// The sources of its text from outside. Null if there are too many to name.
    sources: Option<Vec<String>>,
    /// Its tokens, by our count.
    tokens: u64,
    /// The hash of its text.
    hash: String,
    /// Whether a boundary of the cache is behind it.
    boundary: bool,
}

/// An attempt at a call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AttemptOverview {
    /// Its number, from 1.
    attempt: u32,
    /// When it was made.
    at: String,
    /// How far it is.
    state: String,
    /// The status of the provider's answer.
    status: Option<u16>,
    /// Why it failed.
    failed: Option<String>,
    /// How long it took, in milliseconds.
    took_ms: u64,
    /// The amount booked for it, in thousand-millionths of a dollar.
    booked_nano_dollars: Option<u64>,
}

impl RunOverview {
    /// The document of a run. `texts` has the run's value, if that is kept.
    #[must_use]
    pub fn new(run: &RunDetail, texts: &TextsByHash) -> Self {
        let not_replayable = match &run.replayable {
            Replayable::Yes => None,
            Replayable::No(why) => Some(why.clone()),
        };
        Self {
            run: RunSummary::new(&run.row),
            value: run.value.as_deref().and_then(|hash| texts.json(hash)),
            replayable: not_replayable.is_none(),
            not_replayable,
            calls: run.calls.iter().enumerate().map(|(number, call)| CallOverview::new(number, call)).collect(),
        }
    }

    /// The same document with how many calls there are, and none of them.
    pub fn leave_out_calls(&mut self) {
        self.calls.clear();
    }

    /// Leaves the value out if its JSON has more bytes than that. How many it has, if so.
    pub fn leave_out_long_value(&mut self, most: usize) -> Option<usize> {
        let bytes = self.value.as_ref().map(|value| json::compact(value).len()).filter(|bytes| *bytes > most)?;
        self.value = None;
        Some(bytes)
    }
}

impl CallIdentity {
    /// The identity of the call of that number, made at `at`.
    pub(crate) fn new(number: usize, call: &CallRow, at: Time) -> Self {
        Self {
            call: number,
            at: when::rfc3339(at),
            prompt: call_prompt_name(call),
            version: call.prompt.version.clone(),
            model: call.model.clone(),
            endpoint: call.endpoint.clone(),
        }
    }
}

impl CallOverview {
    fn new(number: usize, call: &CallRow) -> Self {
        Self {
            identity: CallIdentity::new(number, call, call.at),
            state: (!call.body.is_empty()).then_some(call.state),
            finish: call.finish.clone(),
            tokens: call.tokens,
            stable_tokens: call.stable_tokens,
            sections: call.sections.iter().map(SectionOverview::new).collect(),
            attempts: call.attempts.iter().map(AttemptOverview::new).collect(),
        }
    }
}

impl SectionOverview {
    fn new(section: &SectionRow) -> Self {
        Self {
            name: section.name.clone(),
            role: section.role.clone(),
            trust: section.trust.clone(),
            sources: section.sources.clone(),
            tokens: section.tokens,
            hash: section.text.clone(),
            boundary: section.boundary,
        }
    }
}

impl AttemptOverview {
    fn new(attempt: &AttemptRow) -> Self {
        Self {
            attempt: attempt.attempt,
            at: when::rfc3339(attempt.at),
            state: attempt.state.clone(),
            status: attempt.status,
            failed: attempt.failed.clone(),
            took_ms: attempt.took_ms,
            booked_nano_dollars: attempt.booked.map(|booked| booked.0),
        }
    }
}
