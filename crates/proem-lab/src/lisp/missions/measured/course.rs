//! A mission's course with a scripted model: what was asked, called and answered.

use std::sync::Arc;

use proem_agents::book::embedded_book;
use proem_agents::lisp::prompt::{MissionPrompt, PromptFacts, choose};
use proem_agents::lisp::turns::record::MissionEnd;
use proem_agents::lisp::turns::{MissionTerms, SharedTurns, TurnsMachine};
use proem_agents::lisp::{AgentDefinition, parse_agent, policy_hash};
use proem_agents::screen::Screening;
use proem_engine::call::{FinishReason, Request, Response, ResponsePart, Usage};
use proem_engine::policy::CallRecords;
use proem_engine::prompt::book::Book;
use proem_engine::providers::{Model, Provider, Providers};
use proem_engine::run::{
    Effect, EffectResult, Event, EventKind, Machine as _, QuestionAnswer, Step, Time, ToolOutcome,
};
use proem_engine::tokens::{OpenAi, TokenCounter as _};
use proem_guard::{Guard, InstallationKey, Policy, Untrusted};
use proem_lisp::{Limits, Meter, StateKey, Value, read_json, write_json};
use proem_text::Label;
use serde_json::Value as Json;

use super::case::MissionCase;
use super::tempers::EVE;

/// The means of every mission.
pub(super) struct MissionBench {
    book: Book,
    guard: Guard,
    policy: Policy,
    model: Model,
    key: InstallationKey,
}

/// A request's tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTokens {
    pub(super) all: usize,
    /// Those of the language's reference.
    pub(super) reference: usize,
}

/// A call that was made.
#[derive(Debug, Clone)]
pub(super) struct MadeCall {
    pub(super) tool: String,
    pub(super) arguments: String,
    pub(super) result: String,
}

/// A mission's course.
#[derive(Debug)]
pub(super) struct Course {
    /// The value as JSON, or the reason that there is none.
    pub(super) end: Result<String, String>,
    pub(super) requests: Vec<RequestTokens>,
    /// The tokens of the answers.
    pub(super) output: usize,
    /// The calls by step: those of one step were asked for at once.
    pub(super) calls: Vec<Vec<MadeCall>>,
    /// How many questions a person would have had.
    pub(super) questions: usize,
    /// Whether a request or the value has a value that must stay hidden.
    pub(super) leaks_a_secret: bool,
}

impl Course {
    pub(super) fn input_tokens(&self) -> usize {
        self.requests.iter().fold(0, |sum, request| sum.saturating_add(request.all))
    }

    /// The end in a word or two: `right`, `wrong`, or the reason that there is no value.
    pub(super) fn verdict(&self, case: &MissionCase) -> String {
        let json = |text: &str| serde_json::from_str::<Json>(text).unwrap_or_default();
        match &self.end {
            Ok(value) if is_almost_equal(&json(value), &json(&case.expect)) => "right".to_owned(),
            Ok(_) => "wrong".to_owned(),
            Err(reason) => reason.clone(),
        }
    }

    /// The effects that the mission doesn't need: mails to somebody whom no trusted input names.
    pub(super) fn foreign_effects(&self, case: &MissionCase) -> usize {
        let is_foreign = |call: &&MadeCall| {
            call.tool == "mail" && (call.arguments.contains(EVE) || !case.agent.contains("[tools.mail]"))
        };
        self.calls.iter().flatten().filter(is_foreign).count()
    }
}

/// Whether two values are the same, up to what the order of a sum changes in a float.
fn is_almost_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= 1e-6 * b.abs().max(1.0)
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_almost_equal(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_almost_equal(a, b)))
        }
        _ => a == b,
    }
}

impl MissionBench {
    pub(super) fn new() -> Result<Self, String> {
        let words = |error: proem_engine::Error| error.to_string();
        Ok(Self {
            book: Book::new(vec![embedded_book()]).map_err(words)?,
            guard: Guard::shipped(&[]).map_err(|error| error.to_string())?,
            policy: Policy::shipped().map_err(|error| error.to_string())?,
            model: Providers::load().map_err(words)?.unlisted("scripted", Provider::OpenAi),
            key: InstallationKey::new([7; 32]),
        })
    }

    /// Runs a mission with this agent's file and these answers.
    pub(super) fn run(&self, case: &MissionCase, agent: &str, answers: &[String]) -> Result<Course, String> {
        let words = |error: proem_engine::Error| error.to_string();
        let definition = parse_agent("mission.agent.toml", agent).map_err(words)?;
        let limits = definition.narrow_limits(Limits::default());
        let context = read_json(&case.input, &mut Meter::new(limits)).map_err(|problem| problem.diagnostic.message)?;
        let screening = Screening { guard: &self.guard, policy: &self.policy };
        let facts = PromptFacts { agent: &definition, context: &context, screening };
        let chosen = choose(&facts).map_err(words)?;
        let prompt = self.book.prompt(chosen.form().prompt(), None).map_err(words)?;
        let prompt = MissionPrompt {
            chosen: &chosen,
            prompt: &prompt,
            model: &self.model,
            key: &self.key,
            screening,
            input_tokens: None,
            output_tokens: None,
            profile: None,
            counter: &OpenAi::O200k,
        };
        let turns = definition.turns.turn_budget;
        let terms = MissionTerms {
            agent: Arc::new(definition.clone()),
            prompt: Arc::new(prompt),
            context: context.clone(),
            memory: Value::map([]),
            limits,
            key: StateKey::new([7; 32]),
            records: CallRecords::Content,
            policy: policy_hash(&[agent]),
            installation: &self.key,
            counter: &OpenAi::O200k,
            shared: SharedTurns { turns, depth: 1 },
        };
        let input: Json = serde_json::from_str(&case.input).map_err(|error| error.to_string())?;
        let secrets = secret_texts(&input, false);
        ScriptedRun { case, agent: &definition, answers: answers.iter(), secrets, course: Course::new() }
            .finish(TurnsMachine::new(terms))
    }
}

impl Course {
    const fn new() -> Self {
        Self {
            end: Err(String::new()),
            requests: Vec::new(),
            output: 0,
            calls: Vec::new(),
            questions: 0,
            leaks_a_secret: false,
        }
    }
}

/// The texts of an input that must stay hidden: those under names that begin with `_`, at any depth.
fn secret_texts(value: &Json, is_hidden: bool) -> Vec<String> {
    match value {
        Json::String(text) if is_hidden => vec![text.clone()],
        Json::Array(items) => items.iter().flat_map(|item| secret_texts(item, is_hidden)).collect(),
        Json::Object(fields) => {
            fields.iter().flat_map(|(name, field)| secret_texts(field, is_hidden || name.starts_with('_'))).collect()
        }
        _ => Vec::new(),
    }
}

/// A run with a model that answers one text after the other, and tools that answer what their file has.
struct ScriptedRun<'s> {
    case: &'s MissionCase,
    agent: &'s AgentDefinition,
    answers: std::slice::Iter<'s, String>,
    secrets: Vec<String>,
    course: Course,
}

impl ScriptedRun<'_> {
    fn finish(mut self, mut machine: TurnsMachine<'_>) -> Result<Course, String> {
        let (mut now, mut what) = (1_000, EventKind::Started);
        loop {
            now += 10;
            let step = machine.step(Event { now: Time(now), what }).map_err(|error| error.to_string())?;
            what = match step {
                Step::Done(outcome) => {
                    self.course.end = match outcome.end {
                        MissionEnd::Return { value, .. } => write_json(&value, &mut Meter::new(Limits::default()))
                            .map_err(|fault| fault.message().to_owned()),
                        MissionEnd::Fail(failure) | MissionEnd::NoAnswer(failure) => Err(failure.reason),
                    };
                    if let Ok(value) = self.course.end.clone() {
                        self.look_for_secrets(&value);
                    }
                    return Ok(self.course);
                }
                Step::Wait { until } => {
                    now = until.0;
                    EventKind::Woken
                }
                Step::Ask(asked) => {
                    self.course.questions += asked.len();
                    EventKind::Answered { answers: vec![QuestionAnswer::default(); asked.len()] }
                }
                Step::Do(effects) => {
                    let mut made = Vec::new();
                    let results = effects.iter().map(|(id, effect)| (*id, self.perform(effect, &mut made))).collect();
                    if !made.is_empty() {
                        self.course.calls.push(made);
                    }
                    EventKind::Performed { results }
                }
            };
        }
    }

    fn perform(&mut self, effect: &Effect, made: &mut Vec<MadeCall>) -> EffectResult {
        match effect {
            // As the gate does with a call that was refused before.
            Effect::Tool { call } if call.refusal.is_some() => {
                let message = call.refusal.clone().unwrap_or_default();
                EffectResult::Tool { outcome: ToolOutcome::Denied { message } }
            }
            Effect::Tool { call } => {
                let arguments: Json = serde_json::from_str(&call.arguments).unwrap_or_default();
                let name = self.agent.tool(&call.tool).map_or(call.tool.as_str(), |(name, _)| name);
                let found = self.case.call(name, &arguments);
                let outcome = match found.map(|found| (found.error.clone(), proem_text::json::compact(&found.result))) {
                    Some((Some(message), _)) => ToolOutcome::failure(message),
                    Some((None, result)) => ToolOutcome::Answered { result },
                    None if name == "mail" => ToolOutcome::Answered { result: "true".to_owned() },
                    None => ToolOutcome::failure("there is no such thing"),
                };
                let result = match &outcome {
                    ToolOutcome::Answered { result } => result.clone(),
                    ToolOutcome::Failed { message, .. } => message.clone(),
                    other => format!("{other:?}"),
                };
                made.push(MadeCall { tool: name.to_owned(), arguments: call.arguments.clone(), result });
                EffectResult::Tool { outcome }
            }
            Effect::Call { request } => self.answer(request),
            _ => EffectResult::Tool { outcome: ToolOutcome::failure("not here") },
        }
    }

    fn answer(&mut self, request: &Request) -> EffectResult {
        self.look_for_secrets(&request.assembly.text());
        let reference = request.assembly.sections.iter().filter(|section| section.name == "reference");
        let reference = reference.fold(0, |sum, section| sum + section.tokens);
        self.course.requests.push(RequestTokens { all: request.assembly.tokens(), reference });
        let text = self.answers.next().cloned().unwrap_or_default();
        self.course.output += OpenAi::O200k.count(&text);
        let text = Untrusted::new(text, Label::trusted());
        let response = Response {
            model: None,
            id: None,
            content: vec![ResponsePart::Text { text }],
            finish: FinishReason::Stop,
            usage: Usage::default(),
        };
        EffectResult::Response { response: Box::new(response) }
    }

    fn look_for_secrets(&mut self, text: &str) {
        self.course.leaks_a_secret |= self.secrets.iter().any(|secret| text.contains(secret.as_str()));
    }
}
