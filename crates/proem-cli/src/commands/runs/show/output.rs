//! A run with everything that is kept of it, for programs.

use std::collections::BTreeMap;

use proem_store::query::{ApprovalRow, AttemptRow, CallRow, FeedbackRow};
use proem_store::record::{Replayable, SectionRow};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{RunView, tools, turns};
use proem_app::runs::diff::CacheFinding;
use proem_app::runs::output::RunSummary;
use proem_app::runs::versions;
use proem_app::when;

/// A run. Texts that are not kept are null.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownRunOutput<'r> {
    run: RunSummary,
    #[serde(flatten)]
    result: RunResultOutput<'r>,
    #[serde(flatten)]
    beginning: RunBeginning<'r>,
    #[serde(flatten)]
    going_on: GoingOn<'r>,
    /// The calls to models, in order.
    calls: Vec<ModelCallOutput<'r>>,
    #[serde(flatten)]
    course: RunCourseOutput,
    #[serde(flatten)]
    people: RunPeople<'r>,
}

/// The outcome of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct RunResultOutput<'r> {
    /// Why there is no value of a model's. Null if there is one.
    because: &'r Option<Json>,
    /// The answer as a value of JSON.
    value: Option<Json>,
}

/// Everything that a run was started with.
#[derive(Debug, Serialize, JsonSchema)]
struct RunBeginning<'r> {
    /// Its files: their hashes by name.
    files: &'r BTreeMap<String, String>,
    /// The hash of its inputs.
    inputs: &'r str,
    settings: &'r Json,
    /// The versions of what makes requests. Null where they are not kept.
    versions: Option<Json>,
    /// The profiles that its prompts showed. Null without any.
    profile: Json,
}

/// Whether a run can be replayed, and gone on with.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GoingOn<'r> {
    replayable: bool,
    /// Why it can't be replayed. Null if it can.
    not_replayable: Option<&'r str>,
    /// Whether a state to go on from is kept.
    resumable: bool,
}

/// The events of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct RunCourseOutput {
    /// The calls of tools.
    tools: Vec<Json>,
    /// The turns of a mission.
    turns: Vec<Json>,
    steps: Vec<RunStepOutput>,
}

/// An event that a run took.
#[derive(Debug, Serialize, JsonSchema)]
struct RunStepOutput {
    step: u32,
    at: String,
    /// The hash of what it holds.
    event: String,
}

/// The words of people about a run.
#[derive(Debug, Serialize, JsonSchema)]
struct RunPeople<'r> {
    feedback: Vec<FeedbackOutput<'r>>,
    /// The questions of the run, with their answers.
    approvals: Vec<ApprovalOutput<'r>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FeedbackOutput<'r> {
    at: String,
    actor: &'r str,
    /// `good` or `bad`.
    verdict: &'r str,
    note: &'r str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ApprovalOutput<'r> {
    at: String,
    actor: &'r str,
    question: Json,
    options: Json,
    answer: Json,
    /// The hash of what the person was shown.
    shown: Json,
    words: Json,
}

/// A call to a model. An assembly without a call has neither attempts nor a body.
#[derive(Debug, Serialize, JsonSchema)]
struct ModelCallOutput<'r> {
    #[serde(flatten)]
    asked: CallAsked<'r>,
    #[serde(flatten)]
    answered: CallAnswered<'r>,
    #[serde(flatten)]
    request: SentRequestOutput<'r>,
    #[serde(flatten)]
    count: CallCount<'r>,
    attempts: Vec<Json>,
    /// The finding about the provider's cache, beside the provider's own. Null where no provider was asked.
    cache: Option<Json>,
}

/// The question of a call.
#[derive(Debug, Serialize, JsonSchema)]
struct CallAsked<'r> {
    /// The effect's number within its run.
    #[schemars(with = "u32")]
    effect: proem_engine::run::EffectId,
    at: String,
    /// The prompt, as `agent/name`.
    prompt: String,
    version: &'r str,
    model: &'r str,
    /// The endpoint. Empty where nothing was asked.
    endpoint: &'r str,
    /// The contract's name.
    tool: &'r Option<String>,
}

/// The answer of a call.
#[derive(Debug, Serialize, JsonSchema)]
struct CallAnswered<'r> {
    /// How far it is. Null where nothing was asked.
    #[schemars(with = "Option<String>")]
    state: Option<proem_store::record::CallState>,
    /// The response or the failure.
    result: Option<Json>,
    /// Why the model stopped.
    finish: &'r Option<String>,
    /// The repairs that the lenient reader made.
    repairs: &'r Json,
    /// The problems of the answer.
    problems: &'r Json,
}

/// The bytes that a call sent, and their sections.
#[derive(Debug, Serialize, JsonSchema)]
struct SentRequestOutput<'r> {
    /// The SHA-256 of its bytes. Null where nothing was asked.
    body: Option<&'r str>,
    /// The items that were kept from the provider.
    dropped: &'r Json,
    /// The parts that limits kept out of it, in words.
    cut: Vec<String>,
    /// Its sections, in the order in which they were sent.
    sections: Vec<SentSectionOutput<'r>>,
}

/// The tokens of a call's request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallCount<'r> {
    /// All of them, by the counter.
    tokens: u64,
    /// Those of its stable prefix.
    stable_tokens: u64,
    /// Those of the prompt that lists everything.
    monolithic_tokens: Option<u64>,
    counter: &'r str,
    /// The plan for the provider's cache.
    plan: &'r Json,
}

/// A section of a request.
#[derive(Debug, Serialize, JsonSchema)]
struct SentSectionOutput<'r> {
    name: &'r str,
    role: &'r str,
    #[serde(flatten)]
    standing: SentSectionStanding<'r>,
    /// Its tokens, by the call's counter.
    tokens: u64,
    /// The hash of its text.
    hash: &'r str,
    text: Option<&'r str>,
    /// The facts about a picture or file.
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<Json>,
}

/// The standing of a section in its request.
#[derive(Debug, Serialize, JsonSchema)]
struct SentSectionStanding<'r> {
    /// `constitution`, `rules`, `trusted`, `untrusted` or `task`.
    trust: &'r str,
    /// `static`, `per-run` or `never`.
    cache: &'r str,
    /// Its class in the request's order.
    rank: &'r str,
    /// The untrusted sources. Null if there are too many to name.
    sources: Option<&'r [String]>,
    /// Whether a boundary of the cache is behind it.
    boundary: bool,
}

impl<'r> ShownRunOutput<'r> {
    pub(super) fn new(shown: &'r RunView<'_>) -> Self {
        let run = shown.run;
        let beside = run.calls.iter().zip(&shown.beside);
        let why = match &run.replayable {
            Replayable::Yes => None,
            Replayable::No(why) => Some(&**why),
        };
        let step = |(step, at, event): &(u32, _, String)| RunStepOutput {
            step: *step,
            at: when::rfc3339(*at),
            event: event.clone(),
        };
        Self {
            run: RunSummary::new(&run.row),
            result: RunResultOutput {
                because: &run.because,
                value: run.value.as_deref().and_then(|hash| shown.texts.json(hash)),
            },
            beginning: RunBeginning {
                files: &run.files,
                inputs: &run.inputs,
                settings: &run.settings,
                versions: versions(run).map(|versions| json!(versions)),
                profile: json!(run.profiles),
            },
            going_on: GoingOn { replayable: why.is_none(), not_replayable: why, resumable: run.resumable },
            calls: beside.map(|(call, found)| ModelCallOutput::new(shown, call, found.as_ref())).collect(),
            course: RunCourseOutput {
                tools: tools::tool_rows(shown),
                turns: turns::turn_rows(&shown.turns),
                steps: run.steps.iter().map(step).collect(),
            },
            people: RunPeople {
                feedback: run.feedback.iter().map(FeedbackOutput::new).collect(),
                approvals: run.approvals.iter().map(ApprovalOutput::new).collect(),
            },
        }
    }
}

impl<'r> FeedbackOutput<'r> {
    fn new(row: &'r FeedbackRow) -> Self {
        Self { at: when::rfc3339(row.at), actor: &row.actor, verdict: &row.verdict, note: &row.note }
    }
}

impl<'r> ApprovalOutput<'r> {
    fn new(row: &'r ApprovalRow) -> Self {
        Self {
            at: when::rfc3339(row.at),
            actor: &row.actor,
            question: json!(row.question),
            options: json!(row.options),
            answer: json!(row.answer),
            shown: json!(row.shown),
            words: json!(row.words),
        }
    }
}

impl<'r> ModelCallOutput<'r> {
    fn new(shown: &'r RunView<'_>, call: &'r CallRow, beside: Option<&CacheFinding>) -> Self {
        let is_sent = !call.body.is_empty();
        Self {
            asked: CallAsked {
                effect: call.effect,
                at: when::rfc3339(call.at),
                prompt: format!("{}/{}", call.prompt.agent, call.prompt.name),
                version: &call.prompt.version,
                model: &call.model,
                endpoint: &call.endpoint,
                tool: &call.tool,
            },
            answered: CallAnswered {
                state: is_sent.then_some(call.state),
                result: shown.result(call),
                finish: &call.finish,
                repairs: &call.repairs,
                problems: &call.problems,
            },
            request: SentRequestOutput {
                body: is_sent.then_some(&*call.body),
                dropped: &call.dropped,
                cut: shown.cuts(call),
                sections: call.sections.iter().map(|section| SentSectionOutput::new(shown, call, section)).collect(),
            },
            count: CallCount {
                tokens: call.tokens,
                stable_tokens: call.stable_tokens,
                monolithic_tokens: call.monolithic_tokens,
                counter: &call.counter,
                plan: &call.plan,
            },
            attempts: call.attempts.iter().map(attempt_json).collect(),
            cache: beside.map(|found| json!({ "before": found.first, "ours": found.words, "provider": found.theirs })),
        }
    }
}

impl<'r> SentSectionOutput<'r> {
    fn new(shown: &'r RunView<'_>, call: &CallRow, section: &'r SectionRow) -> Self {
        // The facts about a picture say more than its bytes, which `--body` has.
        let media = shown.media(call, &section.name).map(|media| json!(media));
        let standing = SentSectionStanding {
            trust: &section.trust,
            cache: &section.cache,
            rank: &section.rank,
            sources: section.sources.as_deref(),
            boundary: section.boundary,
        };
        Self {
            name: &section.name,
            role: &section.role,
            standing,
            tokens: section.tokens,
            hash: &section.text,
            text: shown.texts.get(&section.text).filter(|_| media.is_none()),
            media,
        }
    }
}

pub(in crate::commands) fn attempt_json(attempt: &AttemptRow) -> Json {
    json!({
        "id": attempt.id,
        "attempt": attempt.attempt,
        "at": when::rfc3339(attempt.at),
        "state": attempt.state,
        "mostNanoDollars": attempt.most.map(|most| most.0),
        "status": attempt.status,
        "failed": attempt.failed,
        "bytes": attempt.bytes,
        "tookMs": attempt.took_ms,
        "waitedMs": attempt.waited_ms,
        "usage": attempt.usage,
        "bookedNanoDollars": attempt.booked.map(|booked| booked.0),
        "corrected": attempt.corrected,
    })
}
