//! The stages of triage on the prompts that ship, answered by a script in the place of a model.

use std::num::NonZeroU64;
use std::sync::Mutex;

use proem_agents::book::embedded_book;
use proem_agents::prompt_call::PreparedRequest;
use proem_agents::screen::Screening;
use proem_engine::Error;
use proem_engine::cache::CachePrediction;
use proem_engine::call::{Arrival, FinishReason, Response, ResponsePart, ToolCall, Usage};
use proem_engine::contract::AnswerContract;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::{Model, Providers};
use proem_engine::run::{
    AnswerRequirement, Effect, EffectResult, Event, EventKind, ExchangeLimits, ExchangeTerms, Machine as _, Step, Time,
};
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{Guard, InstallationKey, Policy, Untrusted, show};
use proem_text::{Label, Source};
use proem_triage::TriageLexicon;
use proem_triage::answer::DraftRules;
use proem_triage::pipeline::{
    Pipeline, PipelineEnd, PipelineLimits, PipelineModel, PipelineStage, PipelineSubject, PipelineTerms, StageAsker,
    StagePrompt, StageSubject, prepare_stage,
};
use serde_json::Value as Json;

/// A call of a tool, as a script gives it.
pub(super) type ScriptedCall = (&'static str, Json);

/// The question to a script.
#[derive(Debug, Clone)]
pub(super) struct StageQuestion {
    pub(super) stage: PipelineStage,
    /// The ids of the signals, each with what of it may be read.
    pub(super) signals: Vec<(String, String)>,
    /// How often it was asked before, because its answer broke the contract.
    pub(super) again: u32,
}

/// Everything that stages are asked with.
pub(super) struct StageBench {
    prompts: Vec<(Prompt, AnswerContract)>,
    small: Model,
    large: Model,
    key: InstallationKey,
    guard: Guard,
    policy: Policy,
    lexicon: TriageLexicon,
    rules: DraftRules,
    asked: Mutex<Option<StageQuestion>>,
    requests: Mutex<Vec<StageRequest>>,
}

/// The outcome of a cycle's calls.
pub(super) struct ScriptedCycle {
    pub(super) end: PipelineEnd,
    /// Answers that met their contract at once, and all first answers.
    pub(super) valid: (u64, u64),
    /// The requests, in order.
    pub(super) requests: Vec<StageRequest>,
}

/// The size of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct StageRequest {
    pub(super) stage: PipelineStage,
    /// All tokens, as counted before it would be sent.
    pub(super) tokens: usize,
    /// Those of the prefix that stays from call to call.
    pub(super) stable: usize,
    /// Whether the provider caches that prefix.
    pub(super) is_cached: bool,
    /// The cost of reading it without a cache, in nano-dollars.
    pub(super) cost: u64,
    /// The same where the prefix is read from the cache, if it is cached.
    pub(super) cost_cached: u64,
    /// The model that is asked.
    pub(super) model: PipelineModel,
    /// The tokens of the answer.
    pub(super) output: usize,
    /// Their cost, in nano-dollars.
    pub(super) cost_output: u64,
}

impl StageBench {
    pub(super) fn new() -> Result<Self, String> {
        let words = |error: Error| error.to_string();
        let book = Book::new(vec![embedded_book()]).map_err(words)?;
        let prompt = |stage: &PipelineStage| {
            let prompt = book.prompt(stage.prompt(), None)?;
            let contract = prompt.contract()?;
            Ok((prompt, contract))
        };
        let providers = Providers::load().map_err(words)?;
        let model = |role| providers.model(role).cloned().map_err(words);
        Ok(Self {
            prompts: PipelineStage::ALL.iter().map(prompt).collect::<Result<_, Error>>().map_err(words)?,
            small: model("small")?,
            large: model("large")?,
            key: InstallationKey::new([7; 32]),
            guard: Guard::shipped(&[]).map_err(|error| error.to_string())?,
            policy: Policy::shipped().map_err(|error| error.to_string())?,
            lexicon: TriageLexicon::shipped().map_err(words)?,
            rules: DraftRules::shipped().map_err(words)?,
            asked: Mutex::default(),
            requests: Mutex::default(),
        })
    }

    pub(super) const fn screening(&self) -> Screening<'_> {
        Screening { guard: &self.guard, policy: &self.policy }
    }

    pub(super) const fn lexicon(&self) -> &TriageLexicon {
        &self.lexicon
    }

    fn model(&self, model: PipelineModel) -> &Model {
        match model {
            PipelineModel::Small => &self.small,
            PipelineModel::Large => &self.large,
        }
    }

    fn prompt(&self, stage: PipelineStage) -> Option<&(Prompt, AnswerContract)> {
        let place = PipelineStage::ALL.iter().position(|known| *known == stage)?;
        self.prompts.get(place)
    }

    /// A cycle to its end.
    pub(super) fn run(
        &self,
        subject: &PipelineSubject,
        script: &dyn Fn(&StageQuestion) -> Vec<ScriptedCall>,
    ) -> Result<ScriptedCycle, String> {
        let words = |error: Error| error.to_string();
        let terms = PipelineTerms {
            asker: self,
            subject,
            lexicon: &self.lexicon,
            rules: &self.rules,
            screening: self.screening(),
            limits: PipelineLimits::default(),
        };
        let mut pipeline = Pipeline::new(terms);
        let (mut now, mut what) = (subject.now, EventKind::Started);
        self.requests.lock().map_err(|error| error.to_string())?.clear();
        loop {
            match pipeline.step(Event { now, what }).map_err(words)? {
                Step::Done(end) => {
                    let first = end.exchanges.iter().filter_map(|exchange| exchange.outcome.attempts.first());
                    let met = first.clone().filter(|attempt| attempt.problems.is_empty()).count() as u64;
                    let all = first.count() as u64;
                    let requests = self.requests.lock().map_err(|error| error.to_string())?.clone();
                    return Ok(ScriptedCycle { valid: (met, all), end, requests });
                }
                Step::Wait { until } => (now, what) = (until, EventKind::Woken),
                Step::Do(effects) => {
                    let mut results = Vec::new();
                    for (id, effect) in effects {
                        let Effect::Call { .. } = effect else {
                            return Err("a stage wants something else than a call".to_owned());
                        };
                        let calls = script(&self.question()?);
                        self.count_answer(&calls)?;
                        results.push((id, answer_with_calls(calls)));
                    }
                    now = Time(now.0 + 1_000);
                    what = EventKind::Performed { results };
                }
                Step::Ask(_) => return Err("a stage asks a person".to_owned()),
            }
        }
    }

    /// Counts the tokens of an answer to the last request.
    fn count_answer(&self, calls: &[ScriptedCall]) -> Result<(), String> {
        let mut requests = self.requests.lock().map_err(|error| error.to_string())?;
        let Some(request) = requests.last_mut() else { return Err("an answer to nothing".to_owned()) };
        let model = self.model(request.model);
        let counter = model.counter();
        let tokens: usize = calls.iter().map(|(_, arguments)| counter.count(&arguments.to_string())).sum();
        let prices = model.prices_for(request.tokens).ok_or("a model has no price")?;
        request.output += tokens;
        request.cost_output += tokens as u64 * prices.output.get();
        Ok(())
    }

    /// The current question.
    fn question(&self) -> Result<StageQuestion, String> {
        let mut asked = self.asked.lock().map_err(|error| error.to_string())?;
        let question = asked.clone().ok_or("a call that no stage has made")?;
        if let Some(asked) = asked.as_mut() {
            asked.again += 1;
        }
        Ok(question)
    }
}

impl StageAsker for StageBench {
    fn request(
        &self,
        stage: PipelineStage,
        model: PipelineModel,
        subject: StageSubject<'_>,
    ) -> Result<PreparedRequest, Error> {
        let missing = || Error::new(proem_engine::ErrorKind::NotFound, "a stage has no prompt");
        let (prompt, contract) = self.prompt(stage).ok_or_else(missing)?;
        let asked = StagePrompt {
            prompt,
            contract,
            model: self.model(model),
            key: &self.key,
            arrival: Arrival::Whole,
            output_tokens: subject.answer_tokens,
            profile: None,
        };
        let counter = self.model(model).counter();
        let prepared = prepare_stage(&asked, stage, subject, &mut CachingCounter::new(counter.as_ref()))?;
        let text = |text: &Untrusted<String>| show::exact_json(text).as_str().unwrap_or_default().to_owned();
        let signals = subject.signals.iter().map(|told| (told.signal.id.clone(), text(told.content))).collect();
        let poisoned = || Error::new(proem_engine::ErrorKind::InvalidInput, "another thread stopped");
        *self.asked.lock().map_err(|_| poisoned())? = Some(StageQuestion { stage, signals, again: 0 });
        let (tokens, stable) = (prepared.plan.total_tokens, prepared.plan.stable_tokens);
        let is_cached =
            matches!(prepared.plan.verdict, CachePrediction::Caches | CachePrediction::ProbablyCaches { .. });
        let unpriced = || Error::new(proem_engine::ErrorKind::NotFound, "a model has no price");
        let prices = self.model(model).prices_for(tokens).ok_or_else(unpriced)?;
        let read = |count: usize, price: NonZeroU64| count as u64 * price.get();
        let hit = prices.cache_read.filter(|_| is_cached).unwrap_or(prices.input);
        self.requests.lock().map_err(|_| poisoned())?.push(StageRequest {
            stage,
            tokens,
            stable,
            is_cached,
            cost: read(tokens, prices.input),
            cost_cached: read(stable, hit) + read(tokens - stable, prices.input),
            model,
            output: 0,
            cost_output: 0,
        });
        Ok(prepared)
    }

    fn terms(&self, stage: PipelineStage, _: PipelineModel) -> ExchangeTerms<'_> {
        ExchangeTerms {
            owed: self.prompt(stage).map_or(AnswerRequirement::Text, |(_, contract)| contract.owed()),
            fallback: None,
            limits: ExchangeLimits::default(),
            key: &self.key,
            counter: &OpenAi::O200k,
        }
    }
}

/// An answer that calls tools.
fn answer_with_calls(calls: Vec<ScriptedCall>) -> EffectResult {
    let outside = |text: &str| Untrusted::new(text.to_owned(), Label::from_source(Source::named("model")));
    let call = |(name, arguments): ScriptedCall| {
        ResponsePart::Call(ToolCall {
            id: outside("1"),
            name: outside(name),
            arguments: outside(&arguments.to_string()),
        })
    };
    let usage =
        Usage { input: Some(100), cache_read: Some(0), cache_writes: Vec::new(), output: Some(10), ..Usage::default() };
    let content = calls.into_iter().map(call).collect();
    let response = Response { model: None, id: None, content, finish: FinishReason::Calls, usage };
    EffectResult::Response { response: Box::new(response) }
}
