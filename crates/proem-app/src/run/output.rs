//! The account of a run for a program, also on each line of a batch's results.

use proem_agents::adapt::Lessons;
use proem_engine::call::{FailureKind, FinishReason, Usage};
use proem_engine::decode::PlacedRepair;
use proem_engine::message::Role;
use proem_engine::profile::{Adaptation, Profile, ProfileRule, Signals};
use proem_engine::report::{MediaReport, Report, SectionState};
use proem_engine::run::{Attempt, BrokenRule, ExchangeEnd, FallbackReason};
use proem_engine::section::Trust;
use proem_guard::show;
use proem_llm::projection::Omission;
use proem_runtime::driver::CallTrace;
use proem_text::{Label, Sources};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::course::FinishedRun;
use super::setting::RunSetting;
use crate::records::learning::PromptLessons;

/// One run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Output")]
pub struct RunOutput {
    /// The line of the batch that its inputs were on, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// SHA-256 of its inputs in canonical JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_hash: Option<String>,
    /// The prompt, as in `reviews/triage`.
    prompt: String,
    version: String,
    /// SHA-256 of its file with partials and schemas.
    closure: String,
    /// The model that was asked.
    model: String,
    /// The endpoint that was asked, by its name in configuration.
    provider: String,
    /// How it ended.
    outcome: RunOutcomeWord,
    /// Whether the value is not a model's.
    degraded: bool,
    /// Why there is no value of the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<FallbackReason>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The value. A text where the prompt has no contract. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
    /// The origin of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<LabelOut>,
    /// Everything that was asked.
    attempts: Vec<AttemptOut>,
    /// The usage of all attempts. Absent if one of them didn't report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// Their cost, in billionths of a dollar. Absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_nano_dollars: Option<u64>,
    /// The forecast of the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<String>,
    /// The tokens of the prompt, as they were counted before the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_tokens: Option<usize>,
    /// Why nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The parts that limits kept out of the request, one sentence for each section that is shortened or absent.
    cut: Vec<String>,
    /// The prompt's sections in order, with what the request holds of each. Empty where nothing was asked.
    sections: Vec<SectionOut>,
    /// Texts of the input that did not go in as they were.
    guard: Vec<String>,
    /// Its id. Absent if it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// Whether it is recorded, to its end.
    recorded: bool,
    /// The lessons and wishes that the prompt showed. Absent in a batch, and if it showed none.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileOut>,
    /// The learned part of them, and its sources. Absent in a batch, and if nothing was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    learned: Option<Lessons>,
}

/// The lessons and wishes that a prompt showed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProfileOut {
    #[serde(flatten)]
    shown: Profile,
    /// The rules that added something, in order.
    rules: Vec<ProfileRule>,
    /// The signals behind them.
    signals: Signals,
}

impl From<&Adaptation> for ProfileOut {
    fn from(adapted: &Adaptation) -> Self {
        // The rules and signals are beside it.
        let shown = Profile { grounds: Vec::new(), ..adapted.profile.clone() };
        Self { shown, rules: adapted.rules.clone(), signals: adapted.signals.clone() }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Word")]
pub(super) enum RunOutcomeWord {
    /// With the model's value.
    Answered,
    /// With the prompt's own value.
    FellBack,
    /// With none.
    Failed,
}

/// The origin of a value.
#[derive(Debug, Serialize, JsonSchema)]
struct LabelOut {
    /// Whether no untrusted source had a part in the request.
    trusted: bool,
    /// The untrusted sources. Absent if there are too many to name.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<String>>,
}

impl From<&Label> for LabelOut {
    fn from(label: &Label) -> Self {
        let sources = match label.sources() {
            Sources::Named(named) => Some(named.iter().map(|source| source.as_str().to_owned()).collect()),
            Sources::Many => None,
        };
        Self { trusted: label.is_trusted(), sources }
    }
}

/// A section in a request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SectionOut {
    /// Its name in the prompt file. `history/N` of the turns of a history.
    name: String,
    role: Role,
    trust: Trust,
    state: SectionState,
    /// Its tokens in the request.
    tokens: usize,
    /// Its tokens before anything was cut.
    full_tokens: usize,
    /// The pictures and files that it brings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<MediaReport>,
}

fn sections_of(report: &Report) -> Vec<SectionOut> {
    let out = report.sections.iter().map(|section| SectionOut {
        name: section.name.clone(),
        role: section.role,
        trust: section.trust,
        state: section.state,
        tokens: section.tokens,
        full_tokens: section.full_tokens,
        media: section.media.clone(),
    });
    out.collect()
}

/// One attempt.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AttemptOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    finish: Option<FinishReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// The repairs of the answer.
    repairs: Vec<PlacedRepair>,
    /// The problems of the answer.
    problems: Vec<BrokenRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureOut>,
    /// The items that were not sent to the provider.
    dropped: Vec<DroppedOut>,
    /// The wire traffic.
    wire: Vec<SentOut>,
}

/// A call that failed.
#[derive(Debug, Serialize, JsonSchema)]
struct FailureOut {
    kind: FailureKind,
    /// In our words.
    message: String,
    /// In the provider's, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<Json>,
}

/// An item that a provider did not get.
#[derive(Debug, Serialize, JsonSchema)]
struct DroppedOut {
    path: String,
    why: String,
}

impl From<&Omission> for DroppedOut {
    fn from(dropped: &Omission) -> Self {
        Self { path: dropped.path.clone(), why: dropped.why.clone() }
    }
}

/// One request on the wire.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SentOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailureKind>,
    /// The bytes of the answer that were read.
    bytes: usize,
    waited_ms: u64,
    took_ms: u64,
}

/// Which line of a batch a run was.
#[derive(Debug, Clone)]
pub struct BatchLine {
    /// Its number, from 1.
    pub number: u32,
    /// SHA-256 of its inputs in canonical JSON.
    pub input_hash: String,
}

impl RunOutput {
    /// The account of a run, on that line of a batch.
    #[must_use]
    pub fn new(setting: &RunSetting, ran: &FinishedRun, line: Option<&BatchLine>) -> Self {
        let id = &ran.prepared.request.assembly.prompt;
        let taught = setting.taught.as_ref().filter(|_| line.is_none());
        let (outcome, value, label, because) = match &ran.outcome.ended {
            ExchangeEnd::Answered { value } => {
                (RunOutcomeWord::Answered, Some(show::exact_value(value)), Some(value.label().into()), None)
            }
            ExchangeEnd::FellBack { value, because } => {
                (RunOutcomeWord::FellBack, Some(value.clone()), Some((&Label::trusted()).into()), Some(*because))
            }
            ExchangeEnd::Failed { because } => (RunOutcomeWord::Failed, None, None, Some(*because)),
        };
        Self {
            line: line.map(|line| line.number),
            input_hash: line.map(|line| line.input_hash.clone()),
            prompt: format!("{}/{}", id.agent, id.name),
            version: id.version.clone(),
            closure: id.closure.clone(),
            model: setting.access.asked.model.name.clone(),
            provider: setting.access.asked.endpoint.name.clone(),
            outcome,
            degraded: outcome != RunOutcomeWord::Answered,
            because,
            why: because.map(FallbackReason::in_words),
            value,
            label,
            attempts: ran.outcome.attempts.iter().map(|attempt| attempt_out(attempt, &ran.made)).collect(),
            usage: ran.outcome.usage(),
            cost_nano_dollars: setting.cost(ran).map(|cost| cost.0),
            cache: Some(ran.prepared.plan.sentence()),
            counted_tokens: Some(ran.prepared.plan.total_tokens),
            error: None,
            cut: ran.prepared.report.cuts(),
            sections: sections_of(&ran.prepared.report),
            guard: ran.prepared.noted.iter().map(proem_agents::screen::ScreeningNote::in_words).collect(),
            run: ran.run.as_ref().map(ToString::to_string),
            recorded: ran.run.is_some() && ran.trouble.is_none(),
            profile: taught.and_then(PromptLessons::shown).map(Into::into),
            learned: taught.and_then(|taught| taught.lessons.clone()),
        }
    }
}

impl RunOutput {
    /// A line of a batch with which nothing could be asked.
    #[must_use]
    pub(super) fn unasked(setting: &RunSetting, line: &BatchLine, error: String) -> Self {
        let id = &setting.prompt.id;
        Self {
            line: Some(line.number),
            input_hash: Some(line.input_hash.clone()),
            prompt: format!("{}/{}", id.agent, id.name),
            version: id.version.clone(),
            closure: id.closure.clone(),
            model: setting.access.asked.model.name.clone(),
            provider: setting.access.asked.endpoint.name.clone(),
            outcome: RunOutcomeWord::Failed,
            degraded: true,
            because: None,
            why: None,
            value: None,
            label: None,
            attempts: Vec::new(),
            usage: None,
            cost_nano_dollars: None,
            cache: None,
            counted_tokens: None,
            error: Some(error),
            cut: Vec::new(),
            sections: Vec::new(),
            guard: Vec::new(),
            run: None,
            recorded: false,
            profile: None,
            learned: None,
        }
    }
}

fn attempt_out(attempt: &Attempt, made: &[CallTrace]) -> AttemptOut {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let made = made.iter().find(|made| made.effect == attempt.effect);
    AttemptOut {
        finish: attempt.response.as_ref().map(|response| response.finish),
        usage: attempt.usage.clone(),
        repairs: attempt.repairs.clone(),
        problems: attempt.problems.clone(),
        failure: attempt.failure.as_ref().map(|failure| FailureOut {
            kind: failure.kind,
            message: failure.message.clone(),
            said: failure.said.as_ref().map(show::exact_json),
        }),
        dropped: made.map(|made| made.dropped.iter().map(Into::into).collect()).unwrap_or_default(),
        wire: made
            .into_iter()
            .flat_map(|made| &made.attempts)
            .map(|sent| SentOut {
                status: sent.status,
                failed: sent.failed,
                bytes: sent.bytes,
                waited_ms: millis(sent.waited),
                took_ms: millis(sent.took),
            })
            .collect(),
    }
}
