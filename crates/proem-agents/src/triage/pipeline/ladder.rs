//! Which models there is money for: a ladder over what was spent in a day and a month.

use proem_engine::{call::NanoDollars, ledger::ModelMix};

/// A thousandth of a dollar.
const MILLI: u64 = 1_000_000;

/// Amounts from which on less is asked, in nano-dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLadder {
    /// A day from which on the large model is asked only where a rule demands it.
    pub demanded: NanoDollars,
    /// A day from which on only the small one is.
    pub small: NanoDollars,
    /// A day that nobody is asked beyond.
    pub day: NanoDollars,
    /// A month that nobody is asked beyond.
    pub month: NanoDollars,
}

/// US$ 0.23, 0.30 and 0.40 a day, 8.00 a month.
impl Default for BudgetLadder {
    fn default() -> Self {
        let milli = |thousandths: u64| NanoDollars(thousandths.saturating_mul(MILLI));
        Self { demanded: milli(230), small: milli(300), day: milli(400), month: milli(8_000) }
    }
}

/// Where on the ladder a project stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LadderStep {
    /// Models are asked, and may take so much more.
    Asks {
        /// Which.
        mix: ModelMix,
        /// What is left of the day, or of the month if that is less.
        left: NanoDollars,
    },
    /// Nobody is asked.
    Spent,
}

impl BudgetLadder {
    /// Where a project stands that spent so much, what is reserved included.
    #[must_use]
    pub fn step(&self, day: NanoDollars, month: NanoDollars) -> LadderStep {
        let left = self.day.0.saturating_sub(day.0).min(self.month.0.saturating_sub(month.0));
        if left == 0 {
            return LadderStep::Spent;
        }
        let mix = if day.0 >= self.small.0 {
            ModelMix::SmallOnly
        } else if day.0 >= self.demanded.0 {
            ModelMix::LargeIfDemanded
        } else {
            ModelMix::Both
        };
        LadderStep::Asks { mix, left: NanoDollars(left) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_is_asked_the_more_was_spent() {
        let milli = |thousandths: u64| NanoDollars(thousandths * MILLI);
        let asks = |mix, left| LadderStep::Asks { mix, left: milli(left) };
        for (day, month, expected) in [
            (0, 0, asks(ModelMix::Both, 400)),
            (229, 229, asks(ModelMix::Both, 171)),
            (230, 230, asks(ModelMix::LargeIfDemanded, 170)),
            (299, 299, asks(ModelMix::LargeIfDemanded, 101)),
            (300, 300, asks(ModelMix::SmallOnly, 100)),
            (0, 7_900, asks(ModelMix::Both, 100)),
            (400, 400, LadderStep::Spent),
            (900, 900, LadderStep::Spent),
            (0, 8_000, LadderStep::Spent),
        ] {
            assert_eq!(BudgetLadder::default().step(milli(day), milli(month)), expected, "{day} {month}");
        }
    }
}
