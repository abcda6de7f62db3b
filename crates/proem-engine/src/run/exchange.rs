//! One contracted call: ask, read, check. Ask again with what was wrong. At last the fallback.
//!
//! Invariants: a value is never made up — it is the model's and meets the contract, or it is the prompt's own fallback
//! and says so. A refusal, an answer that was cut off and a call that failed are not asked again, unless the server
//! refused the way of holding the answer to its schema and the way is found by trying. No more is asked than
//! [`ExchangeLimits`] allow, by the most that each attempt can take, the first one included.

mod answer;
mod feedback;
mod ways;

use core::num::NonZeroU32;

use proem_guard::{InstallationKey, Untrusted};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use self::answer::{AnswerReading, read_answer};
pub use self::ways::{TriedWay, WayResult};
use super::{CancelReason, Effect, EffectId, EffectResult, Event, EventKind, Machine, Step, Time};
use crate::call::state_form::outside_json;
use crate::call::{CallFailure, FailureKind, FinishReason, NanoDollars, Request, Response, Usage};
use crate::contract::{Contract, ToolContracts};
use crate::decode::PlacedRepair;
use crate::error::{Error, ErrorKind};
use crate::tokens::TokenCounter;

/// The section of a request that says what the answer looks like.
pub const FORMAT_SECTION: &str = "answer-format";

/// The terms of an exchange. Rebuilt from the same prompt when a run is resumed.
#[derive(Clone, Copy)]
pub struct ExchangeTerms<'t> {
    /// The required form of the answer.
    pub owed: AnswerRequirement<'t>,
    /// The value to use when there is no answer.
    pub fallback: Option<&'t Json>,
    /// How often and for how much is asked.
    pub limits: ExchangeLimits,
    /// The installation's key, for what the model is told of its own answer.
    pub key: &'t InstallationKey,
    /// Counts what is added to the request.
    pub counter: &'t dyn TokenCounter,
}

/// The required form of an answer.
#[derive(Debug, Clone, Copy)]
pub enum AnswerRequirement<'t> {
    /// Any text that is not empty. The value is a JSON string.
    Text,
    /// One value that meets a contract.
    Value(&'t Contract),
    /// Calls of tools, each of which meets its tool's contract, no two the same. The value is an object of `calls`, a
    /// list of `{"name", "arguments"}` in the model's order, and `text`, the model's words beside them. If the request
    /// asks for one value, the answer is the object that [`ToolContracts::object`] describes, and so has a call.
    Calls {
        /// The tools' contracts.
        tools: &'t ToolContracts,
        /// How many calls there must be.
        needed: CallRequirement,
    },
}

/// How many calls an answer must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallRequirement {
    /// None, if there is a text.
    Any,
    /// None, and a text.
    None,
    /// At least one.
    Some,
}

impl<'t> AnswerRequirement<'t> {
    /// The contract of the one value that the answer is, or can be made to be. `None` for a text.
    #[must_use]
    pub const fn contract(self) -> Option<&'t Contract> {
        match self {
            Self::Text => None,
            Self::Value(contract) => Some(contract),
            Self::Calls { tools, .. } => Some(tools.object()),
        }
    }
}

impl core::fmt::Debug for ExchangeTerms<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Terms").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// How often and for how much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeLimits {
    /// How often a model is asked, the first time included.
    pub attempts: NonZeroU32,
    /// The most tokens of all attempts together, prompts as they are counted here and the most that answers may have.
    /// `None` is only bound by `attempts`. An attempt that may take more than is left is not made.
    pub tokens: Option<u64>,
}

/// Two attempts.
impl Default for ExchangeLimits {
    fn default() -> Self {
        Self { attempts: NonZeroU32::MIN.saturating_add(1), tokens: None }
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// With what.
    pub ended: ExchangeEnd,
    /// Everything that was asked, in order.
    pub attempts: Vec<Attempt>,
}

impl Outcome {
    /// The attempts that asked the model: all but those of which the server refused the way of holding the answer.
    pub fn asked(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| !attempt.is_way_refused())
    }

    /// The usage of all attempts. `None` if nothing was asked or an attempt didn't report it.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        let mut usages = self.asked().map(|attempt| attempt.usage.as_ref());
        let first = usages.next()??.clone();
        usages.try_fold(first, |sum, usage| Some(sum.and(usage?)))
    }

    /// Why figures of providers are not believed, each reason once, with what follows from it.
    #[must_use]
    pub fn usage_doubts(&self) -> Vec<String> {
        let doubts = self.attempts.iter().filter_map(|attempt| attempt.usage.as_ref()?.doubt);
        let mut told: Vec<String> = doubts.map(|doubt| format!("{}; charged in full", doubt.in_words())).collect();
        told.dedup();
        told
    }

    /// The cost of all attempts by `price`. `None` if it is unknown for one of them.
    #[must_use]
    pub fn cost(&self, price: impl Fn(&Usage) -> Option<NanoDollars>) -> Option<NanoDollars> {
        self.attempts.iter().try_fold(NanoDollars::default(), |sum, attempt| {
            // A call that never reached a model costs nothing.
            if attempt.usage.is_none() && attempt.failure.as_ref().is_some_and(|failure| failure.kind.is_unsent()) {
                return Some(sum);
            }
            Some(sum.and(price(attempt.usage.as_ref()?)?))
        })
    }
}

/// The end of an exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ExchangeEnd {
    /// The model's value, which meets the contract, under the request's label.
    Answered {
        /// It. [`AnswerRequirement`] says what it looks like.
        #[serde(with = "outside_json")]
        value: Untrusted<Json>,
    },
    /// The prompt's own value, since there is none of the model's.
    FellBack {
        /// The prompt's fallback, which meets the contract too.
        value: Json,
        /// The reason that there is no value of the model's.
        because: FallbackReason,
    },
    /// There is no value: none of the model's, and no fallback.
    Failed {
        /// The reason that there is no value of the model's.
        because: FallbackReason,
    },
}

/// Why there is no value of the model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", content = "what", rename_all = "kebab-case")]
#[schemars(rename = "Because")]
pub enum FallbackReason {
    /// It refused.
    Refusal,
    /// Its answer reached the most tokens that it may have.
    CutOff,
    /// None of its answers met the contract.
    Invalid,
    /// The call failed.
    Failed(FailureKind),
    /// The run was given up.
    Cancelled(CancelReason),
    /// The program ended without a value.
    Program,
}

impl FallbackReason {
    /// The reason in our words, without a full stop.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::Refusal => "the model refused".to_owned(),
            Self::CutOff => "the answer reached the most tokens that it may have".to_owned(),
            Self::Invalid => "no answer met the contract".to_owned(),
            Self::Failed(kind) => format!("the call failed ({})", kind.as_str()),
            Self::Cancelled(CancelReason::Asked) => "it was cancelled".to_owned(),
            Self::Cancelled(CancelReason::Deadline) => "its time was up".to_owned(),
            Self::Program => "the program ended without a value".to_owned(),
        }
    }
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Which effect of the run it was.
    pub effect: EffectId,
    /// When its answer came.
    pub at: Time,
    /// How the answer was held to its schema, where the way is found by trying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<TriedWay>,
    /// The model's answer. `None` if the call failed.
    pub response: Option<Response>,
    /// Why the call failed.
    pub failure: Option<CallFailure>,
    /// The usage that the provider reports.
    pub usage: Option<Usage>,
    /// The repairs of the answer.
    pub repairs: Vec<PlacedRepair>,
    /// The problems of the answer.
    pub problems: Vec<BrokenRule>,
}

/// A rule that an answer broke, in our words only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Broken")]
pub struct BrokenRule {
    /// The rule: a keyword of JSON Schema, or `answer`, `tool`, `json`.
    pub rule: String,
    /// The place, in names that the schema declares.
    pub path: String,
    /// The expectation there.
    pub expected: String,
}

/// A contracted call as a run.
#[derive(Debug)]
pub struct Exchange<'t> {
    terms: ExchangeTerms<'t>,
    state: ExchangeState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ExchangeState {
    request: Request,
    phase: ExchangePhase,
    now: Time,
    /// The most tokens that the attempts so far can have used.
    spent: u64,
    attempts: Vec<Attempt>,
    /// The number of its first effect. Not written where it is 0, as it was in every state before it could be another.
    #[serde(default, skip_serializing_if = "is_zero")]
    first: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(first: &u32) -> bool {
    *first == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "effect", rename_all = "kebab-case")]
enum ExchangePhase {
    New,
    Waiting(EffectId),
    Over,
}

impl<'t> Exchange<'t> {
    /// A run that asks `request` under these terms.
    #[must_use]
    pub const fn new(terms: ExchangeTerms<'t>, request: Request) -> Self {
        let (phase, now) = (ExchangePhase::New, Time(i64::MIN));
        let state = ExchangeState { request, phase, now, spent: 0, attempts: Vec::new(), first: 0 };
        Self { terms, state }
    }

    /// The same as a part of a run that asked for `first` effects before, whose numbers go on from there.
    #[must_use]
    pub const fn numbered_from(mut self, first: u32) -> Self {
        self.state.first = first;
        self
    }

    /// A run as [`Machine::state`] wrote it down, under the same terms.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if `state` is none.
    pub fn restore(terms: ExchangeTerms<'t>, state: &Json) -> Result<Self, Error> {
        let state = ExchangeState::deserialize(state)
            .map_err(|e| Error::new(ErrorKind::InvalidInput, format!("this is not a state of an exchange: {e}")))?;
        Ok(Self { terms, state })
    }

    /// Asks for the first time, or ends as what a budget has no room for does.
    fn begin(&mut self) -> Step<Outcome> {
        let request = self.state.request.clone();
        let tokens = most_tokens(&request);
        match self.terms.limits.tokens {
            Some(most) if tokens > most => {
                let why = format!(
                    "a call that may take up to {tokens} tokens exceeds the limit: all attempts of a run together may \
                     use {most}; allow them more, or keep fewer tokens free for the answer"
                );
                self.failed(EffectId(self.state.first), CallFailure::new(FailureKind::NotBooked, why))
            }
            _ => self.ask(request),
        }
    }

    fn ask(&mut self, request: Request) -> Step<Outcome> {
        self.state.spent = self.state.spent.saturating_add(most_tokens(&request));
        let before = u32::try_from(self.state.attempts.len()).unwrap_or(u32::MAX);
        let effect = EffectId(self.state.first.saturating_add(before));
        self.state.phase = ExchangePhase::Waiting(effect);
        Step::Do(vec![(effect, Effect::Call { request: Box::new(request) })])
    }

    /// The request once more, with what was wrong. `None` if the limits don't allow it.
    fn again(&self, problems: &[feedback::AnswerDefect]) -> Option<Request> {
        let attempts = usize::try_from(self.terms.limits.attempts.get()).unwrap_or(usize::MAX);
        // A way that the server refused asked no model.
        if self.state.attempts.iter().filter(|attempt| !attempt.is_way_refused()).count() >= attempts {
            return None;
        }
        let mut request = self.state.request.clone();
        if !problems.is_empty() {
            feedback::append_feedback(&mut request.assembly, problems, self.terms.key, self.terms.counter);
        }
        self.has_room_for(&request).then_some(request)
    }

    fn has_room_for(&self, request: &Request) -> bool {
        let tokens = self.state.spent.saturating_add(most_tokens(request));
        self.terms.limits.tokens.is_none_or(|most| tokens <= most)
    }

    fn end(&mut self, ended: ExchangeEnd) -> Step<Outcome> {
        self.state.phase = ExchangePhase::Over;
        Step::Done(Outcome { ended, attempts: self.state.attempts.clone() })
    }

    /// Ends without a value of the model's.
    fn give_up(&mut self, because: FallbackReason) -> Step<Outcome> {
        // A person who cancels wants nothing, and a replay that differs is an error to look at.
        let wants_none = matches!(
            because,
            FallbackReason::Cancelled(CancelReason::Asked)
                | FallbackReason::Failed(FailureKind::Replay | FailureKind::Cancelled)
        );
        match self.terms.fallback {
            Some(value) if !wants_none => self.end(ExchangeEnd::FellBack { value: value.clone(), because }),
            _ => self.end(ExchangeEnd::Failed { because }),
        }
    }

    fn answered(&mut self, effect: EffectId, response: Response) -> Step<Outcome> {
        let finish = response.finish;
        let (usage, mut attempt) = (response.usage.clone(), self.attempt(effect));
        attempt.usage = Some(usage);
        let read = match finish {
            FinishReason::Refusal | FinishReason::Length => None,
            FinishReason::Unknown => Some(read_answer(&response, self.terms.owed, &self.state.request).unless_cut()),
            _ => Some(read_answer(&response, self.terms.owed, &self.state.request)),
        };
        attempt.response = Some(response);
        match read {
            None if finish == FinishReason::Length => match self.keep(attempt).then(|| self.again(&[])).flatten() {
                // What the server was to keep from writing took up the room of the answer.
                Some(request) => self.ask(request),
                None => self.give_up(FallbackReason::CutOff),
            },
            None | Some(AnswerReading::Refusal) => {
                self.state.attempts.push(attempt);
                self.give_up(FallbackReason::Refusal)
            }
            Some(AnswerReading::Value { value, repairs }) => {
                attempt.repairs = repairs;
                self.state.attempts.push(attempt);
                self.end(ExchangeEnd::Answered { value })
            }
            Some(AnswerReading::Wrong { problems, repairs }) => {
                attempt.repairs = repairs;
                self.wrong(attempt, &problems)
            }
        }
    }

    fn wrong(&mut self, mut attempt: Attempt, problems: &[feedback::AnswerDefect]) -> Step<Outcome> {
        attempt.problems = problems.iter().map(|wrong| wrong.broken.clone()).collect();
        self.keep(attempt);
        match self.again(problems) {
            Some(request) => self.ask(request),
            None => self.give_up(FallbackReason::Invalid),
        }
    }

    fn failed(&mut self, effect: EffectId, failure: CallFailure) -> Step<Outcome> {
        let kind = failure.kind;
        let problem = feedback::AnswerDefect {
            broken: BrokenRule {
                rule: "tool".to_owned(),
                path: String::new(),
                expected: answer::offered_tools(&self.state.request),
            },
            found: failure.said.clone(),
        };
        let attempt = Attempt { failure: Some(failure), ..self.attempt(effect) };
        if kind == FailureKind::UnknownTool {
            return self.wrong(attempt, &[problem]);
        }
        if kind == FailureKind::ModeRefused {
            self.state.spent = self.state.spent.saturating_sub(most_tokens(&self.state.request));
        }
        if self.keep(attempt) && self.has_room_for(&self.state.request) {
            return self.ask(self.state.request.clone());
        }
        self.give_up(FallbackReason::Failed(kind))
    }

    fn attempt(&self, effect: EffectId) -> Attempt {
        Attempt {
            effect,
            at: self.state.now,
            tried: self.state.request.way.map(|way| TriedWay { way, came: WayResult::Taken }),
            response: None,
            failure: None,
            usage: None,
            repairs: Vec::new(),
            problems: Vec::new(),
        }
    }
}

impl Machine for Exchange<'_> {
    type Outcome = Outcome;

    fn step(&mut self, event: Event) -> Result<Step<Outcome>, Error> {
        let out_of_step = |problem: &str| Err(Error::new(ErrorKind::OutOfStep, problem));
        let now = self.state.now.max(event.now);
        let step = match (self.state.phase, event.what) {
            (ExchangePhase::Over, _) => return out_of_step("the exchange is over; nothing can happen to it any more"),
            (ExchangePhase::New, EventKind::Started) => {
                self.state.now = now;
                self.begin()
            }
            (_, EventKind::Cancelled { why }) => {
                self.state.now = now;
                self.give_up(FallbackReason::Cancelled(why))
            }
            (ExchangePhase::Waiting(effect), EventKind::Performed { results }) => {
                let mut results = results.into_iter();
                let (Some((id, performed)), None) = (results.next(), results.next()) else {
                    return out_of_step("an exchange asks for one effect at a time; give it one result");
                };
                if id != effect {
                    return out_of_step("this result belongs to another effect than the one that was asked for");
                }
                match performed {
                    EffectResult::Response { response } => {
                        self.state.now = now;
                        self.answered(effect, *response)
                    }
                    EffectResult::Failed { failure } => {
                        self.state.now = now;
                        self.failed(effect, failure)
                    }
                    EffectResult::Measured { .. } | EffectResult::Tool { .. } => {
                        return out_of_step("an exchange asks models only");
                    }
                }
            }
            (ExchangePhase::New, _) => return out_of_step("an exchange starts with `started`"),
            (ExchangePhase::Waiting(_), _) => return out_of_step("the exchange waits for its call"),
        };
        Ok(step)
    }

    fn state(&self) -> Result<Json, Error> {
        serde_json::to_value(&self.state)
            .map_err(|e| Error::new(ErrorKind::Render, format!("the state of an exchange can't be written down: {e}")))
    }
}

/// The most tokens that one attempt uses: what the prompt has and what the answer may have.
fn most_tokens(request: &Request) -> u64 {
    let tokens = request.assembly.tokens().saturating_add(request.assembly.output_tokens);
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
