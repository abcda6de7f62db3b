//! How an agent gets by with less as its day's money goes.
//!
//! A step applies from an amount on, spent and reserved together. Invariants: steps ascend, and each narrows the
//! previous one: no step permits a model that an earlier one did not, or lets a cycle come sooner. Only a cap ends
//! calls, and the ledger enforces it, whatever is read here.

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{Cap, CapBalance, CapPeriod, CapUnit};
use crate::call::NanoDollars;
use crate::error::{Error, ErrorKind};

/// The models that there is money for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelMix {
    /// Both.
    #[default]
    Both,
    /// The large one only where a rule demands it.
    LargeIfDemanded,
    /// The small one.
    SmallOnly,
}

impl ModelMix {
    /// The same in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Both => "both models",
            Self::LargeIfDemanded => "the large model only where a rule demands it",
            Self::SmallOnly => "the small model only",
        }
    }
}

/// A rule that applies from an amount on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LadderStep {
    /// The amount spent and reserved on the day.
    pub from: NanoDollars,
    /// The models that may be asked.
    pub models: ModelMix,
    /// The least minutes from one cycle to the next. `None` leaves that to whoever runs them.
    pub every_minutes: Option<NonZeroU32>,
}

/// The steps of an agent's day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendLadder {
    steps: Vec<LadderStep>,
}

/// An agent's place on its ladder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LadderPlace {
    /// The step, from 1; 0 below the first.
    pub step: usize,
    /// How many steps there are.
    pub of: usize,
    /// The models that may be asked.
    pub models: ModelMix,
    /// The least minutes from one cycle to the next.
    pub every_minutes: Option<NonZeroU32>,
    /// The cap that is used up, so that nothing is asked any more.
    pub stopped: Option<CapPeriod>,
}

impl SpendLadder {
    /// A ladder of these steps, the lowest first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if a step does not come after the one before it, or is wider than that.
    pub fn new(steps: Vec<LadderStep>) -> Result<Self, Error> {
        for (number, pair) in (2_usize..).zip(steps.windows(2)) {
            let [before, step] = pair else { continue };
            let problem = if step.from <= before.from {
                format!("step {number} of the budget begins at {}, not after {}", step.from, before.from)
            } else if step.models < before.models {
                format!("step {number} of the budget lets more models be asked than the step before it")
            } else if step.every_minutes.map_or(0, NonZeroU32::get) < before.every_minutes.map_or(0, NonZeroU32::get) {
                format!("step {number} of the budget lets cycles come sooner than the step before it")
            } else {
                continue;
            };
            return Err(Error::new(ErrorKind::InvalidFile, format!("{problem}; later steps can only narrow")));
        }
        Ok(Self { steps })
    }

    /// The steps, the lowest first.
    #[must_use]
    pub fn steps(&self) -> &[LadderStep] {
        &self.steps
    }

    /// The place of an agent that spent and reserved `today` on its day, with the amounts that count against its caps.
    #[must_use]
    pub fn place(&self, today: NanoDollars, caps: &[(Cap, CapBalance)]) -> LadderPlace {
        let reached = self.steps.iter().take_while(|step| step.from <= today).count();
        let step = reached.checked_sub(1).and_then(|last| self.steps.get(last));
        let is_used_up = |(cap, spent): &&(Cap, CapBalance)| {
            cap.unit == CapUnit::NanoDollars
                && cap.period != CapPeriod::Run
                && spent.settled.saturating_add(spent.open) >= cap.most
        };
        LadderPlace {
            step: reached,
            of: self.steps.len(),
            models: step.map_or_else(ModelMix::default, |step| step.models),
            every_minutes: step.and_then(|step| step.every_minutes),
            stopped: caps.iter().filter(is_used_up).map(|(cap, _)| cap.period).max(),
        }
    }
}

impl LadderPlace {
    /// The place in words, without a full stop. `None` where nothing is narrowed.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        match self.stopped {
            Some(CapPeriod::Month) => return Some("the month's budget is used up, so no model is asked".to_owned()),
            Some(_) => return Some("the day's budget is used up, so no model is asked".to_owned()),
            None if self.step == 0 => return None,
            None => {}
        }
        let pace = self.every_minutes.map_or_else(String::new, |minutes| format!(", a cycle every {minutes} minutes"));
        Some(format!("step {} of {} of the day's budget: {}{pace}", self.step, self.of, self.models.in_words()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ledger::CapScope;

    const CENT: u64 = 10_000_000;

    fn ladder_step(cents: u64, models: ModelMix, every: u32) -> LadderStep {
        LadderStep { from: NanoDollars(cents * CENT), models, every_minutes: NonZeroU32::new(every) }
    }

    fn ladder() -> SpendLadder {
        let steps = vec![
            ladder_step(23, ModelMix::LargeIfDemanded, 0),
            ladder_step(27, ModelMix::LargeIfDemanded, 20),
            ladder_step(30, ModelMix::SmallOnly, 30),
        ];
        SpendLadder::new(steps).unwrap()
    }

    fn cap(period: CapPeriod, cents: u64, spent: u64, open: u64) -> (Cap, CapBalance) {
        let cap = Cap { scope: CapScope::Agent, period, unit: CapUnit::NanoDollars, most: cents * CENT };
        (cap, CapBalance { settled: spent * CENT, open: open * CENT })
    }

    #[test]
    fn a_step_holds_from_its_amount_on() {
        let at = |nanos: u64| ladder().place(NanoDollars(nanos), &[]);
        for (nanos, number, models, every) in [
            (0, 0, ModelMix::Both, 0),
            (23 * CENT - 1, 0, ModelMix::Both, 0),
            (23 * CENT, 1, ModelMix::LargeIfDemanded, 0),
            (27 * CENT - 1, 1, ModelMix::LargeIfDemanded, 0),
            (27 * CENT, 2, ModelMix::LargeIfDemanded, 20),
            (30 * CENT, 3, ModelMix::SmallOnly, 30),
            (31 * CENT, 3, ModelMix::SmallOnly, 30),
            (u64::MAX, 3, ModelMix::SmallOnly, 30),
        ] {
            let place = at(nanos);
            let found = (place.step, place.models, place.every_minutes.map_or(0, NonZeroU32::get), place.stopped);
            assert_eq!(found, (number, models, every, None), "{nanos}");
        }
        assert_eq!(at(0).in_words(), None);
        assert_eq!(
            at(28 * CENT).in_words().unwrap(),
            "step 2 of 3 of the day's budget: the large model only where a rule demands it, a cycle every 20 minutes"
        );
    }

    #[test]
    fn a_cap_that_is_used_up_ends_calls_with_what_is_reserved() {
        let at = |caps: &[(Cap, CapBalance)]| ladder().place(NanoDollars(0), caps);
        assert_eq!(at(&[cap(CapPeriod::Day, 40, 39, 0)]).stopped, None);
        assert_eq!(at(&[cap(CapPeriod::Day, 40, 39, 1)]).stopped, Some(CapPeriod::Day));
        let both = [cap(CapPeriod::Day, 40, 40, 0), cap(CapPeriod::Month, 800, 800, 0)];
        assert_eq!(at(&both).in_words().unwrap(), "the month's budget is used up, so no model is asked");
        assert_eq!(at(&[cap(CapPeriod::Run, 0, 1, 0)]).stopped, None);
    }

    #[test]
    fn steps_only_narrow() {
        let refused = |steps| SpendLadder::new(steps).unwrap_err().to_string();
        let first = ladder_step(23, ModelMix::SmallOnly, 20);
        assert_eq!(
            refused(vec![first, ladder_step(23, ModelMix::SmallOnly, 20)]),
            "step 2 of the budget begins at $0.230000, not after $0.230000; later steps can only narrow"
        );
        assert!(refused(vec![first, ladder_step(24, ModelMix::Both, 20)]).contains("more models"));
        assert!(refused(vec![first, ladder_step(24, ModelMix::SmallOnly, 19)]).contains("sooner"));
        assert!(SpendLadder::new(Vec::new()).is_ok());
    }

    proptest! {
        #[test]
        fn more_spent_never_means_more_permitted(a in 0..50 * CENT, b in 0..50 * CENT) {
            let (less, more) = (a.min(b), a.max(b));
            let [less, more] = [less, more].map(|nanos| ladder().place(NanoDollars(nanos), &[]));
            prop_assert!(less.models <= more.models && less.every_minutes <= more.every_minutes && less.step <= more.step);
        }
    }
}
