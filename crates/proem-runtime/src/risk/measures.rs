//! Metrics and neighbours as effects of an investigation, beside the calls of models.

use std::time::Duration;

use proem_agents::risk::investigation::{EXPAND, MEASURE};
use proem_engine::call::{CallFailure, FailureKind};
use proem_engine::run::{Effect, EffectId, EffectResult};
use proem_risk::metric::MetricName;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::ChangeView;
use crate::driver::Perform;

/// Performs what an investigation asks for.
#[derive(Debug)]
pub struct Measures<'m, W> {
    look: ChangeView<'m>,
    calls: W,
    /// The most time for one call.
    each: Duration,
}

impl<'m, W> Measures<'m, W> {
    /// Measures by looking at a change. Calls are made by `calls` and given up after `each`.
    #[must_use]
    pub const fn new(look: ChangeView<'m>, calls: W, each: Duration) -> Self {
        Self { look, calls, each }
    }

    /// The performer of the calls.
    #[must_use]
    pub fn into_calls(self) -> W {
        self.calls
    }

    /// The result of a call that was told to end. It was cancelled only if the run is: otherwise its time was up, and
    /// the run goes on without it.
    fn given_up(&self, performed: EffectResult, stop: &CancellationToken) -> EffectResult {
        match performed {
            EffectResult::Failed { failure } if failure.kind == FailureKind::Cancelled && !stop.is_cancelled() => {
                let message = format!("it took longer than the time limit of {} s for a step", self.each.as_secs_f64());
                EffectResult::Failed { failure: CallFailure { kind: FailureKind::TimedOut, message, ..failure } }
            }
            other => other,
        }
    }

    fn measured(&self, what: &str, of: &Json) -> Option<Json> {
        match what {
            MEASURE => {
                let MeasureRequest { metric, file } = MeasureRequest::deserialize(of).ok()?;
                serde_json::to_value(self.look.measure(file, metric)?).ok()
            }
            EXPAND => serde_json::to_value(self.look.neighbours(Around::deserialize(of).ok()?.file)?).ok(),
            _ => None,
        }
    }
}

/// The requested measurement.
#[derive(Debug, Serialize, Deserialize)]
struct MeasureRequest {
    metric: MetricName,
    file: u32,
}

/// The file or commit whose neighbours are requested.
#[derive(Debug, Serialize, Deserialize)]
struct Around {
    file: u32,
}

impl<W: Perform + Sync> Perform for Measures<'_, W> {
    async fn perform(&self, id: EffectId, effect: &Effect, stop: &CancellationToken) -> EffectResult {
        if let Effect::Measure { what, of } = effect {
            return match self.measured(what, of) {
                Some(value) => EffectResult::Measured { value },
                None => EffectResult::Failed {
                    failure: CallFailure::new(FailureKind::Refused, format!("`{what}` of {of} is unknown")),
                },
            };
        }
        // A call that takes too long is told to end, and says itself how far it came.
        let ended = stop.child_token();
        let mut call = std::pin::pin!(self.calls.perform(id, effect, &ended));
        match tokio::time::timeout(self.each, call.as_mut()).await {
            Ok(performed) => performed,
            Err(_) => {
                ended.cancel();
                self.given_up(call.await, stop)
            }
        }
    }
}
