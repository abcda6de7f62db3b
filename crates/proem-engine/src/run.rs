//! Runs as values: a machine takes an event and says what should happen next.
//!
//! Invariants: a machine reads no clock and makes no ids, it gets both in events. The same events make the same steps.
//! Its whole state can be written down after every step and read back; what comes back for several effects comes in the
//! order in which they were asked for, whichever was done first.

mod exchange;
mod findings;
mod question;
mod tool;

pub use self::exchange::{
    AnswerRequirement, Attempt, BrokenRule, CallRequirement, Exchange, ExchangeEnd, ExchangeLimits, ExchangeTerms,
    FORMAT_SECTION, FallbackReason, Outcome, TriedWay, WayResult,
};
pub use self::findings::ServerFindings;
pub use self::question::{Question, QuestionAnswer, ShownHash, check_answers, question_hash};
pub use self::tool::{AgentGrant, CallLabel, ToolLabels, ToolLack, ToolOutcome, ToolPower, ToolUse, hide_fields};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::call::{CallFailure, Request, Response};
use crate::error::Error;

/// A point in time: milliseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

/// The number of an effect within its run, from 0 in the order in which effects are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u32);

impl EffectId {
    /// The bit of effects that carry out a call of a tool, such as a question to a model. A run's own effects count
    /// from 0 and never reach it.
    const WITHIN: u32 = 1 << 31;
    /// The bits of an effect's place within a call: an exchange asks less often.
    const PLACE_BITS: u32 = 6;

    /// The first effect within a call of a tool. The next ones follow it.
    #[must_use]
    pub const fn first_within(self) -> Self {
        Self(Self::WITHIN | (self.0 << Self::PLACE_BITS))
    }

    /// The call of a tool that this effect carries out. `None` for an effect of the run itself.
    #[must_use]
    pub const fn caller(self) -> Option<Self> {
        if self.0 & Self::WITHIN == 0 { None } else { Some(Self((self.0 & !Self::WITHIN) >> Self::PLACE_BITS)) }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When. Never before the event before it.
    pub now: Time,
    /// The event.
    pub what: EventKind,
}

/// Something that moves a run's machine on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventKind {
    /// The run starts.
    Started,
    /// All effects of the last [`Step::Do`] are done.
    Performed {
        /// One result for each of them, in ordinal order.
        results: Vec<(EffectId, EffectResult)>,
    },
    /// A person answered all questions of the last [`Step::Ask`].
    Answered {
        /// One answer for each of them, in order.
        answers: Vec<QuestionAnswer>,
    },
    /// The time of the last [`Step::Wait`] has come.
    Woken,
    /// The caller gives up. The machine ends with what it has.
    Cancelled {
        /// Whether somebody gave up or the time was over.
        why: CancelReason,
    },
}

/// Why a run is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Cancelled")]
pub enum CancelReason {
    /// A person or a signal said so.
    Asked,
    /// Its time is up.
    Deadline,
}

/// Something that a machine wants done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Effect {
    /// A call to a model.
    Call {
        /// The question.
        request: Box<Request>,
    },
    /// Something that code computes from facts which the machine doesn't hold, such as a metric. It changes
    /// nothing, so it may be done again.
    Measure {
        /// The effect, by a name that the machine and the performer share.
        what: String,
        /// Of what.
        of: Json,
    },
    /// A call of a tool.
    Tool {
        /// The tool and its arguments.
        call: Box<ToolUse>,
    },
}

/// How an effect ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EffectResult {
    /// A model answered.
    Response {
        /// The answer.
        response: Box<Response>,
    },
    /// Something was computed.
    Measured {
        /// It, in a form that the machine and the performer share.
        value: Json,
    },
    /// The model's answer, or the computed result, is missing.
    Failed {
        /// Why not.
        failure: CallFailure,
    },
    /// A tool was called, or was not.
    Tool {
        /// The outcome of the call.
        outcome: ToolOutcome,
    },
}

/// The next step of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<T> {
    /// These effects, at the same time if possible. Then [`EventKind::Performed`].
    Do(Vec<(EffectId, Effect)>),
    /// A person should answer these. Then [`EventKind::Answered`].
    Ask(Vec<Question>),
    /// Nothing before `until`. Then [`EventKind::Woken`].
    Wait {
        /// When to go on.
        until: Time,
    },
    /// The run is over.
    Done(T),
}

/// A run that takes one event after the other.
pub trait Machine {
    /// The type of its result.
    type Outcome;

    /// Takes an event and says what should happen next.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::OutOfStep`] for an event that the last step did not ask for, such as an answer to another
    /// question ([`check_answers`]). The state stays as it was.
    fn step(&mut self, event: Event) -> Result<Step<Self::Outcome>, Error>;

    /// The whole state, to be read back by the machine's own constructor.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Render`] if it can't be written down, which is a bug.
    fn state(&self) -> Result<Json, Error>;

    /// The account of every token in the request that an effect of the last step calls with: its
    /// [`crate::report::Report`] as JSON. `None` if the machine was given its request, because then the request's maker
    /// has the account.
    fn account(&self, _effect: EffectId) -> Option<&Json> {
        None
    }
}

impl<M: Machine + ?Sized> Machine for Box<M> {
    type Outcome = M::Outcome;

    fn step(&mut self, event: Event) -> Result<Step<Self::Outcome>, Error> {
        (**self).step(event)
    }

    fn state(&self) -> Result<Json, Error> {
        (**self).state()
    }

    fn account(&self, effect: EffectId) -> Option<&Json> {
        (**self).account(effect)
    }
}
