//! Cases asked of several models: what it may cost, what came back, and how sure that is.
//!
//! Invariants: nothing is asked beyond the most that the person allows, counted by the bound of each attempt before it
//! is made and by what was used afterwards. A model is said to do well, or not to, only where the interval of its share
//! says so, not the share.

use std::num::NonZeroU32;

use proem_engine::call::NanoDollars;
use proem_engine::ledger::bound_of_attempt;
use proem_engine::ordered_json::OrderedJson;
use proem_llm::codec::encode_request;
use proem_score::interval::{Interval, Z95, wilson};

use super::live::{Asking, LivePurse};
use super::test::BookCaseResult;
use crate::error::Error;
use crate::run::setting::RunSetting;

/// The possible cost of asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveEstimate {
    /// How many runs there are.
    pub runs: u64,
    /// The tokens of their first requests, by our count.
    pub tokens: u64,
    /// The most that all of it can cost, each run with all its attempts and the longest answers. `None` where a price
    /// is not known.
    pub most: Option<NanoDollars>,
}

impl LiveEstimate {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let most = self.most.zip(other.most).map(|(a, b)| NanoDollars(a.0.saturating_add(b.0)));
        Self { runs: self.runs.saturating_add(other.runs), tokens: self.tokens.saturating_add(other.tokens), most }
    }

    /// Nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self { runs: 0, tokens: 0, most: Some(NanoDollars(0)) }
    }
}

impl Asking<'_> {
    /// Estimates the cost of asking for these cases.
    ///
    /// # Errors
    ///
    /// If a request can't be made.
    pub fn estimate(&self, tested: &[BookCaseResult]) -> Result<LiveEstimate, Error> {
        let mut all = LiveEstimate::none();
        for (case, tested) in self.cases().iter().zip(tested) {
            let (Some(_), Some(inputs)) = (&case.live, &tested.inputs) else { continue };
            let times = u64::from(self.times().get());
            let (tokens, most) = most_of_run(self.setting(), self.attempts(), inputs)?;
            let most = most.map(|most| NanoDollars(most.0.saturating_mul(times)));
            all = all.and(LiveEstimate { runs: times, tokens: tokens.saturating_mul(times), most });
        }
        Ok(all)
    }
}

/// The tokens of a run's first request, and the most that the run can cost.
pub(super) fn most_of_run(
    setting: &RunSetting,
    attempts: NonZeroU32,
    inputs: &OrderedJson,
) -> Result<(u64, Option<NanoDollars>), Error> {
    let prepared = setting.prepare(inputs)?;
    let asked = &setting.access.asked;
    let encoded = encode_request(&prepared.request, &asked.model, &prepared.plan)?;
    let bytes = proem_text::json::compact_in_order(&encoded.wire.body).len();
    // A repeated question contains the first answer, which is capped, and its problems.
    let attempts = u64::from(attempts.get());
    let again = bytes.saturating_mul(2).saturating_add(FEEDBACK);
    let nanos =
        |bytes| bound_of_attempt(bytes, &prepared.request, &asked.model, asked.priced()).and_then(|bound| bound.nanos);
    let most = nanos(bytes).zip(nanos(again)).map(|(first, second)| {
        NanoDollars(first.0.saturating_add(second.0.saturating_mul(attempts.saturating_sub(1))))
    });
    let tokens = u64::try_from(prepared.request.assembly.tokens()).unwrap_or(u64::MAX);
    Ok((tokens, most))
}

/// More than what is said about a wrong answer, in bytes.
const FEEDBACK: usize = 32 * 1024;

/// How a share of expected answers stands to the least that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelVerdict {
    /// The whole interval is at or above it.
    Holds,
    /// The whole interval is below it.
    Fails,
    /// The interval is on both sides of it.
    Undecided,
    /// Nothing was asked.
    Unknown,
}

impl ModelVerdict {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
            Self::Unknown => "unknown",
        }
    }
}

/// How one model did with one prompt.
#[derive(Debug)]
pub struct ModelStanding {
    /// `agent/name@version`.
    pub prompt: String,
    /// The requested role, such as `small`.
    pub role: String,
    /// The model.
    pub model: String,
    /// Its address.
    pub endpoint: String,
    /// Its cases.
    pub cases: Vec<BookCaseResult>,
    /// The spending.
    pub purse: LivePurse,
    /// Runs that were not made, since they could have cost too much.
    pub unmade: u64,
}

impl ModelStanding {
    /// How many answers there were, and how many were as expected.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let live = self.cases.iter().filter_map(|case| case.live.as_ref());
        live.fold((0, 0), |(times, expected), live| {
            (times.saturating_add(u64::from(live.times)), expected.saturating_add(u64::from(live.expected)))
        })
    }

    /// Wilson's interval of the share, with 95 in 100. `None` without an answer.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        let (times, expected) = self.counts();
        wilson(expected, times, Z95)
    }

    /// Its state to a least share, in percent.
    #[must_use]
    pub fn verdict(&self, least: u32) -> ModelVerdict {
        if self.counts().0 == 0 { ModelVerdict::Unknown } else { model_verdict(self.interval(), least) }
    }
}

fn model_verdict(interval: Option<Interval>, least: u32) -> ModelVerdict {
    let least = f64::from(least) / 100.0;
    match interval {
        None => ModelVerdict::Unknown,
        Some(Interval { low, .. }) if low >= least => ModelVerdict::Holds,
        Some(Interval { high, .. }) if high < least => ModelVerdict::Fails,
        Some(_) => ModelVerdict::Undecided,
    }
}

/// The most answers that are thought of where it is said how many would do.
const MOST_ANSWERS: u64 = 100_000;

/// How many answers, all as expected, would show that a share is at least so many percent.
#[must_use]
pub fn answers_needed(least: u32) -> Option<u64> {
    let mut enough = 1;
    while model_verdict(wilson(enough, enough, Z95), least) != ModelVerdict::Holds {
        enough = if enough >= MOST_ANSWERS { return None } else { enough.saturating_add(1) };
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_decides_and_not_a_share() {
        for (expected, times, least, verdict) in [
            (3, 3, 90, ModelVerdict::Undecided),
            (35, 35, 90, ModelVerdict::Holds),
            (34, 34, 90, ModelVerdict::Undecided),
            (0, 3, 90, ModelVerdict::Fails),
            (17, 20, 90, ModelVerdict::Undecided),
            (10, 20, 90, ModelVerdict::Fails),
            (0, 1, 0, ModelVerdict::Holds),
        ] {
            assert_eq!(model_verdict(wilson(expected, times, Z95), least), verdict, "{expected} of {times} at {least}");
        }
        assert_eq!((answers_needed(90), answers_needed(50), answers_needed(100)), (Some(35), Some(4), None));
    }
}
