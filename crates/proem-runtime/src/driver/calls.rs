//! Calls of models as effects.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proem_engine::cache::plan_request;
use proem_engine::call::{CallFailure, FailureKind};
use proem_engine::providers::{Model, SchemaEnforcement};
use proem_engine::run::{Effect, EffectId, EffectResult};
use proem_llm::caller::gate::{Gate, OpenGate};
use proem_llm::caller::listener::TextListener;
use proem_llm::caller::{AttemptReport, Caller, ProviderCall};
use proem_llm::projection::Omission;
use proem_llm::wire::CallSlot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Perform;

/// A model and the endpoint that serves it.
#[derive(Debug, Clone)]
pub struct ServedModel {
    /// The model that is asked, with its prices and limits.
    pub model: Model,
    /// The endpoint's name in configuration.
    pub endpoint: String,
}

/// The models that may be called, by the name that requests give.
pub type Directory = BTreeMap<String, ServedModel>;

/// The wire traffic of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTrace {
    /// The effect's number within the run.
    pub effect: EffectId,
    /// Every attempt, in the order in which they were made.
    pub attempts: Vec<AttemptReport>,
    /// The parts that were not sent to the provider.
    pub dropped: Vec<Omission>,
    /// How long it took in all, waiting included.
    pub took: Duration,
}

/// A call's lesson about its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLesson<'l> {
    /// The model that was asked.
    pub model: &'l str,
    /// How answers are held to a schema, where that is found by trying: the way that was taken, or the next one after a
    /// refusal.
    pub way: Option<SchemaEnforcement>,
    /// The context window that the server named when it refused the request for its length.
    pub window: Option<NonZeroUsize>,
}

/// Is told what calls teach.
pub trait LessonListener: core::fmt::Debug + Sync {
    /// A call is over, and taught this.
    fn learns(&self, lesson: CallLesson<'_>);
}

/// Performs the calls of one run.
#[derive(Debug)]
pub struct CallPerformer<'c> {
    caller: &'c Caller,
    directory: &'c Directory,
    /// The run's place among those of one command, from 1.
    run: u32,
    /// The gate before each attempt.
    gate: &'c dyn Gate,
    /// The listener to answers that are texts while they arrive.
    listener: Option<&'c dyn TextListener>,
    /// The listener to the calls' lessons about servers.
    lessons: Option<&'c dyn LessonListener>,
    /// When the run is over, whatever is still to be done.
    end: Option<Instant>,
    made: Mutex<Vec<CallTrace>>,
}

impl<'c> CallPerformer<'c> {
    /// The calls of the run with that place among those of one command, from 1.
    #[must_use]
    pub const fn new(caller: &'c Caller, directory: &'c Directory, run: u32) -> Self {
        let made = Mutex::new(Vec::new());
        Self { caller, directory, run, gate: &OpenGate, listener: None, lessons: None, end: None, made }
    }

    /// The same with somebody who is asked before each attempt.
    #[must_use]
    pub const fn through(mut self, gate: &'c dyn Gate) -> Self {
        self.gate = gate;
        self
    }

    /// The same with somebody who hears answers that are texts while they arrive.
    #[must_use]
    pub const fn heard_by(mut self, listener: Option<&'c dyn TextListener>) -> Self {
        self.listener = listener;
        self
    }

    /// The same with somebody who is told what calls teach about servers.
    #[must_use]
    pub const fn teaching(mut self, lessons: &'c dyn LessonListener) -> Self {
        self.lessons = Some(lessons);
        self
    }

    /// The same for a run that is over at `end`: no wait is begun that would last longer.
    #[must_use]
    pub const fn before(mut self, end: Instant) -> Self {
        self.end = Some(end);
        self
    }

    /// The wire traffic, in the order of the effects.
    #[must_use]
    pub fn into_made(self) -> Vec<CallTrace> {
        let mut made = self.made.into_inner().unwrap_or_else(PoisonError::into_inner);
        made.sort_by_key(|made| made.effect);
        made
    }
}

impl Perform for CallPerformer<'_> {
    async fn perform(&self, id: EffectId, effect: &Effect, stop: &CancellationToken) -> EffectResult {
        let Effect::Call { request } = effect else {
            let failure = CallFailure::new(FailureKind::Refused, "this step is not supported here");
            return EffectResult::Failed { failure };
        };
        let Some(served) = self.directory.get(&request.model) else {
            let problem =
                format!("no configured provider has the model `{}`; choose another model or provider", request.model);
            return EffectResult::Failed { failure: CallFailure::new(FailureKind::UnknownModel, problem) };
        };
        let plan = plan_request(request, &served.model, served.model.counter().as_ref());
        let slot = CallSlot { run: self.run, effect: id.0 };
        let call = ProviderCall {
            endpoint: &served.endpoint,
            request,
            model: &served.model,
            plan: &plan,
            slot,
            gate: self.gate,
            listener: self.listener,
        };
        let began = Instant::now();
        let called = match self.end {
            Some(end) => self.caller.call_before(end, &call, stop).await,
            None => self.caller.call(&call, stop).await,
        };
        let made = CallTrace { effect: id, attempts: called.attempts, dropped: called.dropped, took: began.elapsed() };
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        if let Some(lessons) = self.lessons {
            let (model, failure) = (&served.model.name, called.result.as_ref().err());
            let way = match failure.map(|failure| failure.kind) {
                None => request.way,
                Some(FailureKind::ModeRefused) => request.way.and_then(SchemaEnforcement::next_to_try),
                Some(_) => None,
            };
            lessons.learns(CallLesson { model, way, window: failure.and_then(|failure| failure.window) });
        }
        match called.result {
            Ok(response) => EffectResult::Response { response: Box::new(response) },
            Err(failure) => EffectResult::Failed { failure },
        }
    }
}
