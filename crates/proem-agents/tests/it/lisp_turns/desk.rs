//! A mission with a scripted model, scripted tools and a person. The machine is stored and read back at every step.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use proem_agents::book::embedded_book;
use proem_agents::lisp::prompt::{
    ChosenPrompt, FeedbackPart, MissionPrompt, PromptFacts, PromptForm, TurnText, choose,
};
use proem_agents::lisp::turns::record::{MissionEnd, MissionOutcome};
use proem_agents::lisp::turns::{MissionTerms, SharedTurns, TurnPrompt, TurnsMachine};
use proem_agents::lisp::{AgentDefinition, parse_agent, policy_hash};
use proem_agents::prompt_call::{InputAuthor, PreparedRequest, PromptCall, prepare_prompt_call};
use proem_agents::screen::Screening;
use proem_engine::Error;
use proem_engine::call::{Arrival, CallFailure, FailureKind, FinishReason, Response, ResponsePart, Usage};
use proem_engine::policy::CallRecords;
use proem_engine::prompt::book::{Book, BookLayer};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::prompt::file::PartialText;
use proem_engine::prompt::origin::Origin;
use proem_engine::providers::{Model, Provider, Providers};
use proem_engine::run::{
    AnswerRequirement, CancelReason, Effect, EffectResult, Event, EventKind, Machine, Question, QuestionAnswer, Step,
    Time, ToolOutcome, ToolUse,
};
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{Guard, InstallationKey, Policy, Untrusted, show};
use proem_lisp::{Limits, Meter, StateKey, Value, print_readable, read_json};
use proem_text::Label;
use serde_json::json;

static GUARD: LazyLock<Guard> = LazyLock::new(|| Guard::shipped(&[]).unwrap());
static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy::shipped().unwrap());
static KEY: LazyLock<InstallationKey> = LazyLock::new(|| InstallationKey::new([7; 32]));

const PROMPT: &str = "---
model: small
input:
  schema: { turns?(array): string }
proem:
  version: 1.0.0
  sections:
    - { name: role, trust: constitution }
    - { name: turns, trust: untrusted, keep: required }
---
{{role \"system\"}}{{section \"role\"}}
Write a program.
{{role \"user\"}}{{section \"turns\"}}
{{#each turns}}
- {{this}}
{{/each}}
";

thread_local! {
    /// The turns of the last request, as they are before they are contained.
    static READ: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A prompt that shows nothing of the mission's data.
#[derive(Debug)]
struct PlainPrompt {
    prompt: Prompt,
    model: Model,
}

static PLAIN: LazyLock<PlainPrompt> = LazyLock::new(|| {
    let files = [("a/turn/1.0.0.prompt".to_owned(), PartialText::Template(PROMPT.to_owned()))].into();
    let book = Book::new(vec![BookLayer { origin: Origin::Embedded, files }]).unwrap();
    let model = Providers::load().unwrap().unlisted("m", Provider::OpenAi);
    PlainPrompt { prompt: book.prompt("a/turn", None).unwrap(), model }
});

/// A turn in the words that a model reads.
pub(crate) fn turn_words(turn: &TurnText) -> String {
    let parts = turn.feedback.iter().map(|part| match part {
        FeedbackPart::Ours(text) => text.clone(),
        FeedbackPart::Outside(text) => exact_text(text),
    });
    format!("{}\n{}", exact_text(&turn.answer), parts.collect::<String>())
}

fn exact_text(text: &Untrusted<String>) -> String {
    let json = text.clone().map(serde_json::Value::String);
    show::exact_value(&json).as_str().unwrap_or_default().to_owned()
}

#[derive(Debug)]
struct PlainTurns(&'static PlainPrompt);

impl TurnPrompt for PlainTurns {
    fn request(&self, turns: &[TurnText]) -> Result<PreparedRequest, Error> {
        let words: Vec<String> = turns.iter().map(turn_words).collect();
        READ.with_borrow_mut(|read| *read = words.concat());
        let inputs = json!({ "turns": words }).into();
        let ask = PromptCall {
            prompt: &self.0.prompt,
            owed: AnswerRequirement::Text,
            inputs: &inputs,
            given: InputAuthor::FromOutside,
            model: &self.0.model,
            key: &KEY,
            screening: Screening { guard: &GUARD, policy: &POLICY },
            input_tokens: None,
            output_tokens: None,
            arrival: Arrival::Whole,
            profile: None,
            inquiry: None,
        };
        prepare_prompt_call(&ask, &mut CachingCounter::new(&OpenAi::O200k))
    }

    fn shown_label(&self) -> Label {
        Label::trusted()
    }
}

/// The prompt of the book, as a mission has it.
#[derive(Debug)]
struct BookTurns {
    chosen: ChosenPrompt,
}

static BOOK: LazyLock<Prompt> =
    LazyLock::new(|| Book::new(vec![embedded_book()]).unwrap().prompt(PromptForm::Agent.prompt(), None).unwrap());

fn mission_prompt(chosen: &ChosenPrompt) -> MissionPrompt<'_> {
    MissionPrompt {
        chosen,
        prompt: &BOOK,
        model: &PLAIN.model,
        key: &KEY,
        screening: Screening { guard: &GUARD, policy: &POLICY },
        input_tokens: None,
        output_tokens: None,
        profile: None,
        counter: &OpenAi::O200k,
    }
}

impl TurnPrompt for BookTurns {
    fn request(&self, turns: &[TurnText]) -> Result<PreparedRequest, Error> {
        let prepared = mission_prompt(&self.chosen).request(turns)?;
        READ.with_borrow_mut(|read| *read = prepared.request.assembly.text());
        Ok(prepared)
    }

    fn shown_label(&self) -> Label {
        self.chosen.label().clone()
    }
}

/// The part of a mission that a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// The turns alone.
    Turns,
    /// The prompt of the book.
    Book,
}

/// A model's answer, or its failure.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Text(String),
    CutOff,
    Refusal,
    Fails(FailureKind),
    /// The run is given up meanwhile.
    GivenUp(CancelReason),
}

/// A program as a model sends it.
pub(crate) fn program(source: &str) -> Reply {
    Reply::Text(format!("```clojure\n{source}\n```"))
}

/// A mission and the world around it.
pub(crate) struct Desk<'d> {
    pub(crate) agent: &'d str,
    pub(crate) input: &'d str,
    /// The outcome of each tool.
    pub(crate) tools: BTreeMap<&'d str, ToolOutcome>,
    /// The person's choices, one for each question. Nobody is there after the last.
    pub(crate) choices: Vec<Option<usize>>,
    pub(crate) memory: Value,
    pub(crate) shared: SharedTurns,
    pub(crate) limits: Limits,
    pub(crate) showing: Showing,
}

impl Default for Desk<'_> {
    fn default() -> Self {
        Self {
            agent: "",
            input: "{}",
            tools: BTreeMap::new(),
            choices: Vec::new(),
            memory: Value::map([]),
            shared: SharedTurns { turns: 20, depth: 1 },
            limits: Limits::default(),
            showing: Showing::Turns,
        }
    }
}

/// The course of a mission.
pub(crate) struct Course {
    pub(crate) outcome: MissionOutcome,
    /// The calls that were made.
    pub(crate) calls: Vec<ToolUse>,
    pub(crate) questions: Vec<Question>,
    /// The words of the turns so far that the model read, for each request.
    pub(crate) read: Vec<String>,
    pub(crate) waits: usize,
}

impl Course {
    /// The value, or the reason, in words.
    pub(crate) fn end(&self) -> String {
        match &self.outcome.end {
            MissionEnd::Return { value, is_fallback } => {
                let text = print_readable(value, &mut Meter::new(Limits::default())).unwrap();
                if *is_fallback { format!("fallback {text}") } else { text }
            }
            MissionEnd::Fail(failure) => format!("fail {}: {}", failure.reason, failure.message),
            MissionEnd::NoAnswer(failure) => format!("no answer {}: {}", failure.reason, failure.message),
        }
    }

    /// The kind of each turn's problem.
    pub(crate) fn problems(&self) -> Vec<&str> {
        self.outcome.turns.iter().filter_map(|turn| Some(turn.problem.as_ref()?.reason.as_str())).collect()
    }
}

impl Desk<'_> {
    pub(crate) fn definition(&self) -> AgentDefinition {
        parse_agent("a.agent.toml", self.agent).unwrap()
    }

    pub(crate) fn terms(&self) -> MissionTerms<'static> {
        let agent = self.definition();
        let context = read_json(self.input, &mut Meter::new(self.limits)).unwrap();
        let prompt: Arc<dyn TurnPrompt> = match self.showing {
            Showing::Turns => Arc::new(PlainTurns(&PLAIN)),
            Showing::Book => {
                let screening = Screening { guard: &GUARD, policy: &POLICY };
                let facts = PromptFacts { agent: &agent, context: &context, screening };
                Arc::new(BookTurns { chosen: choose(&facts).unwrap() })
            }
        };
        MissionTerms {
            limits: agent.narrow_limits(self.limits),
            agent: Arc::new(agent),
            prompt,
            context,
            memory: self.memory.clone(),
            key: StateKey::new([7; 32]),
            records: CallRecords::Content,
            policy: policy_hash(&[self.agent]),
            installation: &KEY,
            counter: &OpenAi::O200k,
            shared: self.shared,
        }
    }

    /// Runs the mission with a model that answers what `model` says of the turns that it has read.
    pub(crate) fn run(&self, mut model: impl FnMut(usize, &str) -> Reply) -> Course {
        let terms = self.terms();
        let mut machine = TurnsMachine::new(terms.clone());
        let (mut calls, mut questions, mut read, mut waits) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let mut choices = self.choices.iter();
        let (mut now, mut what) = (1_000, EventKind::Started);
        let outcome = loop {
            now += 10;
            let step = machine.step(Event { now: Time(now), what }).unwrap();
            if !matches!(step, Step::Done(_)) {
                let state = machine.state().unwrap();
                machine = TurnsMachine::restore(terms.clone(), &state).unwrap();
                assert_eq!(machine.state().unwrap(), state, "a state that is read back is the same");
            }
            what = match step {
                Step::Done(outcome) => break outcome,
                Step::Wait { until } => {
                    waits += 1;
                    now = until.0;
                    EventKind::Woken
                }
                Step::Ask(asked) => {
                    let answer = |question: &Question| match choices.next().copied().flatten() {
                        Some(option) => question.answered(option, None).unwrap(),
                        None => QuestionAnswer::default(),
                    };
                    let answers = asked.iter().map(answer).collect();
                    questions.extend(asked);
                    EventKind::Answered { answers }
                }
                Step::Do(effects) => {
                    let mut results = Vec::new();
                    let mut given_up = None;
                    for (id, effect) in effects {
                        let result = match effect {
                            Effect::Call { request } => {
                                assert!(request.assembly.tokens() > 0);
                                let text = READ.with_borrow(String::clone);
                                let reply = model(read.len(), &text);
                                read.push(text);
                                match reply {
                                    Reply::GivenUp(why) => {
                                        given_up = Some(why);
                                        EffectResult::Failed { failure: CallFailure::new(FailureKind::Cancelled, "") }
                                    }
                                    reply => model_result(reply),
                                }
                            }
                            // As the gate does with a call that was refused before.
                            Effect::Tool { call } if call.refusal.is_some() => {
                                let message = call.refusal.unwrap_or_default();
                                EffectResult::Tool { outcome: ToolOutcome::Denied { message } }
                            }
                            Effect::Tool { call } => {
                                let outcome = self.tools.get(call.tool.as_str()).cloned();
                                calls.push(*call);
                                EffectResult::Tool { outcome: outcome.unwrap_or_else(|| answered("null")) }
                            }
                            other => panic!("{other:?}"),
                        };
                        results.push((id, result));
                    }
                    match given_up {
                        Some(why) => EventKind::Cancelled { why },
                        None => EventKind::Performed { results },
                    }
                }
            };
        };
        Course { outcome, calls, questions, read, waits }
    }

    /// Runs the mission with these replies, one after the other.
    pub(crate) fn replies(&self, replies: &[Reply]) -> Course {
        self.run(|at, _| replies.get(at).cloned().unwrap_or_else(|| panic!("reply {at} is missing")))
    }

    /// Runs the mission with these programs, one after the other.
    pub(crate) fn programs(&self, programs: &[&str]) -> Course {
        self.replies(&programs.iter().map(|source| program(source)).collect::<Vec<_>>())
    }
}

pub(crate) fn answered(json: &str) -> ToolOutcome {
    ToolOutcome::Answered { result: json.to_owned() }
}

fn model_result(reply: Reply) -> EffectResult {
    let (finish, content) = match reply {
        Reply::Text(text) => (FinishReason::Stop, ResponsePart::Text { text: outside(text) }),
        Reply::CutOff => (FinishReason::Length, ResponsePart::Text { text: outside("(do".to_owned()) }),
        Reply::Refusal => (FinishReason::Refusal, ResponsePart::Refusal { text: outside("no".to_owned()) }),
        Reply::Fails(kind) => return EffectResult::Failed { failure: CallFailure::new(kind, "the call failed") },
        Reply::GivenUp(_) => panic!("it is given up before it answers"),
    };
    let usage = Usage { input: Some(100), cache_read: Some(0), output: Some(10), ..Usage::default() };
    let response = Response { model: None, id: None, content: vec![content], finish, usage };
    EffectResult::Response { response: Box::new(response) }
}

fn outside(text: String) -> Untrusted<String> {
    Untrusted::new(text, Label::trusted())
}
